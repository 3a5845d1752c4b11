// Loops that end by a condition, and programs that return before their end.
#include <gmock/gmock.h>

#include "dsl/ir/text/text.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::while_test {
namespace {

using testing::HasSubstr;
using Whole = std::vector<std::int32_t>;

std::string trace_error(const std::function<void(Pointer)>& body) {
  return error_of([&] { Kernel("k", [&](Pointer p) { body(p); }).trace({i32}); });
}

TEST(While, CarriesWhatItsBodyAssigns) {
  // The lengths of Collatz's sequences, each found by itself.
  for (std::int32_t start : {1, 2, 6, 27})
    in_every_way(
        [&](Pointer x, Pointer out) {
          Var n = load(x), steps = full({}, 0, i32);
          while_([&] { return Tile(n) != 1; },
                 [&] {
                   n = where(n % 2 == 0, n / 2, n * 3 + 1);
                   steps += 1;
                 });
          store(out, steps);
          store(out + 1, n);
        },
        [&](const Whole&, const Whole& out) {
          std::int32_t expected = 0;
          for (std::int32_t n = start; n != 1; n = n % 2 == 0 ? n / 2 : n * 3 + 1) ++expected;
          EXPECT_EQ(out, (Whole{expected, 1}));
        },
        Whole{start}, Whole(2));
}

TEST(While, CarriesTilesAndMakesNoTurnWhereItsConditionIsFalse) {
  for (float limit : {-1.0F, 10.0F, 1000.0F})
    in_every_way(
        [&](Pointer x, Pointer out) {
          Var row = block(x, {33});
          while_([&] { return max(row, 0) < limit; }, [&] { row = row * 2.0; });
          put(out, row);
        },
        [&](const std::vector<float>& x, const std::vector<float>& out) {
          float scale = 1;
          while (x[32] * scale < limit) scale *= 2;
          for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(out[i], x[i] * scale);
        },
        [] {
          std::vector<float> x(33);
          for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) * 0.25F;
          return x;
        }(),
        std::vector<float>(33));
}

TEST(While, NestsInOtherLoopsAndIfs) {
  in_every_way(
      [](Pointer out) {
        for (Tile i : range(0, 5)) {
          Var left = cast(i, i32), turns = full({}, 0, i32);
          if_(i != 3, [&] {
            while_([&] { return left > 0; },
                   [&] {
                     Var inner = left;
                     while_([&] { return inner > 0; },
                            [&] {
                              inner -= 1;
                              turns += 1;
                            });
                     left -= 1;
                   });
          });
          store(out + i, turns);
        }
      },
      [](const Whole& out) {
        EXPECT_EQ(out, (Whole{0, 1, 3, 0, 10}));
      },
      Whole(5));
}

TEST(While, MultipliesWhatItLoads) {
  // Products in it are those of a loop, though nothing runs ahead.
  constexpr std::int64_t n = 64, k = 128;
  std::vector<float> a(n * k), b(k * n);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 7) - 3;
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 5) - 2;
  in_every_way(
      [](Pointer a, Pointer b, Pointer out) {
        Desc left = make_desc(a, {n, k}, {k, 1}), right = make_desc(b, {k, n}, {n, 1});
        Var acc = zeros({n, n}, f32), at = 0;
        while_([&] { return at < k; },
               [&] {
                 acc = dot(cast(load(left, {0, at}, {n, 32}), bf16),
                           cast(load(right, {at, 0}, {32, n}), bf16), acc);
                 at += 32;
               });
        put(out, acc);
      },
      [](const std::vector<float>& a, const std::vector<float>& b, const std::vector<float>& out) {
        for (std::size_t r = 0; r < n; ++r)
          for (std::size_t c = 0; c < n; ++c) {
            float sum = 0;
            for (std::size_t i = 0; i < k; ++i) sum += a[r * k + i] * b[i * n + c];
            ASSERT_EQ(out[r * n + c], sum);
          }
      },
      a, b, std::vector<float>(n * n));
}

TEST(While, PassesKeepItsCondition) {
  ir::Function function = Kernel("k", [](Pointer p) {
                            Var n = load(p);
                            while_([&] { return n > 0; }, [&] { n -= 1; });
                          }).trace({i32});
  const std::string before = ir::print(function);
  EXPECT_THAT(before, HasSubstr(" while with ("));
  EXPECT_EQ(ir::print(ir::parse(before)), before);
  run_passes(function);
  std::string after = ir::print(function);
  EXPECT_THAT(after, testing::Not(HasSubstr("loop"))) << "it does nothing that is seen";
}

// One turn that its bounds allow is not made where the condition is false.
TEST(While, IsNoLoopOfAsManyTurnsAsItsBoundsSay) {
  const std::string text = R"(func @f(%p: ptr<i32>, %n: i32, %c: bool) {
  %3 = constant 0 : i64
  %4 = constant 1 : i64
  %7 = loop %3 to %4 step %4 index %5 while with (%6 = %c) {
    store %p, %n
    yield %6
  } : bool
}
)";
  ir::Function function = ir::parse(text);
  for (int passes = 0; passes < 2; ++passes) {
    for (std::int64_t going : {0, 1}) {
      std::int32_t memory = 0;
      ir::interpret(
          function, Grid{{1, 1, 1}},
          std::vector<Argument>{{.pointer = &memory}, {.integer = 7}, {.integer = going}});
      EXPECT_EQ(memory, going == 1 ? 7 : 0);
    }
    run_passes(function);
  }
}

TEST(While, NamesConditionsThatAreNone) {
  EXPECT_THAT(trace_error([](Pointer p) { while_([&] { return load(p); }, [] {}); }),
              HasSubstr("[while] the condition is i32; it must be a bool scalar"));
  EXPECT_THAT(trace_error([](Pointer) { while_([] { return arange(0, 4) < 2; }, [] {}); }),
              HasSubstr("[while] the condition is bool[4]; it must be a bool scalar"));
  EXPECT_THAT(error_of([] {
                ir::parse(
                    "func @f(%n: i64) {\n  %2 = loop %n to %n step %n index %1 while with "
                    "(%3 = %n) {\n    yield %3\n  } : i64\n}\n");
              }),
              HasSubstr("it ends by a condition, and the first carried value is i64; it must be a "
                        "bool scalar"));
  EXPECT_THAT(error_of([] {
                ir::parse(
                    "func @f(%n: i64) {\n  loop %n to %n step %n index %1 while {\n    "
                    "yield\n  }\n}\n");
              }),
              HasSubstr("the first carried value is missing"));
}

TEST(ReturnIf, EndsTheProgramWhereItsConditionHolds) {
  for (std::int32_t x : {0, 1, 2, 3})
    in_every_way(
        [](Pointer x, Pointer out) {
          Tile n = load(x);
          Var last = full({}, 1, i32);
          store(out, last);
          return_if(n == 0);
          last += 1;
          store(out, last);
          return_if(n == 1);
          for (Tile i : range(0, n)) last += cast(i, i32) + 1;
          store(out + arange(0, 3), last);
          return_if(n == 2);
          store(out + 2, -1);
        },
        [&](const Whole&, const Whole& out) {
          EXPECT_EQ(out, x == 0   ? (Whole{1, 0, 0})
                         : x == 1 ? (Whole{2, 0, 0})
                         : x == 2 ? (Whole{5, 5, 5})
                                  : (Whole{8, 8, -1}));
        },
        Whole{x}, Whole(3));
}

TEST(ReturnIf, NamesWhatItCannotDo) {
  EXPECT_THAT(trace_error([](Pointer p) {
                for (Tile i : range(0, 4)) return_if(i == load(p));
              }),
              HasSubstr("operands differ in type"));
  EXPECT_THAT(trace_error([](Pointer) {
                for (Tile i : range(0, 4)) return_if(i == 2);
              }),
              HasSubstr("[return_if] stands inside a loop or if, which run to their end; put the "
                        "condition into a Var declared before, and return after"));
  EXPECT_THAT(trace_error([](Pointer p) { return_if(load(p)); }),
              HasSubstr("[return_if] the condition is i32; it must be a bool scalar"));
}

}  // namespace
}  // namespace tilewright::dsl::while_test
