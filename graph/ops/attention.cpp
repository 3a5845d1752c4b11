#include "graph/ops/family.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "graph/ir/evaluate.h"
#include "graph/ops/attention_operands.h"

namespace tilewright::graph {

namespace {

// A graph of one value, of inputs without axes: a function of scores, or its gradient (`which` is
// 1), which has one more input. `operands` are the attention's.
void check_function_of_scores(const Application& a, std::size_t operands, std::size_t which) {
  const Graph& body = a.attributes.bodies[which];
  const std::string_view name =
      which == 0 ? "its function of scores" : "the gradient of its function of scores";
  const DType carried = accumulator(a.dtype_of(0));
  const std::size_t least = ScoreInputs::operands + which;
  a.need(body.inputs.size() >= least && body.outputs.size() == 1, name, " has ", body.inputs.size(),
         " inputs and ", body.outputs.size(), " results; it must have ", least,
         " or more, and one");
  const std::size_t reads = body.inputs.size() - least, first = operands - reads;
  a.need(reads <= operands, name, " reads more operands than there are");
  a.need(which == 0 || reads == AttentionOperands::read_by_scores(a.attributes), name, " reads ",
         reads, " operands; it must read those of the function");
  for (std::size_t i = 0; i < body.inputs.size(); ++i) {
    const Node& input = body.node(body.inputs[i]);
    DType wanted = DType::i32;
    if (i == ScoreInputs::score || i == ScoreInputs::operands + reads)
      wanted = carried;
    else if (i >= ScoreInputs::operands)
      wanted = a.dtype_of(first + i - ScoreInputs::operands);
    a.need(input.shape.empty() && input.dtype == wanted, "input ", i, " of ", name, " is ",
           input.dtype, "[", input.shape, "]; it must be ", wanted, " without axes");
  }
  const Node& result = body.node(body.outputs[0]);
  a.need(result.shape.empty() && result.dtype == carried, name, " gives ", result.dtype, "[",
         result.shape, "]; it must give ", carried, " without axes");
}

AttentionOperands operands_of(const Application& a, std::size_t count) {
  return {a.attributes, count, [&](std::size_t i) { return a.shape(i).size(); }};
}

void check_dtypes(const Application& a, const AttentionOperands& given) {
  const DType q = a.dtype_of(0), k = a.dtype_of(1), v = a.dtype_of(2);
  a.need_floating(0);
  if (!given.are_codes()) {
    a.need(k == q && v == q, "q is ", q, ", k is ", k, ", v is ", v, "; they must have one dtype",
           is_code(k) ? ", or k and v scales" : "");
    return;
  }
  a.need(is_code(k) && k == v, "k is ", k, ", v is ", v,
         " and they have scales; they must have one dtype, i8 or floats of 8 bits");
  const Shape rows{a.shape(1)[0], a.shape(1)[1], a.shape(1)[2]};
  for (std::size_t i : {given.key_scales, given.value_scales})
    a.need(a.dtype_of(i) == accumulator(q) && a.shape(i) == rows, "the scales of ",
           i == given.key_scales ? "k" : "v", " are ", a.dtype_of(i), "[", a.shape(i),
           "]; they must be ", accumulator(q), "[", rows, "], a number for each row");
}

void check_pages(const Application& a, std::size_t page_table) {
  const Shape &q = a.shape(0), &k = a.shape(1), &table = a.shape(page_table);
  a.need(a.dtype_of(page_table) == DType::i32 || a.dtype_of(page_table) == DType::i64,
         "the page table is ", a.dtype_of(page_table), "; it must be i32 or i64");
  a.need(table[0] == q[0] && table[1] > 0, "the page table is ", table,
         "; it must have a line for each of ", q[0], " texts, with the numbers of their pages");
  a.need(k[0] > 0 && k[2] >= least_page_rows && (k[2] & (k[2] - 1)) == 0, "the pages are ", k,
         "; they must be [pages, heads, rows, columns] with a power of two of at least ",
         least_page_rows, " rows in each of one page or more");
}

// The rules that an attention and its gradient share; `operands` of them are the attention's.
void check_attention(const Application& a, std::size_t operands) {
  const Shape &q = a.shape(0), &k = a.shape(1), &v = a.shape(2);
  a.need(q.rank() == 4 && k.rank() == 4 && v.rank() == 4, "q is ", q, ", k is ", k, ", v is ", v,
         "; each must be [batch, heads, rows, columns]");
  a.need(k == v, "k is ", k, ", v is ", v, "; they must have one shape");
  const AttentionOperands given = operands_of(a, operands);
  a.need((given.are_pages() || q[0] == k[0]) && q[3] == k[3], "q is ", q, ", k is ", k,
         "; batch and head size must be equal");
  a.need(k[1] > 0 && q[1] % k[1] == 0, "q has ", q[1], " heads, k has ", k[1],
         "; q's heads must be a multiple of k's");
  a.need(a.attributes.window >= 0, "the window is ", a.attributes.window,
         "; it must be the number of keys that a row sees, or 0 for all");
  a.need(a.attributes.window == 0 || a.attributes.causal,
         "a window was given without causal; it needs causal");
  a.need(a.attributes.cap >= 0 && std::isfinite(a.attributes.cap), "the cap of scores is ",
         a.attributes.cap, "; it must be a finite number above 0, or 0 for none");
  if (given.are_pages()) check_pages(a, given.page_table);
  const Shape scores{q[0], q[1], q[2],
                     keys_of_text(k, given.are_pages() ? &a.shape(given.page_table) : nullptr)};
  for (std::size_t i = 0; i < a.attributes.bodies.size(); ++i)
    check_function_of_scores(a, operands, i);
  check_dtypes(a, given);
  const auto [position, page_table, key_scales, value_scales, mask, of_scores, known] = given;
  if (known != of_scores)
    a.need(false, "operand ", known, " is ", a.dtype_of(known), "[", a.shape(known),
           "]; behind q, k and v come a position [1], a page table [batch, pages], scales of both "
           "[batch, heads, keys] and a mask ",
           scores, ", in this order, each where it is wanted");
  for (std::size_t i = of_scores; i < operands; ++i)
    a.need(a.shape(i) == scores, "operand ", i, ", which the function of scores reads, is ",
           a.shape(i), "; it must be ", scores, ", a number for each score");
  if (position != 0) {
    a.need(a.dtype_of(position) == DType::i32 || a.dtype_of(position) == DType::i64, "position is ",
           a.dtype_of(position), "; it must be i32 or i64");
    a.need(a.shape(position) == Shape{1} || a.shape(position) == Shape{q[0]}, "position is ",
           a.shape(position), "; it must have one element, or one for each of the batch of ", q[0]);
    a.need(a.attributes.causal, "a position was given without causal; it needs causal");
  }
  if (mask != 0) {
    a.need(is_boolean(a.dtype_of(mask)) ||
               (is_floating(a.dtype_of(mask)) && !is_float8(a.dtype_of(mask))),
           "mask is ", a.dtype_of(mask), "; it must be bool, or floats of 16 bits or more");
    a.need(a.shape(mask) == scores, "mask is ", a.shape(mask), "; it must be ", scores,
           ", a number for each score");
  }
}

}  // namespace

namespace rules {

ValueType attention(const Application& a) {
  a.need(a.attributes.bodies.size() <= 1, "has ", a.attributes.bodies.size(),
         " functions of scores; it must be one");
  check_attention(a, a.count());
  ValueType result = a.operands[0];
  const Shape& q = result.shape;
  if (a.attributes.gives_sums) result.others = {{accumulator(result.dtype), {q[0], q[1], q[2]}}};
  return result;
}

ValueType attention_gradient(const Application& a) {
  const std::size_t operands = a.count() - GradientOperands::count;
  if (a.count() >= 6) {
    const AttentionOperands given = operands_of(a, operands);
    a.need(!given.are_codes() && !given.are_pages(), "k and v ",
           given.are_codes() ? "have scales" : "are pages",
           "; the gradient of their attention is that of the formula written out");
  }
  const Bodies& bodies = a.attributes.bodies;
  a.need(bodies.empty() || bodies.size() == 2, "has ", bodies.size(),
         " functions of scores; it must be one and its gradient, or none");
  check_attention(a, operands);
  const ValueType &q = a.operands[0], &k = a.operands[1];
  const GradientOperands given(a.count());
  a.need(a.dtype_of(given.gradient) == q.dtype && a.shape(given.gradient) == q.shape,
         "the gradient is ", a.dtype_of(given.gradient), "[", a.shape(given.gradient),
         "]; it must be as q, ", q.dtype, "[", q.shape, "]");
  const Shape rows{q.shape[0], q.shape[1], q.shape[2]};
  for (std::size_t i : {given.sums, given.products})
    a.need(a.dtype_of(i) == accumulator(q.dtype) && a.shape(i) == rows, "operand ", i, " is ",
           a.dtype_of(i), "[", a.shape(i), "]; it must be ", accumulator(q.dtype), "[", rows,
           "], a number for each row");
  ValueType result{q.dtype, q.shape};
  result.others = {{k.dtype, k.shape}, {k.dtype, k.shape}};
  return result;
}

}  // namespace rules

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The scores [batch, heads, rows, keys] after the function.
HostTensor changed_scores(const Attributes& attributes, const Operands& operands,
                          std::size_t of_scores, HostTensor scores) {
  const Shape sizes = scores.shape;
  const std::int64_t count = scores.count();
  scores.shape = {count};
  std::vector<HostTensor> inputs = {std::move(scores)};
  for (int axis = 0; axis < sizes.rank(); ++axis) inputs.push_back(places_of_scores(sizes, axis));
  for (std::size_t i = of_scores; i < operands.size(); ++i) {
    inputs.push_back(*operands[i]);
    inputs.back().shape = {count};
  }
  return evaluate(for_each_score(attributes.bodies[0], count), inputs, Rounding::double_)
      .outputs[0];
}

// A score under element i of a mask.
double masked(double score, const HostTensor& mask, std::int64_t i) {
  if (!is_boolean(mask.dtype)) return score + mask.number(i);
  return mask.number(i) != 0 ? score : -infinity;
}

}  // namespace

Graph for_each_score(Graph function, std::int64_t count) {
  for (Node& node : function.nodes) {
    node.shape = {count};
    if (node.op == Op::input || node.op == Op::full) node.attributes.sizes = {count};
  }
  return function;
}
HostTensor places_of_scores(const Shape& sizes, int axis) {
  HostTensor places(DType::i32, {element_count(sizes)});
  std::int64_t inner = 1;
  for (int behind = axis + 1; behind < sizes.rank(); ++behind) inner *= sizes[behind];
  for (std::int64_t i = 0; i < places.count(); ++i)
    places.integer[static_cast<std::size_t>(i)] = i / inner % sizes[axis];
  return places;
}

HostTensor in_order_of_table(const HostTensor& pages, const HostTensor& page_table) {
  const std::int64_t batch = page_table.shape[0], count = page_table.shape[1],
                     groups = pages.shape[1];
  Shape shape = pages.shape;
  shape[0] = batch;
  shape[2] *= count;
  HostTensor result(pages.dtype, shape);
  const std::int64_t run =
      element_count(pages.shape) / pages.shape[0] / groups;  // of a page's head
  for (std::int64_t i = 0; i < result.count(); ++i) {
    const std::int64_t at = i / run, head = at / count % groups, text = at / count / groups;
    const std::int64_t page = std::clamp<std::int64_t>(
        page_table.integer[static_cast<std::size_t>(text * count + at % count)], 0,
        pages.shape[0] - 1);
    result.set_number(i, pages.number((page * groups + head) * run + i % run));
  }
  return result;
}

namespace {

HostTensor attention_to_pages(const Node& node, Operands operands, const AttentionOperands& given) {
  const HostTensor& page_table = *operands[given.page_table];
  const std::vector<std::size_t> paged = given.keys_and_values();
  std::vector<HostTensor> ordered;
  for (std::size_t i : paged) ordered.push_back(in_order_of_table(*operands[i], page_table));
  for (std::size_t i = 0; i < paged.size(); ++i) operands[paged[i]] = &ordered[i];
  operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(given.page_table));
  return meaning(The<Op::attention>(), node, operands);
}

}  // namespace

HostTensor meaning(The<Op::attention>, const Node& node, const Operands& operands) {
  const HostTensor &q = *operands[0], &k = *operands[1], &v = *operands[2];
  std::int64_t heads = q.shape[1], groups = k.shape[1], rows = q.shape[2], depth = q.shape[3];
  std::int64_t columns = k.shape[2];
  const AttentionOperands given(node.attributes, operands.size(),
                                [&](std::size_t i) { return operands[i]->shape.size(); });
  if (given.are_pages()) return attention_to_pages(node, operands, given);
  const HostTensor* key_scales = given.are_codes() ? operands[given.key_scales] : nullptr;
  const HostTensor* value_scales = given.are_codes() ? operands[given.value_scales] : nullptr;
  const HostTensor* places = given.position != 0 ? operands[given.position] : nullptr;
  auto position_of = [&](std::int64_t line) {
    if (places == nullptr) return node.attributes.start;
    return places
        ->integer[places->count() == 1 ? 0 : static_cast<std::size_t>(line / rows / heads)];
  };
  const HostTensor* mask = given.mask != 0 ? operands[given.mask] : nullptr;
  // Without keys the result is a product over nothing.
  const double unseen =
      node.attributes.nan_unseen && columns > 0 ? std::numeric_limits<double>::quiet_NaN() : 0.0;
  const std::int64_t lines = q.shape[0] * heads * rows;
  auto first_key = [&](std::int64_t line) {
    const std::int64_t head = line / rows % heads, batch = line / rows / heads;
    return (batch * groups + head / (heads / groups)) * columns * depth;
  };
  HostTensor scores(accumulator(node.dtype), {q.shape[0], heads, rows, columns});
  for (std::int64_t line = 0; line < lines; ++line)
    for (std::int64_t c = 0; c < columns; ++c) {
      double score = 0;
      for (std::int64_t d = 0; d < depth; ++d)
        score += q.number(line * depth + d) * k.number(first_key(line) + c * depth + d);
      if (key_scales != nullptr) score *= key_scales->number(first_key(line) / depth + c);
      score *= node.attributes.number;
      if (const double cap = node.attributes.cap; cap != 0) score = cap * std::tanh(score / cap);
      scores.set_number(line * columns + c, score);
    }
  if (!node.attributes.bodies.empty())
    scores = changed_scores(node.attributes, operands, given.of_scores, std::move(scores));
  HostTensor result(node.dtype, node.shape);
  HostTensor sums(accumulator(node.dtype), {q.shape[0], heads, rows});
  std::vector<double> weights;
  for (std::int64_t line = 0; line < lines; ++line) {
    const std::int64_t row = line % rows, keys = first_key(line), position = position_of(line);
    std::int64_t visible = columns, hidden = 0;
    if (node.attributes.causal) visible = std::clamp<std::int64_t>(row + position + 1, 0, columns);
    if (node.attributes.window != 0)
      hidden = std::clamp<std::int64_t>(row + position + 1 - node.attributes.window, 0, visible);
    weights.assign(static_cast<std::size_t>(visible), 0);
    double highest = -infinity, total = 0;
    for (std::int64_t c = hidden; c < visible; ++c) {
      double& weight = weights[static_cast<std::size_t>(c)];
      weight = scores.number(line * columns + c);
      if (mask != nullptr) weight = masked(weight, *mask, line * columns + c);
      highest = std::fmax(highest, weight);
    }
    for (std::int64_t c = hidden; c < visible; ++c) {
      double& weight = weights[static_cast<std::size_t>(c)];
      // A row may see none of what is left.
      total += weight = weight == -infinity ? 0 : std::exp(weight - highest);
    }
    sums.set_number(line, total == 0 || depth == 0 ? infinity : highest + std::log(total));
    if (value_scales != nullptr)
      for (std::int64_t c = hidden; c < visible; ++c)
        weights[static_cast<std::size_t>(c)] *= value_scales->number(keys / depth + c);
    for (std::int64_t d = 0; d < depth; ++d) {
      double mixed = 0;
      for (std::int64_t c = hidden; c < visible; ++c)
        mixed += weights[static_cast<std::size_t>(c)] * v.number(keys + c * depth + d);
      result.set_number(line * depth + d, total == 0 ? unseen : mixed / total);
    }
  }
  if (node.attributes.gives_sums) result.others = {std::move(sums)};
  return result;
}

}  // namespace tilewright::graph
