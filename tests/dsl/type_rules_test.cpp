// Requirements on the types of operands, in text, where no tracer refuses a program first.
#include "dsl/ir/type_rules.h"

#include "dsl/ir/text/text.h"
#include "tests/errors.h"

namespace tilewright::ir::type_rules_test {
namespace {

// The error for one line after these values.
std::string said_of(const std::string& line) {
  std::string before = R"(func @f(%x: ptr<f32>, %n: i64, %yes: bool, %flags: ptr<bool>) {
  %one = constant 1 : i64
  %desc = make_desc %x, %n, %n, %n, %one : desc<f32, 2>
  %bools = splat %yes, [16x16] : bool[16x16]
  %wide = arange 0 to 16 : i32[16]
  %zero = constant 0.0 : f32
  %sums = splat %zero, [16x16] : f32[16x16]
  %whole = splat %one, [16x16] : i64[16x16]
)";
  return error_of([&] { parse(before + line + "\n}\n"); });
}

TEST(TypeRules, ADescriptorIsNoTileToReshape) {
  expect_contains(said_of("%a = expand_dims %desc, 0 : desc<f32, 2>"), "[expand_dims] the axis 0");
  expect_contains(said_of("%a = broadcast %desc, [] : desc<f32, 2>"), "does not broadcast to");
}

TEST(TypeRules, AnAxisIsInsertedNoFurtherThanBehindTheLast) {
  EXPECT_EQ(said_of("%a = expand_dims %wide, 1 : i32[16x1]"), "no error");
  for (const char* axis : {"2", "-1"})
    expect_contains(said_of(concat("%a = expand_dims %wide, ", axis, " : i32[16x1]")),
                    concat("the axis ", axis, " is outside 0 to 1 for i32[16]"));
}

TEST(TypeRules, ProductsAreOfOneTypeThatIsNotBool) {
  EXPECT_EQ(said_of("%a = dot %sums, %sums, %sums : f32[16x16]"), "no error");
  expect_contains(said_of("%a = dot %sums, %whole, %sums : f32[16x16]"),
                  "[dot] the operands are f32 and i64; they must be of one type that is not bool");
  expect_contains(said_of("%a = dot %bools, %bools, %sums : f32[16x16]"),
                  "the operands are bool and bool");
}

TEST(TypeRules, ProductsAreOfTilesOfTwoAxes) {
  EXPECT_EQ(said_of("%a = dot %sums, %sums, %sums : f32[16x16]"), "no error");
  const std::string operands[] = {"%row, %sums, %sums", "%sums, %row, %sums", "%sums, %sums, %row"};
  for (std::size_t i = 0; i < 3; ++i)
    expect_contains(
        said_of("%row = splat %zero, [16] : f32[16]\n  %a = dot " + operands[i] + " : f32[16x16]"),
        concat("[dot] operand ", i, " is f32[16]; it must have two axes"));
}

TEST(TypeRules, ElementsAreGatheredByAnIndexOfTheSourcesAxes) {
  EXPECT_EQ(said_of("%a = gather %wide, %wide, 0 : i32[16]"), "no error");
  for (const char* axis : {"1", "-1"})
    expect_contains(said_of(concat("%a = gather %wide, %wide, ", axis, " : i32[16]")),
                    concat("[gather] the axis ", axis, " is outside the 1 axes of i32[16]"));
  expect_contains(said_of("%a = gather %sums, %wide, 0 : f32[16x16]"),
                  "[gather] the index has the shape");
  expect_contains(said_of("%a = gather %wide, %desc, 0 : i32[16]"), "the index is desc<f32, 2>");
}

TEST(TypeRules, APointerToBoolIsNoCondition) {
  EXPECT_EQ(said_of("%a = select %yes, %n, %one : i64"), "no error");
  expect_contains(said_of("%a = select %flags, %n, %one : i64"),
                  "[select] the condition is ptr<bool>; it must be bool");
}

TEST(TypeRules, ProgramsOfAClusterReduceByWhatNeedsNoPlace) {
  for (const char* kind : {"sum", "prod", "max", "min"})
    EXPECT_EQ(said_of(concat("%a = cluster_reduce %sums, ", kind, " 0 : f32[16x16]")), "no error")
        << kind;
  for (const char* kind : {"argmax", "argmin"})
    expect_contains(said_of(concat("%a = cluster_reduce %sums, ", kind, " 0 : i32[16x16]")),
                    "between programs; it can be sum, prod, max or min");
}

}  // namespace
}  // namespace tilewright::ir::type_rules_test
