// Expects rows of a function that is batch invariant to have the bits that each has alone.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::step_rows {

// `f` takes x, [16, K], by rows. It is compiled for a row, for some numbers of rows by themselves,
// and for every number up to 16 by programs that share sizes.
template <typename F>
void expect_rows_alike(const F& f, const Tensor& x) {
  const Options options{.batch_invariant = true};
  using Rows = std::vector<std::vector<float>>;
  auto rows_of = [](const Tensor& y) {
    const std::vector<float> all = (y.dtype() == f32 ? y : y.to(f32)).to_vector<float>();
    const auto rows = static_cast<std::size_t>(y.size(0)), width = all.size() / rows;
    Rows result;
    for (std::size_t i = 0; i < rows; ++i)
      result.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i * width),
                          all.begin() + static_cast<std::ptrdiff_t>((i + 1) * width));
    return result;
  };
  Rows alone;
  const Compiled one = compile(f, options);
  for (std::int64_t i = 0; i < 16; ++i)
    alone.push_back(rows_of(one(x.slice(0, i, i + 1).clone()))[0]);
  auto expect = [&](const Rows& found, const char* how) {
    for (std::size_t i = 0; i < found.size(); ++i)
      ASSERT_EQ(std::memcmp(found[i].data(), alone[i].data(), 4 * alone[i].size()), 0)
          << "row " << i << " of " << found.size() << ", " << how;
  };
  for (std::int64_t rows : {3, 16}) {
    const Compiled fixed = compile(f, options);
    expect(rows_of(fixed(x.slice(0, 0, rows).clone())), "by itself");
  }
  const Compiled varying = compile(f, options);
  for (std::int64_t rows = 1; rows <= 16; ++rows)
    expect(rows_of(varying(x.slice(0, 0, rows).clone())), "among other sizes");
}

}  // namespace tilewright::step_rows
