#include "graph/tensor/row_checks.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

#include "graph/ir/location.h"
#include "graph/tensor/step.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

struct SeenInput {
  std::size_t input;
  StridedView place;  // from the input's first element on
};

// The input that a node shows the elements of, perhaps as other integers.
std::optional<SeenInput> seen_input(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  if (node.op == Op::input) {
    auto i = static_cast<std::size_t>(std::ranges::find(graph.inputs, id) - graph.inputs.begin());
    SeenInput seen{i, row_major(node.shape)};
    if (i < graph.input_strides.size() && !graph.input_strides[i].empty())
      seen.place.strides = graph.input_strides[i];
    return is_integer(node.dtype) ? std::optional(seen) : std::nullopt;
  }
  bool converts = info(node.op).tile_op == ir::Op::cast_ && is_integer(node.dtype);
  if (!converts && info(node.op).kind != Kind::view) return std::nullopt;
  auto seen = seen_input(graph, node.operands[0]);
  if (!seen || converts) return seen;
  auto place = view_of(node.op, node.attributes, seen->place);
  if (!place) return std::nullopt;
  seen->place = *place;
  return seen;
}

// What is repeated counts once.
StridedView without_repeats(StridedView place) {
  for (int axis = 0; axis < place.shape.rank(); ++axis)
    if (place.strides[axis] == 0) place.shape[axis] = 1;
  return place;
}
// Where its elements lie. Empty: one behind the other from 0 on.
std::vector<std::int64_t> offsets_of(const StridedView& place) {
  if (place.offset == 0 && is_row_major(place.shape, place.strides)) return {};
  return element_offsets(place);
}

// The first of `count` numbers that is no row of so many, if there is one.
template <typename T>
std::optional<std::int64_t> outside(const T* numbers, std::span<const std::int64_t> offsets,
                                    std::int64_t count, std::int64_t rows) {
  auto is_outside = [rows](T n) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(n)) >=
           static_cast<std::uint64_t>(rows);
  };
  if (!offsets.empty()) {
    for (std::int64_t at : offsets)
      if (is_outside(numbers[at])) return static_cast<std::int64_t>(numbers[at]);
    return std::nullopt;
  }
  bool any = false;  // by vectors, and one by one only where there is something to find
  for (std::int64_t i = 0; i < count; ++i) any |= is_outside(numbers[i]);
  if (!any) return std::nullopt;
  return static_cast<std::int64_t>(*std::find_if(numbers, numbers + count, is_outside));
}

// The node whose elements a view repeats or arranges otherwise, all of them.
NodeId without_repeats(const Graph& graph, NodeId id) {
  for (Op op = graph.node(id).op; op == Op::expand || op == Op::reshape || op == Op::permute;
       op = graph.node(id).op)
    id = graph.node(id).operands[0];
  return id;
}

NodeId append_extremum(Graph& graph, Op op, NodeId numbers) {
  GraphBuilder builder(graph);
  builder.set_location(graph.node(numbers).where);
  Attributes all;
  all.axes.resize(graph.node(numbers).shape.size());
  std::iota(all.axes.begin(), all.axes.end(), 0);
  return builder.append(op, {numbers}, all);
}

}  // namespace

void require_row(Op op, std::int64_t row, std::int64_t rows, std::source_location where) {
  if (row >= 0 && row < rows) [[likely]]
    return;
  if (info(op).kind == Kind::gather)
    raise_error(concat("[", info(op).name, "] id ", row, " is outside a table of ", rows,
                       " rows (at ", At{where}, "); ids must be in [0, ", rows, ")"));
  const char* in_place = info(op).kind == Kind::scatter ? "_" : "";  // as the user's function
  raise_error(concat("[", info(op).name, in_place, "] row ", row, " is outside an axis of size ",
                     rows, " (at ", At{where}, "); rows must be in [0, ", rows, ")"));
}

namespace {

// Numbers in the host's memory.
void require_rows_at(Op op, const TensorBody& body, std::span<const std::int64_t> offsets,
                     std::int64_t count, std::int64_t rows, std::source_location where) {
  dispatch(body.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>)
      if (auto row = outside(static_cast<const T*>(address_of(body)), offsets, count, rows))
        require_row(op, *row, rows, where);
  });
}

}  // namespace

void require_rows(Op op, const Tensor& numbers, std::int64_t rows, std::source_location where) {
  const Tensor here = numbers.to(Device::cpu(), where);
  if (here.count() == 0) return;
  StepAccess access(here, info(op).name, where);
  const TensorBody& body = *here.body();
  StridedView place = without_repeats(body.view);
  place.offset = 0;  // from its first element
  require_rows_at(op, body, offsets_of(place), element_count(place.shape), rows, where);
}

RowChecks::RowChecks(Graph& graph, IndexChecks wanted, const std::vector<bool>& lies_on_host) {
  if (wanted == IndexChecks::none) return;
  std::map<NodeId, std::size_t> outputs;  // that were added, by the numbers
  const auto count = static_cast<NodeId>(graph.nodes.size());
  const std::size_t own = graph.outputs.size();
  for (NodeId id = 0; id < count; ++id) {
    const Node node = graph.node(id);
    Kind kind = info(node.op).kind;
    if (kind != Kind::gather && !updates_rows(kind)) continue;
    NodeId numbers = without_repeats(graph, node.operands[1]);
    if (element_count(graph.node(node.operands[1]).shape) == 0) continue;
    const Shape& table = graph.node(node.operands[0]).shape;
    Use use{node.op, kind == Kind::gather ? table[0] : table[node.attributes.axes[0]], node.where};
    auto seen = seen_input(graph, numbers);
    if (seen && lies_on_host[seen->input]) {
      const StridedView place = without_repeats(seen->place);
      in_inputs_.push_back({use, seen->input, offsets_of(place), element_count(place.shape)});
    } else if (wanted == IndexChecks::all) {
      auto [found, is_new] = outputs.try_emplace(numbers, graph.outputs.size());
      computed_.push_back({use, found->second});
      if (!is_new) continue;
      graph.outputs.push_back(append_extremum(graph, Op::amin, numbers));
      graph.outputs.push_back(append_extremum(graph, Op::amax, numbers));
    }
  }
  added_ = graph.outputs.size() - own;
}

void RowChecks::before(const std::function<const Tensor&(std::size_t)>& input) const {
  for (const InInput& check : in_inputs_) {
    const auto& [op, rows, where] = check.use;
    require_rows_at(op, *input(check.input).body(), check.offsets, check.count, rows, where);
  }
}

void RowChecks::after(std::vector<Tensor>& outputs) const {
  if (added_ == 0) [[likely]]
    return;
  auto number = [&](std::size_t output) {
    return outputs[output].to(Device::cpu()).to(DType::i64).reshape({}).item<std::int64_t>();
  };
  for (const Computed& check : computed_)
    for (std::size_t output : {check.least, check.least + 1})
      require_row(check.use.op, number(output), check.use.rows, check.use.where);
  outputs.resize(outputs.size() - added_);
}

}  // namespace tilewright::graph
