#include "dsl/interpret/interpret.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "dsl/ir/builder.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/dsl/run_program.h"
#include "tests/every_device.h"

namespace tilewright::ir::interpret_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// y[i] = x[i] + 1 over blocks of `block`, masked at n.
Function increment(std::int64_t block, bool masked) {
  Function f{.name = "increment"};
  Builder b(f);
  b.set_location(std::source_location::current());
  Value x = b.param("x", Type::pointer(DType::f32)), y = b.param("y", Type::pointer(DType::f32));
  Value n = b.param("n", Type::scalar(DType::i64));
  Shape shape{block};
  auto splat = [&](Value v) { return b.append(Op::splat_, {v}, Extent{shape}); };
  Value first = b.append(Op::mul_, {b.append(Op::program_id_, {}, Axis{0}), b.index(block)});
  Value lanes = b.append(Op::cast_, {b.append(Op::arange_, {}, Bounds{0, block})}, DType::i64);
  Value index = b.append(Op::add_, {splat(first), lanes});
  Value mask = b.append(Op::lt_, {index, splat(n)});
  std::vector<Value> load{b.append(Op::offset_, {splat(x), index})};
  if (masked) load.push_back(mask);
  Value one = splat(b.constant(Scalar::of(DType::f32, 1)));
  Value sum = b.append(Op::add_, {b.append(Op::load_, load, Access{}), one});
  std::vector<Value> store{b.append(Op::offset_, {splat(y), index}), sum};
  if (masked) store.push_back(mask);
  b.append(Op::store_, store, Access{});
  return f;
}

TEST(Interpret, RunsEveryProgramOfTheGridAndMasksTheEdge) {
  std::vector<float> x{1, 2, 3, 4, 5}, y(6, -1);
  Argument arguments[3];
  arguments[0].pointer = x.data();
  arguments[1].pointer = y.data();
  arguments[2].integer = 5;
  Memory memories[3] = {{x.data(), 20}, {y.data(), 24}, {}};
  dsl::run_program(increment(3, true), {{2, 1, 1}}, arguments, memories);
  EXPECT_THAT(y, ElementsAre(2, 3, 4, 5, 6, -1));
}

TEST(Interpret, AnAccessOutsideNamesLineProgramElementParameterAndIndex) {
  std::vector<float> x(5), y(6);
  Argument arguments[3];
  arguments[0].pointer = x.data();
  arguments[1].pointer = y.data();
  arguments[2].integer = 5;
  Memory memories[3] = {{x.data(), 20}, {y.data(), 24}, {}};
  try {
    interpret(increment(3, false), {{2, 1, 1}}, arguments, memories);
    FAIL() << "the sixth element of x was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("interpret_test.cpp:"));
    EXPECT_THAT(
        error.what(),
        HasSubstr(": [load] program (1, 0, 0), element 2: index 5 of x is outside: it has 5 "
                  "elements; mask elements outside"));
  }
}

TEST(Interpret, TheNumberOfArgumentsIsChecked) {
  Argument argument{};
  EXPECT_THROW(interpret(increment(3, true), {}, {&argument, 1}), Error);
}

// Copies a block of a 3x4 array at the given offsets to a 3x3 array.
TEST(Interpret, ADescriptorReadsZeroOutsideAndWritesNothingThere) {
  Function f{.name = "window"};
  Builder b(f);
  b.set_location(std::source_location::current());
  Value x = b.param("x", Type::pointer(DType::i32)), y = b.param("y", Type::pointer(DType::i32));
  auto i = [&](std::int64_t v) { return b.index(v); };
  Value from = b.append(Op::make_desc_, {x, i(3), i(4), i(4), i(1)});
  Value to = b.append(Op::make_desc_, {y, i(3), i(3), i(3), i(1)});
  Value block = b.append(Op::load_desc_, {from, i(-1), i(2)}, BlockAccess{{3, 3}});
  b.append(Op::store_desc_, {to, block, i(0), i(1)}, Access{});
  std::vector<std::int32_t> in(12), out(9, -1);
  std::iota(in.begin(), in.end(), 0);
  Argument arguments[2];
  arguments[0].pointer = in.data();
  arguments[1].pointer = out.data();
  Memory memories[2] = {{in.data(), 48}, {out.data(), 36}};
  dsl::run_program(f, {}, arguments, memories);
  EXPECT_THAT(out, ElementsAre(-1, 0, 0, -1, 2, 3, -1, 6, 7));
}

// Runs a function whose body makes one tile from x (2x3 f32) and stores it to y.
template <typename Make>
std::vector<float> through(Make make, std::int64_t out_count) {
  Function f{.name = "through"};
  Builder b(f);
  b.set_location(std::source_location::current());
  Value x = b.param("x", Type::pointer(DType::f32)), y = b.param("y", Type::pointer(DType::f32));
  auto i = [&](std::int64_t v) { return b.index(v); };
  Value from = b.append(Op::make_desc_, {x, i(2), i(3), i(3), i(1)});
  Value made = make(b, b.append(Op::load_desc_, {from, i(0), i(0)}, BlockAccess{{2, 3}}));
  Value flat = b.append(Op::reshape_, {made}, Extent{{out_count}});
  Value to = b.append(Op::make_desc_, {y, i(out_count), i(1)});
  b.append(Op::store_desc_, {to, flat, i(0)}, Access{});
  std::vector<float> in{1, 5, 3, 7, 2, 7}, out(static_cast<std::size_t>(out_count));
  Argument arguments[2];
  arguments[0].pointer = in.data();
  arguments[1].pointer = out.data();
  dsl::run_program(f, {}, arguments);
  return out;
}

TEST(Interpret, PermutesBroadcastsAndReduces) {
  EXPECT_THAT(through(
                  [](Builder& b, Value x) {
                    return b.append(Op::permute_, {x}, Permutation{{1, 0}});
                  },
                  6),
              ElementsAre(1, 7, 5, 2, 3, 7));
  EXPECT_THAT(through(
                  [](Builder& b, Value x) {
                    Value s = b.append(Op::reduce_, {x}, Reduction{ReduceKind::sum, 1});
                    s = b.append(Op::expand_dims_, {s}, Axis{1});
                    return b.append(Op::broadcast_, {s}, Extent{{2, 2}});
                  },
                  4),
              ElementsAre(9, 9, 16, 16));
  EXPECT_THAT(through(
                  [](Builder& b, Value x) {
                    return b.append(Op::reduce_, {x}, Reduction{ReduceKind::max, 0});
                  },
                  3),
              ElementsAre(7, 5, 7));
}

TEST(Interpret, ArgmaxGivesTheFirstOfEquals) {
  EXPECT_THAT(through(
                  [](Builder& b, Value x) {
                    Value at = b.append(Op::reduce_, {x}, Reduction{ReduceKind::argmax, 1});
                    return b.append(Op::cast_, {at}, DType::f32);
                  },
                  2),
              ElementsAre(1, 0));
}

TEST(Interpret, ADotAddsTheProductToTheAccumulator) {
  EXPECT_THAT(through(
                  [](Builder& b, Value x) {
                    Value t = b.append(Op::permute_, {x}, Permutation{{1, 0}});
                    Value one = b.constant(Scalar::of(DType::f32, 1));
                    Value acc = b.append(Op::splat_, {one}, Extent{{2, 2}});
                    return b.append(Op::dot_, {x, t, acc}, Precision{});
                  },
                  4),
              ElementsAre(36, 39, 39, 103));
}

TEST(Interpret, ADotOfTf32RoundsItsOperandsTiesAwayFromZero) {
  auto product = [](Builder& b, Value) {
    auto full = [&](double number, Shape shape) {
      return b.append(Op::splat_, {b.constant(Scalar::of(DType::f32, number))}, Extent{shape});
    };
    return b.append(Op::dot_,
                    {full(1 + 0x1p-11, {16, 8}), full(-1 - 0x1p-12, {8, 8}), full(0, {16, 8})},
                    Precision{InputPrecision::tf32});
  };
  EXPECT_THAT(through(product, 128), testing::Each(-8 - 0x1p-7F));
}

TEST(Interpret, ALoopCarriesValuesAndAnIfChooses) {
  EXPECT_THAT(through(
                  [](Builder& b, Value x) {
                    Type carried = b.function().type(x);
                    Value zero = b.index(0), one = b.index(1), three = b.index(3);
                    Block& body = b.open_block({Type::scalar(DType::i64), carried});
                    Value i = body.params[0], held = body.params[1];
                    Value odd = b.append(Op::and_, {i, one});
                    Value is_odd = b.append(Op::eq_, {odd, one});
                    b.open_block({});
                    b.close_block({b.append(Op::neg_, {held})});
                    b.open_block({});
                    b.close_block({b.append(Op::add_, {held, x})});
                    Value next = b.close_if(is_odd)[0];
                    return b.close_loop(zero, three, one, {x}, {next})[0];
                  },
                  6),
              ElementsAre(-1, -5, -3, -7, -2, -7));
}

TEST(Interpret, ALoopRefusesAStepThatDoesNotAdvance) {
  TILEWRIGHT_ON_THE_HOST_ONLY("an interpreter that checks steps");
  EXPECT_THROW(through(
                   [](Builder& b, Value x) {
                     Value zero = b.index(0), three = b.index(3);
                     b.open_block({Type::scalar(DType::i64), b.function().type(x)});
                     return b.close_loop(zero, three, zero, {x}, {x})[0];
                   },
                   6),
               Error);
}

TEST(Interpret, UnsignedIndicesGoOnBeyondThoseThatAreSigned) {
  Function f = parse(R"(func @f(%z: ptr<u64>, %low: u64, %high: u64) {
  %none = constant 0 : u64
  %one = constant 1 : u64
  %turns = loop %low to %high step %one index %i with (%n = %none) {
    %m = add %n, %one : u64
    yield %m
  } : u64
  store %z, %turns
})");
  std::int64_t turns = 0;
  std::vector<Argument> arguments(3);
  arguments[0].pointer = &turns;
  arguments[1].integer = INT64_MAX - 1;
  arguments[2].integer = INT64_MIN + 3;  // as u64 5 more
  interpret(f, {}, arguments);
  EXPECT_EQ(turns, 5);
}

}  // namespace
}  // namespace tilewright::ir::interpret_test
