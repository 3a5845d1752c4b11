#include "graph/functions/reducing/contraction.h"

#include <algorithm>
#include <numeric>

#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

Tensor permute_operand(const Tensor& tensor, const std::vector<int>& axes,
                       std::source_location where) {
  if (std::ranges::is_sorted(axes)) return tensor;
  if (Capture::active() == nullptr) return tensor.permute(axes, where);
  return apply(Op::permute, {tensor}, {.axes = axes}, where);
}

// In the elements of both axes in a row, the diagonal ones are a row and one apart.
Tensor diagonal_operand(const Tensor& tensor, std::source_location where) {
  const std::int64_t rows = tensor.size(-2), columns = tensor.size(-1);
  Shape sizes(tensor.shape().begin(), tensor.shape().end() - 2);
  sizes.push_back(rows * columns);
  const std::int64_t count = std::min(rows, columns);
  const std::int64_t end = count == 0 ? 0 : (count - 1) * (columns + 1) + 1;
  return reshape_operand(tensor, sizes, where).slice(-1, 0, end, columns + 1, where);
}

namespace {

bool has(std::string_view axes, char letter) { return axes.find(letter) != std::string_view::npos; }
std::int64_t size_of(const Named& x, char letter) {
  const std::size_t at = x.axes.find(letter);
  return at == std::string::npos ? 1 : x.tensor.size(static_cast<int>(at));
}
std::int64_t product_of(const Shape& sizes) { return element_count(sizes); }

}  // namespace

Tensor ordered(const Named& x, std::string_view order, std::source_location where) {
  std::vector<int> axes;
  for (char letter : order) axes.push_back(static_cast<int>(x.axes.find(letter)));
  return permute_operand(x.tensor, axes, where);
}

Named summed(const Named& x, std::string_view kept, std::source_location where) {
  std::vector<int> axes;
  std::string left;
  for (std::size_t i = 0; i < x.axes.size(); ++i) {
    if (has(kept, x.axes[i]))
      left += x.axes[i];
    else
      axes.push_back(static_cast<int>(i));
  }
  if (axes.empty()) return x;
  const DType dtype = x.tensor.dtype();
  return {sum({x.tensor, where}, axes).to(dtype, where), left};
}

Named contracted(const Named& a, const Named& b, std::string_view kept, std::string_view operation,
                 std::source_location where) {
  std::string mine, yours, batch, inner;  // letters of a alone, of b alone, of both
  for (char letter : a.axes)
    (has(b.axes, letter) ? has(kept, letter) ? batch : inner : mine) += letter;
  for (char letter : b.axes)
    if (!has(a.axes, letter)) yours += letter;
  // An unwanted axis that only one operand has is summed before.
  auto wanted = [&](const std::string& letters) {
    std::string result;
    for (char letter : letters)
      if (has(kept, letter)) result += letter;
    return result;
  };
  mine = wanted(mine);
  yours = wanted(yours);
  Named x = summed(a, batch + mine + inner, where), y = summed(b, batch + inner + yours, where);
  auto sizes_of = [&](const std::string& letters) {
    Shape sizes;
    for (char letter : letters) {
      const std::int64_t m = size_of(x, letter), n = size_of(y, letter);
      require(m == n || m == 1 || n == 1, "[", operation, "] axis '", std::string(1, letter),
              "' has sizes ", m, " and ", n, " (at ", At{where}, "); they must be equal or 1");
      sizes.push_back(m == 1 ? n : m);
    }
    return sizes;
  };
  const Shape of_batch = sizes_of(batch), of_inner = sizes_of(inner), of_mine = sizes_of(mine),
              of_yours = sizes_of(yours);
  auto table = [&](const Named& t, const std::string& order, const Shape& matrix) {
    Tensor spread = broadcast_to(ordered(t, order, where), sizes_of(order), operation, where);
    return TensorOperand(reshape_operand(spread, matrix, where), where);
  };
  const std::int64_t batches = product_of(of_batch), depth = product_of(of_inner),
                     rows = product_of(of_mine), columns = product_of(of_yours);
  TensorOperand left = table(x, batch + mine + inner, {batches, rows, depth});
  TensorOperand right = table(y, batch + inner + yours, {batches, depth, columns});
  Shape result = of_batch;
  result.insert(result.end(), of_mine.begin(), of_mine.end());
  result.insert(result.end(), of_yours.begin(), of_yours.end());
  // Without a sum it is a product of elements.
  Tensor product = inner.empty() ? left * right : matmul(left, right);
  return {product.reshape(result, where), batch + mine + yours};
}

}  // namespace tilewright::graph
