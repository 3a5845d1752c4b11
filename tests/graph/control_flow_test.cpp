// Control flow in graphs: choices, while loops and scans, at once and compiled, against loops in
// C++ and the interpreter.
#include "graph/functions/control/control_flow.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/random/random.h"
#include "graph/run/plan.h"
#include "tests/errors.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::control_flow_test {
namespace {

using Floats = std::vector<float>;

std::vector<Floats> values_of(const Tensors& tensors) {
  std::vector<Floats> values;
  for (const Tensor& tensor : tensors) values.push_back(tensor.to(f32).to_vector<float>());
  return values;
}
void expect_near(const std::vector<Floats>& got, const std::vector<Floats>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].size(), wanted[i].size()) << i;
    for (std::size_t k = 0; k < got[i].size(); ++k)
      EXPECT_NEAR(got[i][k], wanted[i][k], 1e-5 * (1 + std::abs(wanted[i][k]))) << i << ", " << k;
  }
}
// At once, compiled, compiled and recorded: three calls each.
using Function = std::function<Tensors(const Tensors&)>;
void expect_alike(const Function& function, const Tensors& inputs) {
  const std::vector<Floats> wanted = values_of(function(inputs));
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(function, {.mode = mode});
    for (int call = 0; call < 3; ++call) expect_near(values_of(fast(inputs)), wanted);
  }
}
Tensor random(const Shape& shape, std::uint64_t seed) {
  return randn(shape, f32, Generator(seed)) * 0.5;
}

struct Cell {
  Tensor w, u;
  Turn operator()(const Tensors& state, const Tensors& x) const {
    Tensor h = tanh(matmul(x[0], w) + matmul(state[0], u));
    return {{h, state[1] + 1}, {h * 2.0, sum(h, {0})}};
  }
};

TEST(ControlFlow, AScanIsItsTurnsOneAfterTheOther) {
  Cell cell{random({5, 16}, 1), random({16, 16}, 2)};
  Tensor h = random({3, 16}, 3), xs = random({7, 3, 5}, 4), count = zeros({}, i64).clone();
  for (bool reverse : {false, true})
    expect_alike(
        [&](const Tensors& t) {
          auto [last, all] = scan(cell, {t[0], t[1]}, {t[2]}, {.reverse = reverse});
          return Tensors{last[0], last[1], all[0], all[1]};
        },
        {h, count, xs});
}

TEST(ControlFlow, AScanReadsValuesOfTheFunctionAroundAndViews) {
  Tensor xs = random({4, 9, 6}, 5), h = random({6}, 6), scale = random({6}, 7);
  expect_alike(
      [&](const Tensors& t) {
        Tensor factor = exp(t[2] * 0.5);  // computed once, used in each turn
        auto step = [&](const Tensors& state, const Tensors& x) -> Turn {
          Tensor next = state[0] * factor + x[0].slice(0, 1, 2).reshape({6}) * scale;
          return {{next}, {next - x[1].reshape({6})}};
        };
        // The sliced axis is not the first in memory, and one is sliced to what is not aligned.
        auto [last, all] = scan(step, {t[1]}, {t[0].transpose(0, 1), t[0].select(0, 2)});
        return Tensors{last[0] + 1, all[0].transpose(0, 1).contiguous()};
      },
      {xs, h, random({6}, 8)});
}

TEST(ControlFlow, AScanOverNothingButTurnsCounts) {
  expect_alike(
      [](const Tensors& t) {
        auto step = [](const Tensors& state, const Tensors&) -> Turn {
          return {{state[0] * 2.0}, {state[0]}};
        };
        auto [last, all] = scan(step, {t[0]}, {}, {.turns = 5});
        return Tensors{last[0], all[0]};
      },
      {random({2}, 9)});
}

TEST(ControlFlow, AWhileLoopRunsAsLongAsItsConditionHolds) {
  auto halved = [](const Tensors& t) {
    auto condition = [](const Tensors& s) { return amax(abs(s[0])) > 0.01; };
    auto body = [](const Tensors& s) { return Tensors{s[0] * 0.5, s[1] + 1}; };
    return while_loop(condition, body, {t[0], zeros({1}, i64)});
  };
  expect_alike(halved, {random({37}, 10)});
  EXPECT_EQ(values_of(compile(Function(halved))({zeros({37}).clone()}))[1], Floats{0});
  EXPECT_EQ(values_of(compile(Function(halved))({full({37}, 1, f32).clone()}))[1], Floats{7});
}

TEST(ControlFlow, AChoiceRunsOneOfTwo) {
  Tensor weight = random({8, 8}, 11), bias = random({8}, 12);
  auto function = [&](const Tensors& t) {
    return cond(
        sum(t[0]) > 0.0,
        [&](const Tensors& x) {
          return Tensors{matmul(x[0], weight), x[0]};
        },
        [&](const Tensors& x) {
          return Tensors{x[0] + bias, x[0] * 3.0};
        },
        {t[0]});
  };
  expect_alike(function, {full({4, 8}, 1, f32).clone()});
  expect_alike(function, {full({4, 8}, -1, f32).clone()});
  // One plan for both.
  auto fast = compile(Function(function));
  for (double sign : {1.0, -1.0, 1.0}) {
    Tensor x = full({4, 8}, sign, f32).clone();
    expect_near(values_of(fast({x})), values_of(function({x})));
  }
  EXPECT_EQ(fast.report().size(), 1U);
}

TEST(ControlFlow, LoopsNest) {
  expect_alike(
      [](const Tensors& t) {
        auto inner = [](const Tensors& s, const Tensors& x) -> Turn {
          Tensor next = s[0] + x[0];
          return {{next}, {next * next}};
        };
        auto outer = [&](const Tensors& s, const Tensors& row) -> Turn {
          auto [last, all] = scan(inner, {s[0]}, {row[0]});
          Tensor kept = cond(
              last[0] > 0.0, [](const Tensors& v) { return Tensors{v[0]}; },
              [](const Tensors& v) { return Tensors{v[0] * -1.0}; }, last)[0];
          return {{kept}, {all[0]}};
        };
        auto [last, all] = scan(outer, {t[0]}, {t[1]});
        return Tensors{last[0], all[0]};
      },
      {zeros({}).clone(), random({3, 5}, 13)});
}

TEST(ControlFlow, ALoopOf512TurnsIsOneLaunch) {
  Cell cell{random({8, 16}, 14), random({16, 16}, 15)};
  Function scanned = [&](const Tensors& t) {
    auto [last, all] = scan(cell, {t[0], t[1]}, {t[2]});
    return Tensors{last[0], last[1], all[0]};
  };
  auto fast = compile(scanned), part = compile(scanned);
  Tensor xs = random({512, 2, 8}, 16), h = zeros({2, 16}).clone(), count = zeros({}, i64).clone();
  Tensors whole = fast({h, count, xs});
  EXPECT_LE(fast.report()[0].launches, 4);
  Tensors state = {h, count};
  Tensors parts;
  for (std::int64_t at = 0; at < 512; at += 64) {
    Tensors next = part({state[0], state[1], xs.slice(0, at, at + 64)});
    parts.push_back(next[2]);
    state = {next[0], next[1]};
  }
  expect_near(values_of(whole), values_of({state[0], state[1], cat(parts, 0)}));
  EXPECT_EQ(whole[1].item<std::int64_t>(), 512);
}

// The programs of a body whose turns see so many numbers each.
std::string programs_of_turns(std::int64_t numbers) {
  static double factor = 0.37;  // a program of its own each time: only what is new is dumped
  factor += 1;
  auto body = [](const Tensors& s, const Tensors& x) { return Turn{{s[0] * factor + x[0]}, {}}; };
  Setting dump("TILEWRIGHT_DUMP", "simplify");
  testing::internal::CaptureStderr();
  compile(Function([&](const Tensors& t) { return scan(body, {t[0]}, {t[1]}).first; }))(
      {zeros({numbers}).clone(), ones({3, numbers}).clone()});
  return testing::internal::GetCapturedStderr();
}

// Aligned memory may be read faster; the second of three rows of 20 bytes is not aligned.
TEST(ControlFlow, BodiesTakeSlicesToBeAlignedWhereTheyAre) {
  const std::string of_20_bytes = programs_of_turns(5), of_64_bytes = programs_of_turns(16);
  expect_contains(of_20_bytes, " align 4");
  expect_contains(of_64_bytes, "func @");
  EXPECT_EQ(of_64_bytes.find(" align "), std::string::npos) << of_64_bytes;
}

TEST(ControlFlow, RandomNumbersAreDrawnBeforeALoop) {
  auto function = [](const Tensor& x) {
    return scan(
               [](const Tensors& s, const Tensors&) {
                 return Turn{{s[0] + rand({2})}, {}};
               },
               {x}, {}, {.turns = 3})
        .first[0];
  };
  const std::string message = error_of([&] { compile(function)(zeros({2})); });
  expect_contains(message, "[scan] a function draws random numbers (at control_flow_test.cpp:");
  expect_contains(message, "draw them before, for all turns");
}

// Running sums and random numbers: what one turn writes the next one reads.
TEST(ControlFlow, AScanThatWritesIsALoopThatWrites) {
  struct State {
    Tensor sum = zeros({3}).clone(), part = zeros({2, 3}).clone();
    Generator generator{5};
  };
  auto scanned = [](State& state, const Tensor& rows, bool reverse) {
    auto turn = [&](const Tensors& carried, const Tensors& row) -> Turn {
      state.sum.copy_from(state.sum * 0.5 + row[0]);
      state.part.select(0, 1).copy_from(state.sum + carried[0]);
      const Tensor noise = dropout(row[0], 0.5, true, state.generator);
      return {{carried[0] + noise}, {state.sum + noise}};
    };
    const ScanOptions options{.reverse = reverse, .writes = true};
    auto [last, all] = scan(turn, {zeros({3})}, {rows}, options);
    return Tensors{last[0], all[0], state.sum + 0.0};
  };
  const Tensor rows = ramp({6, 3});
  for (bool reverse : {false, true})
    for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
      State at_once, compiled;
      auto fast = compile([&](const Tensors& t) { return scanned(compiled, t[0], reverse); },
                          {.mode = mode, .fullgraph = true});
      for (int call = 0; call < 3; ++call) {
        const std::vector<Floats> wanted = values_of(scanned(at_once, rows, reverse));
        expect_near(values_of(fast({rows})), wanted);
        expect_near(values_of({compiled.sum, compiled.part}),
                    values_of({at_once.sum, at_once.part}));
      }
    }
}

// Three tensors that the function writes with what a scan leaves of them: two change places, the
// third goes over from one to the next, and one of them is also read as it was. The loop gives the
// values before each turn, and some as they are after it.
TEST(ControlFlow, AScanThatUpdatesItsOperandsReadsThemAsTheyWere) {
  struct State {
    Tensor a = ramp({2, 8}).clone(), b = (ramp({2, 8}) * -1).clone(), c = ones({2, 8}).clone();
    Tensor counted = zeros({}, i64).clone();
    std::vector<Floats> values() const { return values_of({a, b, c, counted}); }
  };
  auto updated = [](State& s, const Tensor& rows, bool reads_after, bool keeps, bool is_at_once) {
    auto turn = [&](const Tensors& x, const Tensors& row) -> Turn {
      const Tensor next = x[0] * 0.5 + row[0];
      return {{x[1], keeps ? x[0] : next, x[2] + next, x[3] + 1}, {x[0], x[1], next, x[2] + next}};
    };
    const Tensor before = reads_after ? s.b * 3.0 : rows;
    auto [last, all] = scan(turn, {s.a, s.b, s.c, s.counted}, {rows});
    if (is_at_once)  // a turn may give one of the tensors themselves
      for (Tensor& tensor : last) tensor = tensor.clone();
    const Tensor after = reads_after ? s.b - s.a : rows;
    s.a.copy_from(last[0]);
    s.b.copy_from(last[1]);
    s.c.copy_from(last[2]);
    s.counted.copy_from(last[3]);
    return Tensors{all[0], all[1], all[2], all[3], before + after, s.a + s.b, last[2]};
  };
  const Tensor rows = ramp({5, 2, 8}, 0.03F);
  for (bool reads_after : {false, true})
    for (bool keeps : {false, true})
      for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
        State at_once, compiled;
        auto fast = compile(
            [&](const Tensors& t) { return updated(compiled, t[0], reads_after, keeps, false); },
            {.mode = mode, .fullgraph = true});
        for (int call = 0; call < 3; ++call) {
          const auto wanted = values_of(updated(at_once, rows, reads_after, keeps, true));
          expect_near(values_of(fast({rows})), wanted);
          expect_near(compiled.values(), at_once.values());
        }
      }
}

// Sums that begin as a number, a first result and a second one. Others have a place besides.
TEST(ControlFlow, SumsOfAScanHaveOnePlaceInMemory) {
  const std::int64_t size = 1 << 16;
  const Tensor steps = arange(1, 9).to(f32), rows = random({size}, 1);
  auto carried_by = [&](double factor) {
    auto f = [=](const Tensor& each, const Tensor& x) {
      auto turn = [&](const Tensors& sums, const Tensors& step) -> Turn {
        const Tensor first = factor == 1 ? sums[0] : sums[0] * factor,
                     second = factor == 1 ? sums[1] : sums[1] * factor;
        return {{first + x * step[0], step[0] + second}, {sum(x * step[0])}};
      };
      return scan(turn, {zeros({size}, f32), full({size}, 3, f32)}, {each}).first;
    };
    return compile(f, {.fullgraph = true});
  };
  auto sums = carried_by(1), scaled = carried_by(2);
  const MemoryReport of_sums = sums.memory(steps, rows), of_scaled = scaled.memory(steps, rows);
  EXPECT_LT(of_sums.loops, size * 4);
  EXPECT_GE(of_scaled.loops, 2 * size * 4);
  EXPECT_LT(of_sums.intermediate, size * 4);
  for (int call = 0; call < 2; ++call) {
    const Tensors found = sums(steps, rows);
    expect_near(values_of(found), values_of({rows * 36.0, full({size}, 39, f32)}));
  }
  // 3 * 2^8 and the sum of step * 2^(8 - step)
  expect_near(values_of({scaled(steps, rows)[1]}), values_of({full({size}, 768 + 502, f32)}));
}

// On the host the weights of the product stay in a cache; a GPU computes the product apart.
TEST(ControlFlow, ProductsThatAScanAddsUpAreWrittenInPlace) {
  const std::int64_t depth = 100, rows = 500, columns = 700;
  const Tensor x = random({3, depth, rows}, 1), y = random({3, depth, columns}, 2);
  auto f = [=](const Tensor& a, const Tensor& b) {
    auto turn = [](const Tensors& sum, const Tensors& each) -> Turn {
      return {{sum[0] + matmul(each[0].permute({1, 0}), each[1])}, {}};
    };
    return scan(turn, {zeros({rows, columns}, f32)}, {a, b}).first;
  };
  auto sums = compile(f, {.fullgraph = true});
  if (!default_device().is_emulated() && !default_device().is_cuda())
    EXPECT_LT(sums.memory(x, y).loops, rows * columns * 4);
  const Tensor wanted =
      matmul(x.reshape({3 * depth, rows}).permute({1, 0}), y.reshape({3 * depth, columns}));
  const std::vector<float> found = sums(x, y)[0].to_vector<float>(),
                           right = wanted.to_vector<float>();
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], right[i], 1e-3);
}

// As batch norm moves its statistics, and dropout the generator, in one branch and in the other.
TEST(ControlFlow, BranchesWriteAndDraw) {
  Tensor mean = zeros({3}, f32), counts = zeros({4}, f32);
  const Tensor x = random({2, 3, 5}, 1);
  auto f = [&](const Tensor& w) {
    auto normed = [&](const Tensors&) {
      const Tensor scaled = x * w, own = stop_gradient(scaled.mean({0, 2}));
      mean.mul_(0.9).add_(own * 0.1);
      counts[0].add_(2);
      return Tensors{sum(dropout(scaled, 0.5) - own.reshape({1, 3, 1}))};
    };
    auto plain = [&](const Tensors&) {
      counts[0].add_(stop_gradient(w)[0]);
      counts[1].add_(1);
      return Tensors{sum(dropout(w * w, 0.5))};
    };
    return cond(sum(w) > 1.0, normed, plain)[0];
  };
  auto run = [&](const auto& function) {
    std::vector<Floats> all;
    manual_seed(3);
    mean.fill_(0);
    counts.fill_(0);
    for (float w : {2.0F, 0.5F, 0.25F, 3.0F}) {
      const Tensor result = function(full({1}, w, f32));
      for (const Floats& each : values_of({result, mean, counts})) all.push_back(each);
      all.push_back({static_cast<float>(default_generator().offset())});
    }
    return all;
  };
  const std::vector<Floats> wanted = run(f);
  expect_near(run(compile(f, {.fullgraph = true})), wanted);
  auto loss = [&](const Tensor& w) { return value_and_grad(f)(w).first; };
  expect_near(run(loss), wanted);
  expect_near(run(compile(loss, {.fullgraph = true})), wanted);
}

TEST(ControlFlow, BranchesMayNotWriteOverlappingViews) {
  const Tensor x = zeros({4}, f32);
  auto part = [&](std::int64_t begin) {
    return [&x, begin](const Tensors& t) {
      x.slice(0, begin, begin + 3).add_(1);
      return t;
    };
  };
  auto f = compile([&](const Tensor& t) { return cond(sum(t) > 0.0, part(0), part(1), {t})[0]; },
                   {.fullgraph = true});
  expect_contains(error_of([&] { f(full({1}, 1, f32)); }), "overlapping views of one tensor");
}

}  // namespace
}  // namespace tilewright::control_flow_test
