// `log_callback` once a call however the function is executed: in segments, with every stance and
// backend, inside another function, and with checks of rows.
#include <gtest/gtest.h>

#include <vector>

#include "graph/compile/compile.h"
#include "graph/compile/region.h"
#include "tests/errors.h"
#include "tests/graph/log_record.h"
#include "tests/tensors.h"

namespace tilewright::log_execution_test {
namespace {

using namespace testing_log;

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

}  // namespace
}  // namespace tilewright::log_execution_test
