// Elements by their rank: the foremost, the k-th and the middle, against a sorted row.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "dsl/launch/device.h"
#include "graph/compile/compile.h"
#include "graph/functions/ordering/sort.h"
#include "tests/graph/sorted_rows.h"
#include "tests/tensors.h"

namespace tilewright::foremost_test {
namespace {

using namespace testing_sorting;

TEST(Sort, FindsTheForemost) {
  for (std::int64_t size : {50, 130, 1500})
    for (std::int64_t count : {std::int64_t{1}, std::int64_t{13}, size / 9, size})
      for (bool largest : {true, false}) {
        SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(size));
        Tensor x = Tensor::from(mixed(2 * size), {2, size});
        const std::vector<double> elements = doubles(x);
        const Integers all = places_in_order(elements, size, largest);
        Integers wanted(all.begin(), all.begin() + count);
        wanted.insert(wanted.end(), all.begin() + size, all.begin() + size + count);
        for (const auto& [values, places] :
             in_both_ways([&](const Tensor& t) { return topk(t, count, -1, largest); }, x)) {
          ASSERT_EQ(places.to_vector<std::int64_t>(), wanted);
          expect_elements(doubles(values), elements, wanted, size, count);
        }
      }
}

// If only few are wanted, the best are kept in registers, behind a bound of the first elements.
TEST(Sort, FindsAFewForemost) {
  auto expect_foremost = [](const Tensor& x, std::int64_t count, bool largest) {
    const std::int64_t size = x.size(1);
    const std::vector<double> elements = doubles(x);
    const Integers all = places_in_order(elements, size, largest);
    Integers wanted;
    for (std::int64_t row = 0; row < x.size(0); ++row)
      wanted.insert(wanted.end(), all.begin() + row * size, all.begin() + row * size + count);
    auto [values, places] =
        compile([&](const Tensor& t) { return topk(t, count, -1, largest); })(x);
    ASSERT_EQ(places.to_vector<std::int64_t>(), wanted);
    expect_elements(doubles(values), elements, wanted, size, count);
  };
  for (std::int64_t size : {129, 1000, 1088, 2100}) {
    Floats some = mixed(2 * size), ordered(some.size()), few_kinds(some.size());
    std::iota(ordered.begin(), ordered.end(), -100.0F);
    for (std::size_t i = 0; i < some.size(); ++i)
      few_kinds[i] = i % 3 == 0 ? none : static_cast<float>(i % 5 / 4);
    for (const Floats& x : {some, ordered, few_kinds, Floats(some.size(), none)})
      for (std::int64_t count : {1, 8, 9, 31})
        for (bool largest : {true, false}) {
          SCOPED_TRACE(std::to_string(count) + " of " + std::to_string(size));
          const Tensor all = Tensor::from(x, {2, size});
          expect_foremost(all, count, largest);
          if (size == 1000) expect_foremost(all.to(bf16), count, largest);
        }
    Tensor whole = Tensor::from(ordered, {2, size});
    for (DType dtype : {i8, u8, i32, f16}) expect_foremost(whole.to(i32).to(dtype), 8, true);
  }
}

// In the order in which each element is better than those before, all of them join the best.
TEST(Sort, FindsTheForemostOfWhatIsSortedAlready) {
  Integers x(20000);
  std::iota(x.begin(), x.end(), 0);
  Tensor places = topk(Tensor::from(x, {20000}), 300).second;
  Integers wanted(x.rbegin(), x.rbegin() + 300);
  EXPECT_EQ(places.to_vector<std::int64_t>(), wanted);
  Tensor equals = topk(zeros({20000}, i64), 300).second;
  EXPECT_EQ(equals.to_vector<std::int64_t>(), Integers(x.begin(), x.begin() + 300));
  Tensor greatest = topk(full({20000}, INT64_MIN, i64), 300, 0).second;
  EXPECT_EQ(greatest.to_vector<std::int64_t>(), Integers(x.begin(), x.begin() + 300));
}

TEST(Sort, FindsAnElementByItsRank) {
  for (std::int64_t k : {1, 3, 6}) {
    Tensor x = Tensor::from(Floats{5, 1, none, 1, 2, -infinity, 0, 7, 7, 3, 4, 9}, {2, 6});
    for (bool keeps : {false, true})
      for (const auto& [values, places] :
           in_both_ways([&](const Tensor& t) { return kthvalue(t, k, 1, keeps); }, x)) {
        EXPECT_EQ(values.shape(), keeps ? (Shape{2, 1}) : (Shape{2}));
        Integers wanted = argsort(x).slice(1, k - 1, k).to_vector<std::int64_t>();
        EXPECT_EQ(places.to_vector<std::int64_t>(), wanted);
        Floats elements = x.to_vector<float>(), got = values.to_vector<float>();
        for (std::size_t row : {0U, 1U}) {
          float element = elements[row * 6 + static_cast<std::size_t>(wanted[row])];
          EXPECT_TRUE(got[row] == element || (std::isnan(got[row]) && std::isnan(element)));
        }
      }
  }
}

TEST(Sort, FindsTheMiddle) {
  Tensor x = Tensor::from(Floats{5, 1, 4, 2, 8, none, 0, none, none, none, none, none}, {3, 4});
  for (const auto& [values, places] :
       in_both_ways([](const Tensor& t) { return median(t, 1); }, x)) {
    EXPECT_EQ(values.to_vector<float>()[0], 2);
    EXPECT_TRUE(std::isnan(values.to_vector<float>()[1]));
    EXPECT_EQ(places.to_vector<std::int64_t>(), (Integers{3, 1, 0}));
  }
  for (const auto& [values, places] :
       in_both_ways([](const Tensor& t) { return nanmedian(t, 1, true); }, x)) {
    EXPECT_EQ(values.shape(), (Shape{3, 1}));
    EXPECT_EQ(values.to_vector<float>()[0], 2);
    EXPECT_EQ(values.to_vector<float>()[1], 0);
    EXPECT_TRUE(std::isnan(values.to_vector<float>()[2]));
    EXPECT_EQ(places.to_vector<std::int64_t>(), (Integers{3, 2, 0}));
  }
  EXPECT_TRUE(std::isnan(median(x).item<float>()));
  EXPECT_EQ(nanmedian(x).item<float>(), 2);
  EXPECT_EQ(median(Tensor::from(Integers{4, 1, 3, 2}, {2, 2})).item<std::int64_t>(), 2);
  EXPECT_TRUE(std::isnan(median(zeros({0})).item<float>()));
  EXPECT_EQ(nanmedian(Tensor::from(Integers{4, 1, 3}, {3}), 0).second.item<std::int64_t>(), 2);
}

}  // namespace
}  // namespace tilewright::foremost_test
