#include "graph/functions/attending/paged_attention.h"

#include "graph/functions/indexing/gathering.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;

Tensor places_in_pages(const TensorOperand& operand, const Tensor& positions, std::int64_t heads,
                       std::int64_t page_rows) {
  const Tensor& page_table = graph::tensor_of(operand, "places_in_pages");
  require(page_table.rank() == 2 && is_integer(page_table.dtype()) && page_table.size(1) > 0,
          "[places_in_pages] the page table is ", page_table.dtype(), " ", page_table.shape(),
          " (at ", At{operand.where},
          "); it must be integers [batch, pages], the numbers of the pages of each text");
  const std::int64_t batch = page_table.size(0);
  const bool fits =
      positions.defined() && is_integer(positions.dtype()) &&
      (positions.rank() == 1 || (positions.rank() == 2 && positions.size(0) == batch));
  require(fits, "[places_in_pages] positions are ",
          positions.defined() ? concat(positions.dtype(), " ", positions.shape()) : "undefined",
          " (at ", At{operand.where}, "); they must be integers [rows], or [", batch,
          ", rows] for the texts of this page table");
  require(heads > 0 && page_rows > 0, "[places_in_pages] pages of ", page_rows, " rows of ", heads,
          " heads (at ", At{operand.where}, "); both must be above 0");
  const std::int64_t rows = positions.size(-1);
  const Tensor at =
      (positions.rank() == 1 ? positions.unsqueeze(0) : positions).to(i64).expand({batch, rows});
  const Tensor page = floor_divide(at, page_rows), known = clamp(page, 0, page_table.size(1) - 1);
  const Tensor number = where(page == known, gather(page_table.to(i64), 1, known), -1);
  const Tensor head = arange(0, heads).reshape({1, heads, 1});
  const Tensor place =
      (number.unsqueeze(1) * heads + head) * page_rows + (at - page * page_rows).unsqueeze(1);
  return place.reshape({batch * heads * rows});
}

}  // namespace tilewright
