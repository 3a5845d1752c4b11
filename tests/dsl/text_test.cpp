#include "dsl/ir/text/text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <ctime>
#include <limits>

#include "dsl/ir/builder.h"
#include "runtime/base/error.h"
#include "tests/dsl/text_programs.h"

namespace tilewright::ir::text_test {
namespace {

using namespace testing_text;

TEST(Text, KeepsThePrecisionOfProducts) {
  std::string text = R"(func @f(%x: ptr<f32>) {
  %1 = constant 0 : f32
  %2 = splat %1, [8x8] : f32[8x8]
  %3 = dot %2, %2, %2 : f32[8x8]
  %4 = dot %2, %2, %2, tf32 : f32[8x8]
  %5 = dot %2, %2, %2, tf32x3 : f32[8x8]
}
)";
  EXPECT_EQ(print(parse(text)), text);
  Function exact = parse(text), rounded = exact;
  rounded.body.insts[2].immediate = Precision{InputPrecision::tf32};
  EXPECT_NE(content_hash(exact), content_hash(rounded));
}

TEST(Text, KeepsTheAlignmentOfPointers) {
  const std::string text = "func @f(%p: ptr<f32> align 4, %q: ptr<f32>) {\n}\n";
  Function function = parse(text);
  EXPECT_EQ(function.params[0].align_bytes, 4);
  EXPECT_EQ(function.params[1].align_bytes, 64);
  EXPECT_EQ(print(function), text);
  EXPECT_NE(content_hash(function), content_hash(parse("func @f(%p: ptr<f32>, %q: ptr<f32>) {}")));
  EXPECT_THAT(error_of("func @f(%p: ptr<f32> align 3) {}"),
              testing::HasSubstr("align 3 is not a power of two"));
}

TEST(Text, PrintingWhatWasReadNumbersValuesInOrderOfDefinition) {
  std::string text = print(parse(everything));
  EXPECT_THAT(text, testing::HasSubstr("    %22 = if %go {\n      %21 = add %19, %19"));
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(content_hash(parse(text)), content_hash(parse(everything)));
}

TEST(Text, NamesOfParametersStay) {
  EXPECT_THAT(print(parse(everything)),
              testing::StartsWith("func @every.thing(%x: ptr<f16>, %n: "));
}

TEST(Text, NamesThatAreNoWordsSurvive) {
  Function f;
  f.name = "fused<\"a\\b\">\n";
  Builder(f).param("two words", Type::scalar(DType::f32));
  Builder(f).param("same", Type::scalar(DType::f32));
  Builder(f).param("same", Type::scalar(DType::f32));
  std::string text = print(f);
  Function g = parse(text);
  EXPECT_EQ(g.name, f.name);
  EXPECT_EQ(print(g), text);
}

TEST(Text, NamesThatBeginWithADigitAreNoWords) {
  Function f;
  f.name = "2d";
  Builder(f).param("1", Type::scalar(DType::f32));
  EXPECT_EQ(print(f), "func @\"2d\"(%0: f32) {\n}\n");
}

Scalar read_back(Scalar scalar) {
  Function f;
  f.name = "f";
  Builder(f).constant(scalar);
  return parse(print(f)).body.insts[0].get<Scalar>();
}

TEST(Text, ConstantsReadBackExactly) {
  using limits = std::numeric_limits<double>;
  for (DType dtype : all_dtypes())
    for (double x : {0.0, -0.0, 1.0, -1.0, 0.1, 1.0 / 3, 1e-7, 65504.0, 3.4028234663852886e38,
                     limits::max(), limits::denorm_min(), limits::infinity(), -limits::infinity(),
                     limits::quiet_NaN(), -limits::quiet_NaN(), limits::signaling_NaN()}) {
      if (!is_floating(dtype) && !(std::abs(x) < 2)) continue;
      Scalar scalar = Scalar::of(dtype, x);
      EXPECT_EQ(read_back(scalar), scalar) << dtype << " " << x;
    }
  for (DType dtype : {DType::i64, DType::u64, DType::i32, DType::u32, DType::i8})
    for (std::int64_t x : {INT64_MIN, INT64_MAX, std::int64_t{-1}, std::int64_t{200}})
      EXPECT_EQ(read_back(Scalar::of_integer(dtype, x)), Scalar::of_integer(dtype, x)) << dtype;
}

TEST(Text, ConstantsPrintShortly) {
  Function f = parse("func @f() { %0 = constant 0.1 : f32 %1 = constant 2.50 : f64 }");
  EXPECT_EQ(print(f), "func @f() {\n  %0 = constant 0.1 : f32\n  %1 = constant 2.5 : f64\n}\n");
}

TEST(Text, CommentsAndLayoutDoNotMatter) {
  EXPECT_EQ(print(parse("// a\nfunc@f(%a:f32){%1=add %a,%a:f32// b\n}")),
            "func @f(%a: f32) {\n  %1 = add %a, %a : f32\n}\n");
}

TEST(Text, NamesOfTheUserStandBehindNumbers) {
  const std::string source = "func @f(%a: f32) { %b = add %a, %a : f32 }";
  const std::string text = print(parse_all(source, true)[0]);
  EXPECT_EQ(print(parse(source)), "func @f(%a: f32) {\n  %1 = add %a, %a : f32\n}\n");
  EXPECT_EQ(text, "func @f(%a: f32) {\n  %1.b = add %a, %a : f32\n}\n");
  Function read = parse(text);
  EXPECT_EQ(name_of(read, read.body.insts[0].results[0]), "b");
  EXPECT_EQ(name_of(read, read.params[0].value), "");
  EXPECT_EQ(print(read), text);
}

TEST(Text, InstructionsAloneStandInTheOrderInWhichTheyBegin) {
  Function f = parse(
      "func @f(%n: i64) {\n  %1 = constant 1 : i64\n  %4 = loop %1 to %n step %1 index %2 with (%3 "
      "= "
      "%1) {\n    %5 = add %3, %2 : i64\n    yield %5\n  } : i64\n}");
  EXPECT_THAT(instruction_texts(f),
              ::testing::ElementsAre("%1 = constant 1 : i64",
                                     "%5 = loop %1 to %n step %1 index %2 with (%3 = %1) : i64",
                                     "%4 = add %3, %2 : i64", "yield %4"));
}

TEST(Text, AFileHoldsManyFunctionsWithNamesOfTheirOwn) {
  std::string text = print(parse("func @a(%x: f32) {}"));
  EXPECT_EQ(parse_all(text + text).size(), 2U);
  EXPECT_TRUE(parse_all(" // nothing\n").empty());
  EXPECT_THAT(error_of(text + text),
              testing::HasSubstr("line 3, column 1: expected the end of the text, found 'func'"));
}

// Two blanks a level would be ten times as much as all else.
TEST(Text, DeepBlocksArePrintedInSpaceByTheirLines) {
  std::string text = "func @f(%c: bool, %n: i64) {\n";
  for (int i = 0; i < 190; ++i) text += "if %c {\n";
  for (int i = 0; i < 1000; ++i) text += concat("%x", i, " = neg %n : i64\n");
  for (int i = 0; i < 190; ++i) text += "yield\n} else {\nyield\n}\n";
  std::string printed = print(parse(text + "}\n"));
  EXPECT_LT(printed.size(), 2000u * 100);
  EXPECT_EQ(print(parse(printed)), printed);
}

double parse_seconds(const std::string& text) {
  std::clock_t start = std::clock();
  parse(text);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Each block of 8,000 beside 8,000 names took 4 s where blocks had a table of names of their own.
TEST(Text, BlocksCostNothingForTheNamesAroundThem) {
  auto text = [](int count) {
    std::string all = "func @f(%c: bool, %z: i64) {\n";
    for (int i = 0; i < count; ++i) all += concat("%x", i, " = constant ", i, " : i64\n");
    for (int i = 0; i < count / 2; ++i) all += "if %c {\nyield\n} else {\nyield\n}\n";
    for (int i = 0; i < count / 2; ++i)
      all += "%r = loop %z to %z step %z index %i with (%a = %x0) {\nyield %a\n} : i64\n";
    std::string once;
    for (std::size_t at = 0, i = 0; at < all.size(); ++i) {
      std::size_t end = all.find('\n', at);
      std::string line = all.substr(at, end + 1 - at);
      if (line.starts_with("%r")) line = concat("%r", i, line.substr(2));
      once += line;
      at = end + 1;
    }
    return once + "}";
  };
  double few = 1e9;
  for (int round = 0; round < 3; ++round) few = std::min(few, parse_seconds(text(2000)));
  EXPECT_LT(parse_seconds(text(8000)), 10 * few + 0.1);
}

TEST(Text, NamesOfABlockAreFreeAfterItAndInitialValuesAreSeenFromOutside) {
  std::string text =
      "func @f(%c: bool, %n: i64) {\n"
      "  if %c { %a = neg %n : i64 yield } else { %a = neg %n : i64 yield }\n"
      "  %r = loop %n to %n step %n index %i with (%a = %n) { %b = neg %a : i64 yield %b } : i64\n"
      "  %b = neg %r : i64\n  %a = neg %b : i64\n}\n";
  EXPECT_EQ(error_of(text), "no error");
  for (const char* inits : {"%a = %i", "%a = %n, %b = %a"})
    EXPECT_THAT(error_of(concat("func @f(%n: i64) { %r = loop %n to %n step %n index %i with (",
                                inits, ") { yield %n } : i64 }")),
                testing::HasSubstr(" is not defined here"));
}

}  // namespace
}  // namespace tilewright::ir::text_test
