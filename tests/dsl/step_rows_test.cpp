// In a program that is row invariant up to 16 rows of a product are each summed as one row alone,
// to the bit, whatever way a host multiplies them; and along k as a reduction of a row's products
// with a column.
#include <gtest/gtest.h>

#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "tests/dsl/expect_same.h"
#include "tests/every_device.h"

namespace tilewright::dsl::step_rows_test {
namespace {

struct Product {
  std::int64_t n, k;
  DType dtype = f32;
  bool turned = true;        // the right operand is contiguous along k
  bool is_computed = false;  // the right operand, of f32 along k
};
void PrintTo(const Product& p, std::ostream* out) {
  *out << p.n << "x" << p.k << " of " << p.dtype << (p.turned ? " along k" : "");
}

std::vector<Product> products() {
  std::vector<Product> all;
  for (DType dtype : {f32, bf16})
    for (bool turned : {true, false}) {
      // One column; no whole vectors; narrow and wide.
      for (auto [n, k] :
           {std::pair<std::int64_t, std::int64_t>{1, 96}, {16, 70}, {40, 64}, {130, 72}})
        all.push_back({n, k, dtype, turned});
    }
  // The last is so deep that sums are grouped.
  for (auto [n, k] : {std::pair<std::int64_t, std::int64_t>{5, 96}, {16, 70}, {5, 8 * 1024 + 328}})
    all.push_back({n, k, f32, true, true});
  return all;
}

Desc right_of(const Tile& right, const Product& p) {
  return p.turned ? make_desc(right, {p.k, p.n}, {1, p.k}) : make_desc(right, {p.k, p.n}, {p.n, 1});
}

Tile columns_of(const Tile& right, const Product& p) {
  return load(make_desc(right, {p.n, p.k}, {p.k, 1}), {0, 0}, {p.n, p.k});
}

ir::Function product_of(std::int64_t m, const Product& p) {
  Tracer t("product");
  Tile left = t.pointer_param("left", p.dtype), right = t.pointer_param("right", p.dtype),
       result = t.pointer_param("result", f32);
  Tile b = p.is_computed ? trans(columns_of(right, p) * 3.0F)
                         : load(right_of(right, p), {0, 0}, {p.k, p.n});
  Tile sums = dot(load(make_desc(left, {m, p.k}, {p.k, 1}), {0, 0}, {m, p.k}), b);
  store(make_desc(result, {m, p.n}, {p.n, 1}), {0, 0}, sums);
  ir::Function function = t.finish();
  function.row_invariant = true;
  return function;
}

// The first row of the product, element by element.
ir::Function sums_of(const Product& p) {
  Tracer t("sums");
  Tile left = t.pointer_param("left", p.dtype), right = t.pointer_param("right", p.dtype),
       result = t.pointer_param("result", f32);
  Tile row = load(make_desc(left, {1, p.k}, {p.k, 1}), {0, 0}, {1, p.k});
  store(make_desc(result, {1, p.n}, {p.n, 1}), {0, 0},
        sum(expand_dims(row, 1) * expand_dims(columns_of(right, p) * 3.0F, 0), 2));
  return t.finish();
}

// The result of a program for m rows, which are all the same.
Array result_of(const ir::Function& function, std::int64_t m, const Product& p,
                const Target& target) {
  auto numbers = [&](std::int64_t count, unsigned seed) {
    const auto elements = static_cast<std::size_t>(count);
    return p.dtype == bf16 ? random_pairs(elements / 2, seed) : random_array(elements, seed);
  };
  const Array row = numbers(p.k, 3);
  Array left;
  for (std::int64_t i = 0; i < m; ++i) left.insert(left.end(), row.begin(), row.end());
  const auto artifact = compiled(function, target);
  return arrays_after({left, numbers(p.k * p.n, 5), Array(static_cast<std::size_t>(m * p.n), NAN)},
                      [&](std::vector<Argument>& a) { run_all(*artifact, {}, a); })[2];
}

class StepRows : public testing::TestWithParam<Product> {};
INSTANTIATE_TEST_SUITE_P(Products, StepRows, testing::ValuesIn(products()));

TEST_P(StepRows, AreSummedAsOneRowAlone) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  const Product& p = GetParam();
  for (const Target& target : tested_targets()) {
    const Array alone = result_of(product_of(1, p), 1, p, target);
    for (std::int64_t m : {2, 4, 7, 16}) {
      const Array together = result_of(product_of(m, p), m, p, target);
      for (std::size_t i = 0; i < together.size(); ++i)
        ASSERT_EQ(together[i], alone[i % alone.size()])
            << m << " rows, element " << i << ", " << target.features;
    }
  }
}

TEST(StepRowsText, IsReadAsItIsPrinted) {
  const ir::Function function = product_of(4, {16, 64}), read = ir::parse(ir::print(function));
  EXPECT_TRUE(read.row_invariant);
  EXPECT_EQ(ir::content_hash(read), ir::content_hash(function));
  ir::Function other = function;
  other.row_invariant = false;
  EXPECT_NE(ir::content_hash(other), ir::content_hash(function));
}

TEST(StepRowsAlongK, AreSummedAsAReductionIs) {
  TILEWRIGHT_ON_THE_HOST_ONLY("one order of sums");
  for (const Product& p : products()) {
    if (!p.is_computed) continue;
    for (const Target& target : tested_targets()) {
      const Array sums = result_of(sums_of(p), 1, p, target),
                  product = result_of(product_of(3, p), 3, p, target);
      for (std::size_t i = 0; i < product.size(); ++i)
        ASSERT_EQ(product[i], sums[i % sums.size()])
            << testing::PrintToString(p) << ", element " << i << ", " << target.features;
    }
  }
}

}  // namespace
}  // namespace tilewright::dsl::step_rows_test
