#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>

#include "graph/functions/attending/paged_attention.h"
#include "graph/functions/attending/row_codes.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/ir/location.h"
#include "graph/ops/attention_operands.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Attributes;
using graph::Op;

namespace {

// `scales`: of k and v, or none. `page_table`: where they are pages.
Tensor attended(const TensorOperand& q, const Tensor& k, const Tensor& v,
                std::initializer_list<Tensor> scales, const AttentionOptions& options,
                const Tensor& page_table = {}) {
  for (const Tensor* rows : {&k, &v})
    require(rows->defined(), "[attention] ", rows == &k ? "k" : "v", " is undefined (at ",
            At{q.where}, "); assign a tensor to it");
  require(!options.position.defined() || options.position.rank() == 1,
          "[attention] the position is ",
          options.position.defined() ? options.position.shape() : Shape(), " (at ", At{q.where},
          "); it must be [1], or [batch] with one for each text");
  std::vector<Tensor> operands = {graph::tensor_of(q, "attention"), k, v};
  if (options.position.defined()) operands.push_back(options.position);
  if (page_table.defined()) operands.push_back(page_table);
  operands.insert(operands.end(), scales);
  Attributes attributes;
  attributes.causal = options.causal;
  // A window of all keys that there may be hides none.
  attributes.window = std::min<std::int64_t>(options.window, std::numeric_limits<int>::max());
  attributes.cap = options.cap;
  const Tensor& queries = operands[0];
  std::int64_t depth = queries.rank() == 0 ? 1 : std::max<std::int64_t>(queries.size(-1), 1);
  attributes.number = options.scale.value_or(1 / std::sqrt(static_cast<double>(depth)));
  bool ends_align = options.alignment == CausalAlignment::bottom_right;
  require(!ends_align || (options.causal && !options.position.defined()),
          "[attention] an alignment at the bottom right was given ",
          options.causal ? "with a position" : "without causal", " (at ", At{q.where},
          "); it says where causal rows stand, as a position does");
  const bool are_heads = queries.rank() == 4 && k.defined() && k.rank() == 4;
  const std::int64_t keys =
      are_heads
          ? graph::keys_of_text(k.shape(), page_table.defined() ? &page_table.shape() : nullptr)
          : 0;
  if (ends_align && are_heads) attributes.start = keys - queries.size(2);
  if (options.mask.defined() && are_heads) {
    const Shape scores = {queries.size(0), queries.size(1), queries.size(2), keys};
    require(broadcast_shapes(options.mask.shape(), scores) == scores, "[attention] the mask is ",
            options.mask.shape(), " (at ", At{q.where}, "); it must broadcast to ", scores,
            ", the batch, heads, rows and keys");
    operands.push_back(graph::broadcast_to(options.mask, scores, "attention", q.where));
  } else if (options.mask.defined())
    operands.push_back(options.mask);
  return graph::apply(Op::attention, operands, attributes, q.where);
}

void require_scales(const TensorOperand& q, const RowCodes& k, const RowCodes& v) {
  for (const Tensor* scales : {&k.scales, &v.scales})
    require(scales->defined() && scales->rank() == 3, "[attention] the scales of ",
            scales == &k.scales ? "k" : "v", " are ",
            scales->defined() ? concat(scales->shape()) : "undefined", " (at ", At{q.where},
            "); they must be [batch, heads, keys], or [pages, heads, rows] of pages, a number for "
            "each row of codes");
}

void require_page_table(const TensorOperand& q, const Tensor& page_table) {
  require(page_table.defined() && page_table.rank() == 2, "[paged_attention] the page table is ",
          page_table.defined() ? concat(page_table.shape()) : "undefined", " (at ", At{q.where},
          "); it must be [batch, pages], the numbers of the pages of each text");
}

AttentionOptions with_cast_mask(const AttentionOptions& options, const graph::AutocastCall& cast) {
  AttentionOptions changed = options;
  changed.mask = cast(options.mask);
  return changed;
}

}  // namespace

Tensor scaled_dot_product_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                                    const AttentionOptions& options) {
  if (const graph::AutocastCall cast("scaled_dot_product_attention", q.where); cast.is_listed())
    return scaled_dot_product_attention(cast(q), cast(k), cast(v), with_cast_mask(options, cast));
  return attended(q, k, v, {}, options);
}

Tensor scaled_dot_product_attention(const TensorOperand& q, const RowCodes& k, const RowCodes& v,
                                    const AttentionOptions& options) {
  if (const graph::AutocastCall cast("scaled_dot_product_attention", q.where); cast.is_listed())
    return scaled_dot_product_attention(cast(q), k, v, with_cast_mask(options, cast));
  require_scales(q, k, v);
  return attended(q, k.codes, v.codes, {k.scales, v.scales}, options);
}

Tensor paged_attention(const TensorOperand& q, const Tensor& k, const Tensor& v,
                       const Tensor& page_table, const AttentionOptions& options) {
  if (const graph::AutocastCall cast("scaled_dot_product_attention", q.where); cast.is_listed())
    return paged_attention(cast(q), cast(k), cast(v), page_table, with_cast_mask(options, cast));
  require_page_table(q, page_table);
  return attended(q, k, v, {}, options, page_table);
}

Tensor paged_attention(const TensorOperand& q, const RowCodes& k, const RowCodes& v,
                       const Tensor& page_table, const AttentionOptions& options) {
  if (const graph::AutocastCall cast("scaled_dot_product_attention", q.where); cast.is_listed())
    return paged_attention(cast(q), k, v, page_table, with_cast_mask(options, cast));
  require_page_table(q, page_table);
  require_scales(q, k, v);
  return attended(q, k.codes, v.codes, {k.scales, v.scales}, options, page_table);
}

}  // namespace tilewright
