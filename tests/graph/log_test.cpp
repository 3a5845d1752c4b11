// `print` and `log_callback` in functions that are compiled and that are not: once a call, in
// order, with values as of their place.
#include "graph/functions/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/compile/region.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::log_test {
namespace {

using Values = std::vector<float>;

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead, Mode::max_autotune};

// One logged entry.
struct Record {
  std::vector<Values> values;
  void add(const Tensor& tensor) {
    log_callback(tensor, [this](const Tensor& t) { values.push_back(t.to_vector<float>()); });
  }
};

Tensor two(float a, float b) { return Tensor::from(Values{a, b}, {2}); }

TEST(Log, AtOnceOutsideACompiledFunction) {
  Record record;
  Tensor x = two(1, 2);
  record.add(x);
  x.copy_from(two(3, 4));
  EXPECT_EQ(record.values, (std::vector<Values>{{1, 2}}));
  std::ostringstream text;
  print(x, "x", text);
  EXPECT_EQ(text.str(), "x: f32 2\n[3., 4.]\n");
}

TEST(Log, OnceACallAndInOrder) {
  for (Mode mode : modes) {
    Record record;
    std::ostringstream text;
    Compiled f = compile(
        [&](const Tensor& x) {
          record.add(x + 1);
          print(x, "x", text);
          Tensor y = x * 2;
          record.add(y);
          return y;
        },
        {.mode = mode, .fullgraph = true, .verify_capture = 1});
    for (float value : {1.0F, 2.0F}) {
      EXPECT_EQ(f(two(value, 0)).to_vector<float>(), (Values{2 * value, 0}));
      EXPECT_EQ(record.values, (std::vector<Values>{{value + 1, 1}, {2 * value, 0}}));
      EXPECT_EQ(text.str(), value == 1 ? "x: f32 2\n[1., 0.]\n" : "x: f32 2\n[2., 0.]\n");
      record.values.clear();
      text.str("");
    }
  }
}

TEST(Log, ValuesAreThoseOfTheirPlace) {
  for (Mode mode : modes) {
    Tensor state = two(1, 1), weight = two(10, 20);
    Record record;
    Compiled f = compile(
        [&](const Tensor& x) {
          record.add(state);
          record.add(x);
          state.copy_from(state + x);
          record.add(state);
          record.add(state.slice(0, 1, 2));
          state.copy_from(state * 2);
          x.clone();
          Tensor argument = x;
          argument.copy_from(weight);
          record.add(argument);
          record.add(weight);
          return state + 1;
        },
        {.mode = mode, .fullgraph = true});
    Tensor x = two(1, 2);
    EXPECT_EQ(f(x).to_vector<float>(), (Values{5, 7}));
    EXPECT_EQ(record.values,
              (std::vector<Values>{{1, 1}, {1, 2}, {2, 3}, {3}, {10, 20}, {10, 20}}));
    EXPECT_EQ(state.to_vector<float>(), (Values{4, 6}));
    EXPECT_EQ(x.to_vector<float>(), (Values{10, 20}));
  }
}

TEST(Log, RowsThatAreWrittenInPlaceLater) {
  Tensor cache = zeros({2, 2}).clone(), row = Tensor::from(std::vector<std::int64_t>{1}, {1});
  Record record;
  Compiled f = compile([&](const Tensor& x) {
    cache.index_copy_(0, row, x);
    record.add(cache);
    cache.index_copy_(0, row, x * 2);
    return sum(cache);
  });
  f(ramp({1, 2}, 1));
  ASSERT_EQ(record.values.size(), 1U);
  EXPECT_FLOAT_EQ(record.values[0][2], -0.3F);
  EXPECT_FLOAT_EQ(cache.to_vector<float>()[2], -0.6F);
}

// A callback may keep its tensors, even if the next call overwrites the memory of results.
TEST(Log, TensorsMayBeKept) {
  std::vector<Tensor> kept;
  Compiled f = compile(
      [&](const Tensor& x) {
        Tensor y = x * 2;
        log_callback(y, [&kept](const Tensor& t) { kept.push_back(t); });
        return y;
      },
      {.mode = Mode::reduce_overhead});
  Tensor first = f(two(1, 2)).clone();
  f(two(3, 4)).copy_from(two(0, 0));
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[0].to_vector<float>(), (Values{2, 4}));
  EXPECT_EQ(kept[1].to_vector<float>(), (Values{6, 8}));
}

TEST(Log, RepeatLogsEachTime) {
  for (Mode mode : modes) {
    Tensor state = two(0, 1);
    Record record;
    Compiled f = compile(
        [&](const Tensor& x) {
          record.add(state);
          state.copy_from(state + x);
          return state * 1;
        },
        {.mode = mode});
    EXPECT_EQ(f.repeat(3, {two(1, 1)})[0].to_vector<float>(), (Values{3, 4}));
    EXPECT_EQ(record.values, (std::vector<Values>{{0, 1}, {1, 2}, {2, 3}}));
  }
}

// A result of the step before, as an argument of several more.
TEST(Log, RepeatOnAResultOfTheStepBefore) {
  Record record;
  Compiled f = compile(
      [&](const Tensor& x) {
        record.add(x);
        return x + 1;
      },
      {.mode = Mode::reduce_overhead});
  Tensor y = f(two(0, 0));
  EXPECT_EQ(f.repeat(2, {y})[0].to_vector<float>(), (Values{2, 2}));
  EXPECT_EQ(record.values, (std::vector<Values>{{0, 0}, {1, 1}, {1, 1}}));
}

TEST(Log, MeasureCountsAsCalls) {
  Record record;
  Compiled f = compile([&](const Tensor& x) {
    record.add(x);
    return x + 1;
  });
  f.measure({two(1, 2)}, 3);
  EXPECT_EQ(record.values.size(), 3U);
}

// Entries that are held when a segment ends are logged at the end of the call, with their values at
// that point.
TEST(Log, OnceACallWhereTheGraphBreaks) {
  for (Mode mode : modes) {
    Record record;
    auto head = region("head", [&](const Tensor& x) {
      Tensor y = x * 2;
      record.add(y);
      double factor = sum(x).item<float>();
      y.copy_from(y * factor);
      record.add(y);
      return y;
    });
    Compiled f = compile(
        [&](const Tensor& x) {
          record.add(x);
          return head(x) + 1;
        },
        {.mode = mode});
    testing::internal::CaptureStderr();
    for (int call = 0; call < 3; ++call) {
      Tensor y = f(two(1, 2));
      EXPECT_EQ(record.values, (std::vector<Values>{{1, 2}, {2, 4}, {6, 12}}));
      EXPECT_EQ(y.to_vector<float>(), (Values{7, 13}));
      record.values.clear();
    }
    f.repeat(2, {two(1, 2)});
    EXPECT_EQ(record.values.size(), 6U);
    testing::internal::GetCapturedStderr();
  }
}

TEST(Log, OnceACallWithEveryStance) {
  for (Stance stance : {Stance::compile, Stance::force_eager, Stance::eager_on_recompile,
                        Stance::eager_then_compile}) {
    Record record;
    Compiled f = compile([&](const Tensor& x) {
      record.add(x);
      return x + 1;
    });
    StanceScope scope(stance);
    for (int call = 0; call < 3; ++call) f(two(1, 2));
    EXPECT_EQ(record.values.size(), 3U) << name_of(stance);
  }
}

TEST(Log, OnceACallWithEveryBackend) {
  for (Backend backend : {Backend::eager, Backend::aot_eager, Backend::tilewright}) {
    Record record;
    Compiled f = compile(
        [&](const Tensor& x) {
          record.add(x + 1);
          return x * 2;
        },
        {.backend = backend});
    f(two(1, 2));
    f(two(3, 4));
    EXPECT_EQ(record.values, (std::vector<Values>{{2, 3}, {4, 5}})) << name_of(backend);
  }
}

// Assigning to a handle causes the function, and with it the callback, to be captured again.
TEST(Log, CallbacksOfTheLastCapture) {
  Tensor weight = two(1, 1);
  std::vector<std::string> lines;
  int captures = 0;
  Compiled f = compile([&](const Tensor& x) {
    ++captures;
    log_callback(weight, [&lines, captures](const Tensor& t) {
      lines.push_back(std::to_string(captures) + ": " +
                      std::to_string(static_cast<int>(t.to_vector<float>()[0])));
    });
    return x + weight;
  });
  f(two(1, 2));
  f(two(1, 2));
  weight = two(2, 2);
  f(two(1, 2));
  weight.copy_from(two(3, 3));
  f(two(1, 2));
  EXPECT_EQ(lines, (std::vector<std::string>{"1: 1", "1: 1", "2: 2", "2: 3"}));
  EXPECT_TRUE(f.recompilations().empty());
}

TEST(Log, EachShapeLogsItsOwn) {
  Record record;
  Compiled f = compile([&](const Tensor& x) {
    if (x.size(0) > 2) record.add(sum(x));
    return x + 1;
  });
  for (std::int64_t rows : {2, 3, 2, 3}) f(ones({rows}));
  EXPECT_EQ(record.values, (std::vector<Values>{{3}, {3}}));
}

TEST(Log, InsideAnotherCompiledFunction) {
  Record record;
  Compiled inner = compile([&](const Tensor& x) {
    record.add(x);
    return x + 1;
  });
  Compiled outer = compile([&](const Tensor& x) { return inner(inner(x)); });
  outer(two(1, 2));
  EXPECT_EQ(record.values, (std::vector<Values>{{1, 2}, {2, 3}}));
}

TEST(Log, StructuresAndSeveralResults) {
  Record record;
  auto f = compile([&](const std::vector<Tensor>& x, int times) {
    record.add(x[0] * times);
    return std::pair(x[0] + x[1], x[0] - x[1]);
  });
  auto [sums, differences] = f({two(1, 2), two(3, 4)}, 5);
  EXPECT_EQ(sums.to_vector<float>(), (Values{4, 6}));
  EXPECT_EQ(differences.to_vector<float>(), (Values{-2, -2}));
  EXPECT_EQ(record.values, (std::vector<Values>{{5, 10}}));
}

TEST(Log, WithRowChecks) {
  Record record;
  Tensor table = ramp({4, 2});
  Compiled f = compile(
      [&](const Tensor& ids) {
        Tensor rows = embedding(ids + 1, table);
        record.add(rows.to(f32));
        return rows;
      },
      {.index_checks = IndexChecks::all});
  EXPECT_EQ(f(Tensor::from(std::vector<std::int64_t>{2}, {1})).shape(), Shape({1, 2}));
  ASSERT_EQ(record.values.size(), 1U);
  EXPECT_EQ(record.values[0].size(), 2U);
  expect_contains(error_of([&] { f(Tensor::from(std::vector<std::int64_t>{3}, {1})); }),
                  "id 4 is outside");
  EXPECT_EQ(record.values.size(), 1U);
}

TEST(Log, WhatACallbackThrowsReachesTheCaller) {
  for (Mode mode : modes) {
    int before = 0, behind = 0;
    Compiled f = compile(
        [&](const Tensor& x) {
          log_callback(x, [&before](const Tensor&) { ++before; });
          log_callback(sum(x), [](const Tensor& t) {
            require(t.item<float>() >= 0, "[test] the sum is ", t.item<float>());
          });
          log_callback(x, [&behind](const Tensor&) { ++behind; });
          return x * 2;
        },
        {.mode = mode});
    EXPECT_EQ(error_of([&] { f(two(1, -2)); }), "[test] the sum is -1");
    EXPECT_EQ(before, 1);
    EXPECT_EQ(behind, 0);
    EXPECT_EQ(f(two(1, 2)).to_vector<float>(), (Values{2, 4}));
    EXPECT_EQ(before, 2);
    EXPECT_EQ(behind, 1);
  }
}

// It runs outside of the function's lock.
TEST(Log, ACallbackMayCallTheFunctionAndEndIt) {
  std::unique_ptr<Compiled> f;
  std::vector<float> seen;
  auto countdown = [&](const Tensor& x) {
    log_callback(x, [&](const Tensor& t) {
      seen.push_back(t.item<float>());
      if (seen.back() > 0)
        (*f)(t - 1);
      else
        f.reset();
    });
    return x + 1;
  };
  f = std::make_unique<Compiled>(compile(countdown, {.mode = Mode::reduce_overhead}));
  (*f)(full({}, 2));
  EXPECT_EQ(seen, (std::vector<float>{2, 1, 0}));
  EXPECT_EQ(f, nullptr);
}

TEST(Log, FromSeveralThreads) {
  std::atomic<int> calls = 0;
  std::atomic<bool> is_right = true;
  Compiled f = compile(
      [&](const Tensor& x) {
        log_callback(x + 1, [&](const Tensor& t) {
          auto values = t.to_vector<float>();
          if (values[0] != values[1]) is_right = false;
          ++calls;
        });
        return x * 2;
      },
      {.mode = Mode::reduce_overhead});
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&f, i] {
      Tensor x = full({2}, i).clone();
      for (int call = 0; call < 25; ++call) f(x);
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(calls, 100);
  EXPECT_TRUE(is_right);
}

TEST(Log, VerifyCaptureNamesWhatIsLoggedNoMore) {
  bool is_told = true;
  Record record;
  Compiled f = compile(
      [&](const Tensor& x) {
        if (is_told) record.add(x);
        return x + 1;
      },
      {.verify_capture = 1});
  f(two(1, 2));
  is_told = false;
  expect_contains(error_of([&] { f(two(1, 2)); }), "logs 0 tensors and logged 1");
}

TEST(Log, MisuseIsNamed) {
  expect_contains(error_of([] { log_callback(ramp({2}), nullptr); }),
                  "[log_callback] the callback is empty (at log_test.cpp:");
  expect_contains(error_of([] { log_callback(Tensor(), [](const Tensor&) {}); }),
                  "[log_callback] the tensor is undefined (at log_test.cpp:");
  expect_contains(error_of([] { print(Tensor()); }),
                  "[print] the tensor is undefined (at log_test.cpp:");
}

TEST(Log, PrintsToStdout) {
  testing::internal::CaptureStdout();
  print(two(0.5, 2));
  print(two(1, 2).to(i32), "ids");
  compile([](const Tensor& x) {
    print(x);
    return x + 1;
  })(two(1, 2));
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "f32 2\n[0.5000, 2.0000]\nids: i32 2\n[1, 2]\nf32 2\n[1., 2.]\n");
}

}  // namespace
}  // namespace tilewright::log_test
