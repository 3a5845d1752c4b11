// `print` and `log_callback` in functions that are compiled and that are not: once a call, in
// order, with values as of their place.
#include "graph/functions/log.h"

#include <gtest/gtest.h>

#include <sstream>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/compile/region.h"
#include "tests/errors.h"
#include "tests/graph/log_record.h"
#include "tests/tensors.h"

namespace tilewright::log_test {
namespace {

using namespace testing_log;

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

TEST(Log, EachShapeLogsItsOwn) {
  Record record;
  Compiled f = compile([&](const Tensor& x) {
    if (x.size(0) > 2) record.add(sum(x));
    return x + 1;
  });
  for (std::int64_t rows : {2, 3, 2, 3}) f(ones({rows}));
  EXPECT_EQ(record.values, (std::vector<Values>{{3}, {3}}));
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
