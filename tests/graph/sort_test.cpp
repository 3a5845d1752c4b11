// Sorting against std::stable_sort, at once and compiled.
#include "graph/functions/ordering/sort.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "dsl/launch/device.h"
#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/graph/sorted_rows.h"
#include "tests/tensors.h"

namespace tilewright::sort_test {
namespace {

using namespace testing_sorting;

void expect_sorted(const Tensor& x, bool descending) {
  const std::int64_t size = x.shape()[-1];
  const std::vector<double> elements = doubles(x);
  const Integers wanted = places_in_order(elements, size, descending);
  for (const auto& [values, places] :
       in_both_ways([&](const Tensor& t) { return sort(t, -1, descending); }, x)) {
    EXPECT_EQ(values.dtype(), x.dtype());
    EXPECT_EQ(places.shape(), x.shape());
    ASSERT_EQ(places.to_vector<std::int64_t>(), wanted);
    expect_elements(doubles(values), elements, wanted, size, size);
  }
}

TEST(Sort, OrdersRowsOfAnyLength) {
  for (std::int64_t size : {1, 2, 3, 31, 64, 65, 128, 129, 200, 2000}) {
    SCOPED_TRACE(size);
    expect_sorted(Tensor::from(mixed(size), {size}), false);
    if (size < 300) expect_sorted(Tensor::from(mixed(5 * size), {5, size}), true);
  }
}

TEST(Sort, OrdersLongRowsAtOnce) {
  for (bool descending : {false, true}) {
    Tensor x = Tensor::from(mixed(3 * 40000), {3, 40000});
    const Integers wanted = places_in_order(doubles(x), 40000, descending);
    EXPECT_EQ(argsort(x, 1, descending).to_vector<std::int64_t>(), wanted);
    Integers first(wanted.begin() + 40000, wanted.begin() + 40100);
    EXPECT_EQ(topk(x, 100, 1, descending).second.select(0, 1).to_vector<std::int64_t>(), first);
  }
}

TEST(Sort, OrdersEveryDtype) {
  for (DType dtype : {f16, bf16, f32, f64, DType::boolean, DType::u8, DType::i8, DType::i16, i32,
                      i64, DType::u16, DType::u32, DType::u64}) {
    SCOPED_TRACE(name_of(dtype));
    for (std::int64_t size : {40, 150}) {
      Tensor x = Tensor::from(mixed(3 * size), {3, size});
      Tensor numbers = is_floating(dtype) ? x : where(abs(x) < 1000, x, 7);
      if (!is_floating(dtype) && !is_signed(dtype)) numbers = abs(numbers);
      expect_sorted(numbers.to(dtype), size > 100);
    }
  }
}

TEST(Sort, OrdersIntegersOfAllTheirDigits) {
  Integers x = {5, INT64_MAX, -1, INT64_MIN, 0, INT64_MAX - 1, -1, INT64_MIN + 1};
  for (std::uint64_t more = 0; more < 200; ++more)
    x.push_back(static_cast<std::int64_t>(more * 0x123456789abcdef));
  for (std::size_t size : {std::size_t{8}, x.size()}) {
    Integers part(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(size)), wanted = part;
    std::ranges::stable_sort(wanted);
    Tensor y = sort(Tensor::from(part, {std::ssize(part)})).first;
    EXPECT_EQ(y.to_vector<std::int64_t>(), wanted);
  }
  std::vector<std::uint64_t> large = {UINT64_MAX, 1, UINT64_MAX - 1, 0, 1ULL << 63};
  Tensor places = argsort(Tensor::from(large, {5}));
  EXPECT_EQ(places.to_vector<std::int64_t>(), (Integers{3, 1, 4, 2, 0}));
}

TEST(Sort, KeepsTheOrderOfEquals) {
  Tensor x = Tensor::from(Floats{1, 0, -0.0F, 1, none, 0, -none}, {7});
  EXPECT_EQ(argsort(x).to_vector<std::int64_t>(), (Integers{1, 2, 5, 0, 3, 4, 6}));
  EXPECT_EQ(argsort(x, 0, true).to_vector<std::int64_t>(), (Integers{4, 6, 0, 3, 1, 2, 5}));
}

TEST(Sort, TakesAnyAxisAndAnyView) {
  Tensor x = Tensor::from(mixed(6 * 150 * 4), {6, 150, 4});
  for (int axis : {0, 1, 2, -2}) {
    SCOPED_TRACE(axis);
    const int last = axis < 0 ? axis + 3 : axis;
    Tensor rows = x.transpose(last, 2).contiguous();
    const Integers wanted = argsort(rows).to_vector<std::int64_t>();
    for (const auto& [values, places] :
         in_both_ways([&](const Tensor& t) { return sort(t, axis); }, x)) {
      EXPECT_EQ(values.shape(), x.shape());
      EXPECT_EQ(places.transpose(last, 2).contiguous().to_vector<std::int64_t>(), wanted);
    }
  }
  expect_sorted(x.transpose(0, 1), false);
  expect_sorted(x.slice(1, 3, 140, 2).transpose(1, 2), true);
  expect_sorted(x.select(2, 1).slice(0, 1, 2).expand({3, 150}), false);
}

TEST(Sort, IsOfWhatACompiledFunctionComputes) {
  Tensor x = Tensor::from(mixed(4 * 200), {4, 200});
  auto function = [](const Tensor& t) {
    auto [values, places] = sort(t * 2 + 1, 1, true);
    return std::pair(values - 1, places + 1);
  };
  auto [values, places] = compile(function, {.fullgraph = true})(x);
  auto [values_at_once, places_at_once] = function(x);
  EXPECT_EQ(places.to_vector<std::int64_t>(), places_at_once.to_vector<std::int64_t>());
  EXPECT_EQ(places.select(0, 0).slice(0, 0, 1).to_vector<std::int64_t>()[0],
            places_in_order(doubles(x.select(0, 0)), 200, true)[0] + 1);
}

TEST(Sort, TakesTensorsOfNoElementsAndOfNoAxes) {
  auto [values, places] = sort(zeros({3, 0}));
  EXPECT_EQ(values.shape(), (Shape{3, 0}));
  EXPECT_EQ(places.shape(), (Shape{3, 0}));
  EXPECT_EQ(sort(zeros({0, 3}), 0).second.shape(), (Shape{0, 3}));
  for (const auto& [value, place] :
       in_both_ways([](const Tensor& t) { return sort(t); }, full({}, 3.5))) {
    EXPECT_EQ(value.item<float>(), 3.5F);
    EXPECT_EQ(place.item<std::int64_t>(), 0);
  }
  EXPECT_EQ(topk(full({}, 2), 1, 0).first.item<float>(), 2);
  EXPECT_EQ(median(full({}, 2), -1).first.item<float>(), 2);
  EXPECT_EQ(topk(zeros({2, 5}), 0).second.shape(), (Shape{2, 0}));
}

TEST(Sort, GivesValuesAlongTheFirstAxis) {
  Tensor x = Tensor::from(Floats{3, 1, 2, 5, 0, 4}, {3, 2});
  EXPECT_EQ(msort(x).to_vector<float>(), (Floats{0, 1, 2, 4, 3, 5}));
}

// As many rows as programs: each program has one, and no loop to go through them.
TEST(Sort, OfARowAProgramHasNoLoopOverRows) {
  auto loops = [](std::int64_t rows) {
    CompiledFunction sorted(
        [](const std::vector<Tensor>& x) { return std::vector{sort(x[0]).first}; },
        {.device = Device::cpu()});
    sorted.call({ramp({rows, 100})});
    const std::string text = sorted.dump();
    std::size_t count = 0;
    const std::size_t end = text.find("func @rows_gather");
    for (auto at = text.find("loop "); at < end; at = text.find("loop ", at + 1)) ++count;
    return count;
  };
  EXPECT_EQ(loops(1), 0U);
  EXPECT_EQ(loops(2), 0U);
  EXPECT_EQ(loops(10'000), 1U);
}

TEST(Sort, RefusesWhatItCannotDo) {
  Tensor x = zeros({2, 5});
  expect_contains(error_of([&] { sort(x, 2); }), "[sort] axis 2");
  expect_contains(error_of([&] { topk(x, 6); }), "[topk] k is 6, the axis has 5 elements");
  expect_contains(error_of([&] { topk(full({}, 1), 0); }), "k must be from 1 to as many");
  expect_contains(error_of([&] { kthvalue(x, 0); }), "[kthvalue] k is 0, the axis has 5 elements");
  expect_contains(error_of([&] { median(zeros({2, 0}), 1); }), "is empty");
  expect_contains(error_of([&] { median(zeros({0}, i64)); }),
                  "the median of an empty integer tensor");
  expect_contains(error_of([&] { sort(x.to(DType::f8e4m3)); }), "[argsort] operand 0 is f8e4m3");
  expect_contains(error_of([&] { sort(3); }), "[sort]");
}

}  // namespace
}  // namespace tilewright::sort_test
