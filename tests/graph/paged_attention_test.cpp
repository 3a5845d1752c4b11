// Attention to keys and values in pages, beside attention to the same rows one after the other.
#include "graph/functions/attending/paged_attention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::paged_attention_test {
namespace {

using ::testing::HasSubstr;

Tensor wave(const Shape& shape, float step) { return sin(ramp(shape, step)); }

struct Sizes {
  std::int64_t batch, heads, groups, rows, page_rows, depth;
};

// Pages 1 to 6 in an order of no pattern; page 0 has NaN, and no row sees it.
constexpr std::int64_t pages = 7, pages_of_text = 3;
Tensor table_of(std::int64_t batch, DType dtype = i64) {
  const std::vector<std::int64_t> lines = {5, 1, 3, 2, 5, 4};
  const std::vector<std::int64_t> own(lines.begin(), lines.begin() + batch * pages_of_text);
  return Tensor::from(own, {batch, pages_of_text}).to(dtype);
}

Tensor in_order(const Tensor& memory, const Tensor& page_table) {
  std::vector<Tensor> texts;
  for (std::int64_t number : page_table.to(i64).to_vector<std::int64_t>())
    texts.push_back(memory.select(0, number));
  std::vector<Tensor> batch;
  for (std::size_t at = 0; at < texts.size(); at += pages_of_text)
    batch.push_back(cat({texts[at], texts[at + 1], texts[at + 2]}, 1).unsqueeze(0));
  return cat(batch, 0);
}

Tensor memory_of(const Sizes& s, float step) {
  Tensor memory = wave({pages, s.groups, s.page_rows, s.depth}, step);
  memory.select(0, 0).copy_from(full({s.groups, s.page_rows, s.depth}, std::nan(""), f32));
  return memory;
}

void expect_equal(const Tensor& found, const Tensor& expected) {
  EXPECT_THAT(found.to_vector<float>(),
              ::testing::Pointwise(::testing::FloatNear(1e-3F), expected.to_vector<float>()));
}

double largest_difference(const Tensor& found, const Tensor& expected) {
  const auto a = found.to(f32).to_vector<float>(), b = expected.to(f32).to_vector<float>();
  double largest = 0, off = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max<double>(largest, std::abs(b[i]));
    off = std::isnan(a[i]) ? INFINITY : std::max<double>(off, std::abs(a[i] - b[i]));
  }
  return off / largest;
}

// One row, rows that share keys in one program, rows in several blocks, pages of one block of keys
// and of several.
const std::vector<Sizes> sizes = {{2, 4, 2, 1, 16, 32},   {1, 4, 1, 1, 128, 80},
                                  {2, 2, 2, 5, 64, 64},   {1, 4, 2, 20, 32, 16},
                                  {1, 2, 1, 70, 128, 64}, {2, 4, 4, 64, 64, 32}};

TEST(PagedAttention, IsThatOfTheRowsInOrder) {
  for (const Sizes& s : sizes)
    for (DType dtype : {f32, f16, bf16}) {
      SCOPED_TRACE(::testing::Message() << dtype << " " << s.rows << " rows of " << s.depth
                                        << ", pages of " << s.page_rows);
      const Tensor q = wave({s.batch, s.heads, s.rows, s.depth}, 0.31F).to(dtype),
                   k = memory_of(s, 0.17F).to(dtype), v = memory_of(s, 0.23F).to(dtype),
                   table = table_of(s.batch, dtype == f32 ? i64 : i32);
      const double most = dtype == f32 ? 3e-6 : dtype == f16 ? 2e-3 : 2e-2;
      const Tensor place = Tensor::from<std::int64_t>(
          s.batch == 1 ? std::vector<std::int64_t>{19} : std::vector<std::int64_t>{19, 2},
          {s.batch});
      const std::int64_t keys = pages_of_text * s.page_rows;
      std::vector<AttentionOptions> all = {{}};
      if (s.rows + 19 <= keys) {
        all.push_back({.causal = true, .position = place});
        all.push_back({.causal = true, .position = place, .window = 9});
      }
      if (s.rows < 20) all.push_back({.mask = wave({1, 1, s.rows, keys}, 0.7F) > 0});
      for (const AttentionOptions& options : all) {
        const Tensor expected = scaled_dot_product_attention(q.to(f32), in_order(k, table).to(f32),
                                                             in_order(v, table).to(f32), options);
        auto paged = compile([&](const Tensor& x, const Tensor& lines) {
          return paged_attention(x, k, v, lines, options);
        });
        EXPECT_LT(largest_difference(paged(q, table), expected), most);
        if (dtype != f32) continue;
        EXPECT_LT(largest_difference(paged_attention(q, k, v, table, options), expected), most);
      }
    }
}

TEST(PagedAttention, TakesCodes) {
  for (const Sizes& s : {sizes[0], sizes[2], sizes[4]})
    for (DType dtype : {f32, f16}) {
      const Tensor q = wave({s.batch, s.heads, s.rows, s.depth}, 0.31F).to(dtype),
                   k = wave({pages, s.groups, s.page_rows, s.depth}, 0.17F),
                   v = wave({pages, s.groups, s.page_rows, s.depth}, 0.23F),
                   table = table_of(s.batch);
      const RowCodes keys = quantize_rows(k, DType::i8), values = quantize_rows(v, DType::i8);
      const Tensor found =
          compile([&](const Tensor& x) { return paged_attention(x, keys, values, table); })(q);
      const Tensor expected = scaled_dot_product_attention(
          q.to(f32), in_order(keys.decoded(f32), table), in_order(values.decoded(f32), table));
      EXPECT_LT(largest_difference(found, expected), dtype == f32 ? 3e-6 : 2e-3) << s.rows;
    }
}

TEST(PagedAttention, ReadsTheNearestPageForANumberOfNone) {
  const Tensor q = wave({1, 2, 1, 16}, 0.31F), k = wave({pages, 2, 16, 16}, 0.17F),
               v = wave({pages, 2, 16, 16}, 0.23F);
  const Tensor wild = Tensor::from<std::int64_t>({-1, 99, 4}, {1, 3}),
               near = Tensor::from<std::int64_t>({0, 6, 4}, {1, 3});
  EXPECT_LT(largest_difference(compile([&] { return paged_attention(q, k, v, wild); })(),
                               paged_attention(q, k, v, near)),
            1e-6);
}

// A page that two texts share, or that one has twice, gets the sum of their gradients.
TEST(PagedAttention, HasTheGradientsOfItsPages) {
  const Tensor q = wave({2, 4, 3, 16}, 0.31F), k = wave({pages, 2, 16, 16}, 0.17F),
               v = wave({pages, 2, 16, 16}, 0.23F), weights = wave({2, 4, 3, 16}, 0.4F),
               table = table_of(2);
  auto paged = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return sum(paged_attention(a, b, c, table) * weights);
  };
  auto ordered = [&](const Tensor& a, const Tensor& b, const Tensor& c) {
    auto rows = [&](const Tensor& memory) {
      return embedding(table, memory.reshape({pages, 2 * 16 * 16}))
          .reshape({2, pages_of_text, 2, 16, 16})
          .permute({0, 2, 1, 3, 4})
          .reshape({2, 2, pages_of_text * 16, 16});
    };
    return sum(scaled_dot_product_attention(a, rows(b), rows(c)) * weights);
  };
  const std::vector<std::size_t> all = {0, 1, 2};
  const auto found = compile([&](const Tensor& a, const Tensor& b, const Tensor& c) {
    return grad(paged, all)(a, b, c);
  })(q, k, v);
  const auto wanted = grad(ordered, all)(q, k, v);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LT(largest_difference(found[i], wanted[i]), 1e-5) << i;
}

TEST(PagedAttention, PlacesOfRowsAreThoseThatItReads) {
  const Tensor table = Tensor::from<std::int64_t>({3, 1, 0, -1}, {2, 2});
  const Tensor each = Tensor::from<std::int64_t>({15, 16, 2, 17}, {2, 2});
  // (page * heads + head) * page rows + row
  EXPECT_EQ(places_in_pages(table, each, 2, 16).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{111, 32, 127, 48, 2, -31, 18, -15}));
  const Tensor both = Tensor::from<std::int64_t>({0}, {1});
  EXPECT_EQ(places_in_pages(table, both, 1, 16).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{48, 0}));
  const Tensor beyond = Tensor::from<std::int64_t>({-1, 32, 31}, {3});
  EXPECT_EQ(places_in_pages(table.slice(0, 0, 1), beyond, 1, 16).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{-1, -16, 31}));

  Tensor memory = zeros({4 * 2 * 16, 8}, f32);
  const Tensor rows = wave({2, 2, 2, 8}, 0.3F) + 2;
  compile([&](const Tensor& positions, const Tensor& x) {
    memory.index_copy_(0, places_in_pages(table, positions, 2, 16), x.reshape({8, 8}));
    return x;
  })(each, rows);
  const Tensor seen = memory.reshape({4, 2, 16, 8});
  expect_equal(seen[{3, 1, 15}], rows[{0, 1, 0}]);
  expect_equal(seen[{1, 0, 0}], rows[{0, 0, 1}]);
  expect_equal(seen[{0, 1, 2}], rows[{1, 1, 0}]);
  expect_equal(memory.sum(), rows.sum() - rows.select(0, 1).slice(1, 1, 2).sum());
}

TEST(PagedAttention, RefusesWhatDoesNotFit) {
  const Tensor q = wave({1, 2, 1, 16}, 0.31F), k = wave({pages, 2, 16, 16}, 0.17F);
  EXPECT_THAT(error_of([&] { paged_attention(q, k, k, Tensor()); }),
              HasSubstr("[paged_attention] the page table is undefined (at "
                        "paged_attention_test.cpp:"));
  EXPECT_THAT(error_of([&] { paged_attention(q, k, k, table_of(2)); }),
              HasSubstr("the page table is 2x3; it must have a line for each of 1 texts"));
  EXPECT_THAT(
      error_of([&] { paged_attention(q, k.slice(2, 0, 12), k.slice(2, 0, 12), table_of(1)); }),
      HasSubstr("the pages are 7x2x12x16; they must be [pages, heads, rows, columns]"));
  EXPECT_THAT(error_of([&] {
                places_in_pages(table_of(2), zeros({3, 1}, i64), 1, 16);
              }),
              HasSubstr("[places_in_pages] positions are i64 3x1 (at paged_attention_test.cpp:"));
}

}  // namespace
}  // namespace tilewright::paged_attention_test
