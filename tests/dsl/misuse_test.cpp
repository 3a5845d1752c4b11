// The language's messages for kernels that use it wrongly.
#include <gmock/gmock.h>

#include <optional>

#include "dsl/language/kernel.h"
#include "dsl/language/tracer.h"
#include "tests/errors.h"

namespace tilewright::dsl::misuse_test {
namespace {

// The error from tracing `body`; given pointers p to f32 and h to f16, an f32 scalar x and an i64
// scalar n.
struct Given {
  Tile p, x, n, h;
};
std::string misuse(const std::function<void(const Given&)>& body) {
  return error_of([&] {
    Tracer tracer("f");
    Given given{tracer.pointer_param("p", f32), tracer.scalar_param("x", f32),
                tracer.scalar_param("n", i64), tracer.pointer_param("h", f16)};
    body(given);
    tracer.finish();
  });
}

// The message must be about the line of the call, which holds the misuse.
void expect_message(const std::string& actual, const std::string& expected,
                    std::source_location where = std::source_location::current()) {
  EXPECT_EQ(actual, "misuse_test.cpp:" + std::to_string(where.line()) + ": " + expected);
}
std::source_location here(std::source_location where = std::source_location::current()) {
  return where;
}

#define EXPECT_MISUSE(expected, ...)                                                          \
  expect_message(misuse([](const Given& g) { static_cast<void>(g), __VA_ARGS__; }), expected, \
                 here())

TEST(Misuse, MixedElementTypes) {
  EXPECT_MISUSE("[add] operands differ in type: f32 and i64; cast one of them", g.x + g.n);
}

TEST(Misuse, MixedIntegerWidths) {
  EXPECT_MISUSE("[add] operands differ in type: i64 and i32[8]; cast one of them",
                program_id(0) + arange(0, 8));
}

TEST(Misuse, ShapesThatDoNotBroadcast) {
  EXPECT_MISUSE(
      "[mul] the shapes 4 and 8 do not broadcast; sizes must agree from the last axis on, or be 1",
      arange(0, 4) * arange(0, 8));
}

TEST(Misuse, AFractionForAnInteger) {
  EXPECT_MISUSE(
      "[constant] 0.5 does not fit i64, the type of the other operand; cast that one or "
      "write a number of i64",
      g.n * 0.5);
}

TEST(Misuse, ANumberTooLargeForTheOtherOperand) {
  EXPECT_MISUSE(
      "[constant] 4294967296 does not fit i32, the type of the other operand; cast that "
      "one or write a number of i32",
      arange(0, 4) + (std::int64_t{1} << 32));
}

TEST(Misuse, AFloatingOpOnIntegers) {
  EXPECT_MISUSE("[exp] operands are i64; they must be floating", exp(g.n));
}

TEST(Misuse, AnIntegerOpOnFloats) {
  EXPECT_MISUSE("[and] operands are f32; they must be integer or bool", g.x & g.x);
}

TEST(Misuse, AtomicsOnWhatProcessorsDoNotCombine) {
  EXPECT_MISUSE("[atomic] the elements are f32; and takes integers of 32 or 64 bits",
                atomic_and(g.p, 1));
  EXPECT_MISUSE(
      "[atomic] the elements are f16; exchange takes integers and floats of 32 or 64 bits",
      atomic_exchange(g.h, 1));
  EXPECT_MISUSE("[atomic] the address is f32; it must be a pointer or a tile of them",
                atomic_add(g.x, 1));
}

TEST(Misuse, ArithmeticOnPointers) {
  EXPECT_MISUSE("[mul] an operand is ptr<f32>; it must be a scalar or a tile of numbers", g.p * 2);
  EXPECT_MISUSE("[offset] the offset is f32; it must be integer", g.p + g.x);
}

TEST(Misuse, InnerSizesOfADot) {
  EXPECT_MISUSE("[dot] inner sizes differ: a is 4x8, b is 4x8; a's columns must equal b's rows",
                dot(zeros({4, 8}, f32), zeros({4, 8}, f32)));
}

TEST(Misuse, ADotOfVectors) {
  EXPECT_MISUSE(
      "[dot] the operands are i32[4] and i32[4]; each must have two axes, or each "
      "three",
      dot(arange(0, 4), arange(0, 4)));
}

TEST(Misuse, AnAccumulatorOfTheWrongType) {
  EXPECT_MISUSE("[dot] the accumulator is f16[8x8]; for these operands it must be f32[8x8]",
                dot(zeros({8, 8}, f16), zeros({8, 8}, f16), zeros({8, 8}, f16)));
}

TEST(Misuse, OtherOperandsThanF32AsTf32) {
  EXPECT_MISUSE(
      "[dot] the operands are bf16; only f32 is multiplied as tf32",
      dot(zeros({8, 8}, bf16), zeros({8, 8}, bf16), zeros({8, 8}, f32), InputPrecision::tf32));
}

TEST(Misuse, ArithmeticOnFloatsOf8Bits) {
  EXPECT_MISUSE(
      "[add] the operands are f8e4m3; floats of 8 bits are stored, cast and multiplied (dot): cast "
      "them to f32",
      zeros({8}, f8e4m3) + zeros({8}, f8e4m3));
  EXPECT_MISUSE(
      "[lt] the operands are f8e5m2; floats of 8 bits are stored, cast and multiplied (dot): cast "
      "them to f32",
      zeros({8}, f8e5m2) < zeros({8}, f8e5m2));
  EXPECT_MISUSE(
      "[reduce] the operands are f8e5m2; floats of 8 bits are stored, cast and multiplied (dot): "
      "cast them to f32",
      max(zeros({8}, f8e5m2), 0));
}

TEST(Misuse, AnAxisThatIsNotThere) {
  EXPECT_MISUSE("[reduce] the axis is 1; with 1 axes it must be from -1 to 0",
                sum(arange(0, 4), 1));
  EXPECT_MISUSE("[expand_dims] the axis is 3; with 2 axes it must be from -2 to 1",
                expand_dims(arange(0, 4), 3));
  EXPECT_MISUSE("[program_id] the axis is 3; a grid has the axes 0, 1 and 2", program_id(3));
  EXPECT_MISUSE("[permute] the axes are not a permutation of the 2 axes of f32[4x8]",
                permute(zeros({4, 8}, f32), {0, 0}));
  EXPECT_MISUSE("[trans] the operand has 1 axes; it must have two or more", trans(arange(0, 4)));
}

TEST(Misuse, AReductionOfTheWrongKindOfElement) {
  EXPECT_MISUSE("[reduce] any of i32[4]; it needs bool",
                reduce(arange(0, 4), ir::ReduceKind::any, 0));
}

TEST(Misuse, ShapesOfTheWrongSize) {
  EXPECT_MISUSE("[reshape] i32[4] has 4 elements, the shape 2x3 6", reshape(arange(0, 4), {2, 3}));
  EXPECT_MISUSE(
      "[broadcast] i32[4] does not broadcast to the shape 8; sizes must agree from the "
      "last axis on, or be 1",
      broadcast_to(arange(0, 4), {8}));
  EXPECT_MISUSE("[splat] the shape 4x0 has a size of 0; sizes must be positive",
                full({4, 0}, 1, f32));
  EXPECT_MISUSE("[arange] the end 0 is not above the start 4", arange(4, 0));
}

TEST(Misuse, LoadingFromANumber) {
  EXPECT_MISUSE("[load] the address is f32; it must be a pointer or a tile of them", load(g.x));
}

TEST(Misuse, StoringAValueOfAnotherType) {
  EXPECT_MISUSE("[store] the value is i64; it must be f32: cast it", store(g.p, g.n));
  EXPECT_MISUSE(
      "[store] f32[4] does not broadcast to the shape scalar; sizes must agree from the "
      "last axis on, or be 1",
      store(g.p, zeros({4}, f32)));
}

TEST(Misuse, AMaskThatIsNoCondition) {
  EXPECT_MISUSE("[load] the mask is i64; it must be bool: cast it", load(g.p, g.n));
}

TEST(Misuse, ADescriptorWithoutAStrideAnAxis) {
  EXPECT_MISUSE(
      "[make_desc] there are 2 sizes and 1 strides; a size and a stride an axis are needed",
      make_desc(g.p, {g.n, g.n}, {1}));
  EXPECT_MISUSE("[make_desc] a size or stride is f32; it must be an integer scalar",
                make_desc(g.p, {g.x}, {1}));
}

TEST(Misuse, ABlockOfAnotherRankThanItsDescriptor) {
  EXPECT_MISUSE(
      "[load_desc] there are 1 offsets and a block of rank 2 for desc<f32, 1>; each must "
      "have one entry an axis",
      load(make_desc(g.p, {g.n}, {1}), {0}, {4, 4}));
}

TEST(Misuse, ALoopOverFloats) {
  EXPECT_MISUSE("[range] a bound is f32; it must be an integer scalar", range(g.x, g.x));
}

TEST(Misuse, AConditionThatIsNoBool) {
  EXPECT_MISUSE("[if] the condition is i64; it must be a bool scalar", if_(g.n, [] {}));
}

TEST(Misuse, AVariableThatChangesItsType) {
  std::string message = misuse([](const Given& g) {
    Var v = g.x;
    for (Tile i : range(0, g.n)) v = i;
  });
  EXPECT_THAT(message, testing::EndsWith("[assign] the variable is f32, the new value i64; a "
                                         "variable keeps its type: cast or broadcast the value"));
}

TEST(Misuse, AnEmptyTile) {
  EXPECT_MISUSE("[add] an operand is an empty Tile; assign a value before using it", Tile() + g.n);
  EXPECT_EQ(error_of([] { Tile().type(); }),
            "[type] the Tile is empty; assign a value before using it");
}

TEST(Misuse, ATileOfALoopAfterTheLoop) {
  std::string message = misuse([](const Given& g) {
    Tile last;
    for (Tile i : range(0, g.n)) last = i;
    last + 1;
  });
  EXPECT_THAT(message,
              testing::EndsWith("[add] an operand was made inside a loop or if that has ended; to "
                                "use it after, assign it to a Var declared before"));
}

TEST(Misuse, AVariableOfALoopAfterTheLoop) {
  std::string message = misuse([](const Given& g) {
    std::optional<Var> last;
    for (Tile i : range(0, g.n)) last.emplace(i);
    last->get();
  });
  EXPECT_THAT(message, testing::EndsWith("[var] the variable was declared inside a loop or if that "
                                         "has ended; declare it before"));
}

TEST(Misuse, LeavingALoopByBreak) {
  const char* expected =
      "[range] the loop was left by break or return; a traced loop runs to its end";
  EXPECT_THAT(misuse([](const Given& g) {
                for (Tile i : range(0, g.n)) {
                  i + 1;
                  break;
                }
              }),
              testing::EndsWith(expected));
  EXPECT_THAT(misuse([](const Given& g) {
                for (Tile i : range(0, g.n))
                  for (Tile j : range(0, i)) {
                    j + 1;
                    break;
                  }
              }),
              testing::EndsWith(expected));
  EXPECT_THAT(misuse([](const Given& g) {
                if_(g.n < 1, [&] {
                  for (Tile i : range(0, g.n)) {
                    i + 1;
                    return;
                  }
                });
              }),
              testing::EndsWith(expected));
}

TEST(Misuse, TilesOutsideAnyKernel) {
  EXPECT_THAT(error_of([] { arange(0, 4); }),
              testing::EndsWith("[arange] no kernel is being traced here; tiles exist only inside "
                                "a kernel's function"));
}

TEST(Misuse, TilesOfAnEarlierTrace) {
  Tile stale;
  misuse([&](const Given& g) { stale = g.n; });
  EXPECT_THAT(misuse([&](const Given& g) { g.n + stale; }),
              testing::EndsWith("[add] an operand was made by a trace that is over; tiles live "
                                "inside one run of a kernel"));
  EXPECT_THAT(error_of([&] { stale.type(); }),
              testing::StartsWith("[type] the trace that made the tile is over"));
}

TEST(Misuse, VariablesOfAnEarlierTrace) {
  std::optional<Var> stale;
  misuse([&](const Given& g) { stale.emplace(g.n); });
  EXPECT_THAT(misuse([&](const Given& g) { *stale + g.n; }),
              testing::HasSubstr("[var] the trace that made the variable is over"));
}

TEST(Misuse, TilesOfAnotherKernelThatIsBeingTraced) {
  EXPECT_THAT(misuse([](const Given& g) {
                Tracer inner("inner");
                g.n + 1;
              }),
              testing::EndsWith("[add] an operand belongs to another kernel that is being traced"));
}

TEST(Misuse, ElementwiseWithTheWrongOperands) {
  EXPECT_MISUSE("[add] there are 1 operands; it takes 2", elementwise(ir::Op::add_, {g.n}));
  EXPECT_MISUSE(
      "[cast] it is not an elementwise operation without an immediate; call its own "
      "function",
      elementwise(ir::Op::cast_, {g.n}));
}

}  // namespace
}  // namespace tilewright::dsl::misuse_test
