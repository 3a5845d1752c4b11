#include "graph/tensor/checks/index_sites.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "dsl/ir/immediates.h"
#include "graph/custom/definition.h"
#include "graph/passes/known_range.h"
#include "graph/passes/pipeline.h"
#include "graph/passes/rewriter.h"
#include "graph/passes/splice.h"
#include "graph/tensor/index_ranges.h"

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

// The node whose elements a view repeats or arranges otherwise, all of them.
NodeId without_repeats(const Graph& graph, NodeId id) {
  for (Op op = graph.node(id).op; op == Op::expand || op == Op::reshape || op == Op::permute;
       op = graph.node(id).op)
    id = graph.node(id).operands[0];
  return id;
}

std::optional<InputElements> known_elements(const Graph& graph, const IndexCheck& check,
                                            const FindInput& find) {
  std::optional<SeenInput> seen = seen_input(graph, check.index);
  if (!seen) return std::nullopt;
  auto found = find(seen->input, without_repeats(seen->place));
  if (found && !check.offsets.empty()) found->offsets = check.offsets;
  return found;
}

// That no element can lie outside.
bool is_proven(const IndexCheck& check, KnownRanges& ranges) {
  const KnownRange known = ranges.of(check.index);
  return check.range.least <= known.least && known.greatest < check.range.end;
}

constexpr std::int64_t least_integer = std::numeric_limits<std::int64_t>::min(),
                       greatest_integer = std::numeric_limits<std::int64_t>::max();

NodeId number(GraphBuilder& builder, const Shape& shape, DType dtype, std::int64_t value) {
  return builder.full(shape, ir::Scalar::of_integer(dtype, value));
}
NodeId reshaped(GraphBuilder& builder, NodeId id, const Shape& shape) {
  if (builder.node(id).shape == shape) return id;
  Attributes sizes;
  sizes.sizes = shape;
  return builder.append(Op::reshape, {id}, sizes);
}
// Of all elements, in one of i64.
NodeId extremum(GraphBuilder& builder, Op op, NodeId id) {
  id = reshaped(builder, id, {element_count(builder.node(id).shape)});
  if (builder.node(id).dtype != DType::i64) id = builder.append(Op::to, {id}, {}, DType::i64);
  if (builder.node(id).shape[0] == 1) return id;
  Attributes all;
  all.axes = {0};
  return builder.append(op, {id}, all);
}

Extrema extrema_of(Graph& graph, const IndexRange& range, NodeId index) {
  GraphBuilder builder(graph);
  builder.set_location(range.where);
  if (range.ignored) {
    const Shape shape = graph.node(index).shape;
    const DType dtype = graph.node(index).dtype;
    NodeId ignored = number(builder, shape, dtype, *range.ignored);
    NodeId is_ignored = builder.append(Op::eq, {index, ignored});
    NodeId inside = number(builder, shape, dtype, range.least);
    index = builder.append(Op::where, {is_ignored, inside, index});
  }
  return {range, extremum(builder, Op::amin, index), extremum(builder, Op::amax, index)};
}

// A body whose outputs are followed by the least and the greatest element of each of these.
struct PreparedBody {
  Graph graph;
  std::size_t results;  // that it gives anyway
  std::vector<IndexRange> ranges;

  NodeId extremum(std::size_t i) const { return graph.outputs[results + i]; }
  std::size_t extrema() const { return 2 * ranges.size(); }
  void add(const IndexRange& range, NodeId least, NodeId greatest) {
    ranges.push_back(range);
    graph.outputs.push_back(least);
    graph.outputs.push_back(greatest);
  }
};

std::vector<std::source_location> lines_of(const std::vector<IndexCheck>& checks) {
  std::vector<std::source_location> lines;
  for (const IndexCheck& check : checks) lines.push_back(check.range.where);
  return lines;
}
bool contains(const std::vector<std::source_location>& lines, const std::source_location& where) {
  return std::ranges::any_of(lines, [&](const std::source_location& line) {
    return line.line() == where.line() && line.column() == where.column() &&
           std::string_view(line.file_name()) == where.file_name();
  });
}

// Whether the node is a part of a library function, whose own indices are right.
bool is_of_library(const Origin& origin) {
  return origin.custom.is_defined() && origin.custom->result_types != nullptr;
}

// Gives the results of control flow together with the extrema of what its bodies use.
class ControlRewriter {
 public:
  ControlRewriter(const Graph& graph, const FindInput& find, const dsl::Target& target,
                  IndexSites& sites)
      : graph_(graph), find_(find), target_(target), sites_(sites) {}

  // Nothing: no index of a body is to be computed.
  std::optional<NodeId> rewritten(Rewriter& rewriter, NodeId id) {
    const Node& node = graph_.node(id);
    if (node.op == Op::cond) return cond(rewriter, id);
    if (node.op == Op::while_loop) return while_loop(rewriter, id);
    return node.op == Op::scan ? scan(rewriter, id) : std::nullopt;
  }

 private:
  PreparedBody prepared(const Graph& body, const FindInput& find) {
    PreparedBody result{body, body.outputs.size(), {}};
    std::erase_if(result.graph.index_checks,
                  [](const IndexCheck& check) { return !check.offsets.empty(); });
    const std::vector<std::source_location> noted = lines_of(body.index_checks);
    take(sites_of_captured(result.graph, find, true, target_), result);
    result.graph = run_passes(result.graph, {.target = target_});
    take(sites_of_primitive(result.graph, find, true, noted), result);
    if (result.ranges.empty()) result.graph = body;
    return result;
  }
  void take(IndexSites sites, PreparedBody& body) {
    std::ranges::move(sites.known, std::back_inserter(sites_.known));
    for (const auto& [range, least, greatest] : sites.computed) body.add(range, least, greatest);
  }

  NodeId replace(Rewriter& rewriter, NodeId id, GraphBuilder& builder, std::vector<NodeId> operands,
                 Attributes attributes, std::vector<Graph> bodies) {
    attributes.bodies = Bodies(std::move(bodies));
    NodeId made = builder.append(graph_.node(id).op, std::move(operands), std::move(attributes));
    results_ = builder.results_of(made);
    return rewriter.replace(id, results_);
  }

  // The extrema behind a choice: those of the other branch are none.
  std::optional<NodeId> cond(Rewriter& rewriter, NodeId id) {
    const Node& node = graph_.node(id);
    const FindInput nowhere = [](std::size_t, const StridedView&) { return std::nullopt; };
    std::vector<PreparedBody> bodies = {prepared(node.attributes.bodies[0], nowhere),
                                        prepared(node.attributes.bodies[1], nowhere)};
    if (bodies[0].ranges.empty() && bodies[1].ranges.empty()) return std::nullopt;
    std::vector<IndexRange> ranges = bodies[0].ranges;
    ranges.insert(ranges.end(), bodies[1].ranges.begin(), bodies[1].ranges.end());
    for (std::size_t b = 0; b < 2; ++b) {
      GraphBuilder builder(bodies[b].graph);
      std::vector<NodeId> none;
      for (std::size_t i = 0; i < bodies[1 - b].ranges.size(); ++i) {
        none.push_back(number(builder, {1}, DType::i64, greatest_integer));
        none.push_back(number(builder, {1}, DType::i64, least_integer));
      }
      auto& outputs = bodies[b].graph.outputs;
      const auto own = static_cast<std::ptrdiff_t>(bodies[b].results);
      outputs.insert(b == 0 ? outputs.end() : outputs.begin() + own, none.begin(), none.end());
    }
    GraphBuilder builder = rewriter.builder(node);
    NodeId made = replace(rewriter, id, builder, rewriter.operands_of(node), node.attributes,
                          {std::move(bodies[0].graph), std::move(bodies[1].graph)});
    add_computed(builder, bodies[0].results, ranges);
    return made;
  }

  // Elements of what every turn sees, or of the slices of all turns.
  FindInput of_scan(const Node& node) const {
    return [this, &node](std::size_t input,
                         const StridedView& elements) -> std::optional<InputElements> {
      const auto carried = static_cast<std::size_t>(node.attributes.carried),
                 sliced = static_cast<std::size_t>(node.attributes.sliced);
      if (input < carried) return std::nullopt;
      auto seen = seen_input(graph_, node.operands[input]);
      if (!seen) return std::nullopt;
      auto all = find_(seen->input, seen->place);
      if (!all) return std::nullopt;
      const bool is_sliced = input < carried + sliced;
      const std::int64_t turns = is_sliced ? node.attributes.end : 1,
                         slice = element_count(seen->place.shape) / turns;
      std::vector<std::int64_t> offsets;
      for (std::int64_t turn = 0; turn < turns; ++turn)
        for (std::int64_t at : element_offsets(elements)) {
          const std::int64_t number = turn * slice + at;
          offsets.push_back(all->offsets.empty() ? number
                                                 : all->offsets[static_cast<std::size_t>(number)]);
        }
      return InputElements{all->input, offsets, std::ssize(offsets)};
    };
  }

 public:
  // Where nothing is computed: what every turn of a scan uses, and memory that it lies in.
  void add_known_of_scan(NodeId id) {
    Graph body = graph_.node(id).attributes.bodies[0];
    std::erase_if(body.index_checks,
                  [](const IndexCheck& check) { return !check.offsets.empty(); });
    std::ranges::move(sites_of_captured(body, of_scan(graph_.node(id)), false, target_).known,
                      std::back_inserter(sites_.known));
  }

 private:
  // Each turn gives its extrema, behind what it gives anyway.
  std::optional<NodeId> scan(Rewriter& rewriter, NodeId id) {
    const Node& node = graph_.node(id);
    PreparedBody body = prepared(node.attributes.bodies[0], of_scan(node));
    if (body.ranges.empty()) return std::nullopt;
    GraphBuilder builder = rewriter.builder(node);
    NodeId made = replace(rewriter, id, builder, rewriter.operands_of(node), node.attributes,
                          {std::move(body.graph)});
    add_computed(builder, body.results, body.ranges);
    return made;
  }

  // Turns carry the extrema so far. A condition sees the state before the first turn, which the
  // graph around computes, and that behind each, which the body does.
  std::optional<NodeId> while_loop(Rewriter& rewriter, NodeId id) {
    const Node& node = graph_.node(id);
    const FindInput nowhere = [](std::size_t, const StridedView&) { return std::nullopt; };
    const PreparedBody condition = prepared(node.attributes.bodies[0], nowhere);
    PreparedBody body = prepared(node.attributes.bodies[1], nowhere);
    if (condition.ranges.empty() && body.ranges.empty()) return std::nullopt;
    GraphBuilder builder = rewriter.builder(node);
    std::vector<NodeId> operands = rewriter.operands_of(node);
    if (!condition.ranges.empty()) {
      add_spliced(builder, condition, operands, sites_.computed);
      std::vector<NodeId> next = body.graph.inputs;
      std::copy_n(body.graph.outputs.begin(), body.results, next.begin());
      GraphBuilder within(body.graph);
      std::vector<Extrema> behind;
      add_spliced(within, condition, next, behind);
      for (const auto& [range, least, greatest] : behind) body.add(range, least, greatest);
    }
    const std::size_t carried = body.results;
    Graph test = node.attributes.bodies[0];
    carry_extrema(body, carried);
    add_inputs(test, carried, body.extrema());
    for (std::size_t i = 0; i < body.extrema(); ++i)
      operands.insert(operands.begin() + static_cast<std::ptrdiff_t>(carried + i),
                      number(builder, {1}, DType::i64, none(i)));
    Attributes attributes = node.attributes;
    attributes.carried += static_cast<std::int64_t>(body.extrema());
    NodeId made = replace(rewriter, id, builder, std::move(operands), std::move(attributes),
                          {std::move(test), std::move(body.graph)});
    add_computed(builder, carried, body.ranges);
    return made;
  }

  // What the least and the greatest one are, in turns, where there is no element.
  static std::int64_t none(std::size_t i) { return i % 2 == 0 ? greatest_integer : least_integer; }
  static void add_inputs(Graph& graph, std::size_t at, std::size_t count) {
    GraphBuilder builder(graph);
    for (std::size_t i = 0; i < count; ++i) builder.input(DType::i64, {1});
    std::rotate(graph.inputs.begin() + static_cast<std::ptrdiff_t>(at),
                graph.inputs.end() - static_cast<std::ptrdiff_t>(count), graph.inputs.end());
    graph.input_strides.assign(graph.inputs.size(), {});
  }
  static void carry_extrema(PreparedBody& body, std::size_t carried) {
    add_inputs(body.graph, carried, body.extrema());
    GraphBuilder builder(body.graph);
    for (std::size_t i = 0; i < body.extrema(); ++i) {
      NodeId& output = body.graph.outputs[body.results + i];
      output = builder.append(i % 2 == 0 ? Op::minimum : Op::maximum,
                              {body.graph.inputs[carried + i], output});
    }
  }
  static void add_spliced(GraphBuilder& builder, const PreparedBody& from,
                          const std::vector<NodeId>& inputs, std::vector<Extrema>& to) {
    const std::vector<NodeId> ids = splice(from.graph, builder, inputs);
    for (std::size_t i = 0; i < from.ranges.size(); ++i)
      to.push_back({from.ranges[i], ids[from.extremum(2 * i)], ids[from.extremum(2 * i + 1)]});
  }
  // The results from `first` on are extrema, perhaps of several turns.
  void add_computed(GraphBuilder& builder, std::size_t first,
                    const std::vector<IndexRange>& ranges) {
    for (std::size_t i = 0; i < ranges.size(); ++i)
      sites_.computed.push_back({ranges[i], extremum(builder, Op::amin, results_[first + 2 * i]),
                                 extremum(builder, Op::amax, results_[first + 2 * i + 1])});
  }

  const Graph& graph_;
  const FindInput& find_;
  const dsl::Target& target_;
  IndexSites& sites_;
  std::vector<NodeId> results_;  // of the node that was made last
};

bool has_control_flow(const Graph& graph) {
  return std::ranges::any_of(graph.nodes,
                             [](const Node& node) { return info(node.op).kind == Kind::control; });
}

// The indices of the bodies. Nodes of `graph` are others afterwards.
void add_sites_of_bodies(Graph& graph, const FindInput& find, bool adds_nodes,
                         const dsl::Target& target, IndexSites& sites) {
  if (!has_control_flow(graph)) return;
  const Graph from = std::move(graph);
  ControlRewriter control(from, find, target, sites);
  if (!adds_nodes) {
    for (NodeId id = 0; id < from.nodes.size(); ++id)
      if (from.node(id).op == Op::scan) control.add_known_of_scan(id);
    graph = std::move(from);
    return;
  }
  Rewriter rewriter(from);
  for (NodeId id = 0; id < from.nodes.size(); ++id) {
    std::optional<NodeId> now = rewriter.replaced_result(from.node(id));
    if (!now) now = control.rewritten(rewriter, id);
    if (now)
      rewriter.replace(id, *now);
    else
      rewriter.copy(id);
  }
  std::vector<IndexCheck> checks = from.index_checks;
  for (IndexCheck& check : checks) check.index = rewriter.at(check.index);
  graph = rewriter.finish();
  graph.index_checks = std::move(checks);
}

}  // namespace

IndexSites sites_of_captured(Graph& graph, const FindInput& find, bool adds_nodes,
                             const dsl::Target& target) {
  IndexSites sites;
  add_sites_of_bodies(graph, find, adds_nodes, target, sites);
  KnownRanges ranges(graph);
  for (const IndexCheck& check : std::exchange(graph.index_checks, {})) {
    if (auto elements = known_elements(graph, check, find))
      sites.known.push_back({check.range, std::move(*elements)});
    else if (adds_nodes && check.offsets.empty() && !is_proven(check, ranges))
      sites.computed.push_back(extrema_of(graph, check.range, check.index));
  }
  return sites;
}

IndexSites sites_of_primitive(Graph& graph, const FindInput& find, bool adds_nodes,
                              const std::vector<std::source_location>& noted) {
  IndexSites sites;
  KnownRanges ranges(graph);
  const auto count = static_cast<NodeId>(graph.nodes.size());
  for (NodeId id = 0; id < count; ++id) {
    const Node node = graph.node(id);
    const Kind kind = info(node.op).kind;
    if (kind != Kind::gather && !updates_rows(kind)) continue;
    if (contains(noted, node.where) || is_of_library(node.origin)) continue;
    if (element_count(graph.node(node.operands[1]).shape) == 0) continue;
    const Shape& table = graph.node(node.operands[0]).shape;
    IndexRange range{std::string(info(node.op).name), IndexRange::Noun::id, 0, table[0],
                     node.where};
    if (kind != Kind::gather) {
      if (kind == Kind::scatter) range.operation += "_";  // as the user's function
      range.noun = IndexRange::Noun::row;
      range.end = table[node.attributes.axes[0]];
    }
    const IndexCheck check{without_repeats(graph, node.operands[1]), std::move(range)};
    if (auto elements = known_elements(graph, check, find))
      sites.known.push_back({check.range, std::move(*elements)});
    else if (adds_nodes && !is_proven(check, ranges))
      sites.computed.push_back(extrema_of(graph, check.range, check.index));
  }
  return sites;
}

}  // namespace tilewright::graph
