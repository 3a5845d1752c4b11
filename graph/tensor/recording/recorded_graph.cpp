#include "graph/tensor/recording/recorded_graph.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "dsl/ir/function.h"
#include "graph/tensor/recording/graph_break.h"

namespace tilewright::graph {

bool RecordedNumber::operator==(const RecordedNumber& other) const {
  return std::bit_cast<std::uint64_t>(number) == std::bit_cast<std::uint64_t>(other.number) &&
         start == other.start;
}

void set_numbers(Graph& graph, const std::vector<RecordedNumber>& numbers) {
  auto number = numbers.begin();
  for (Node& node : graph.nodes) {
    if (node.op != Op::full) continue;
    node.attributes.number = number->number;
    node.attributes.start = number->start;
    ++number;
  }
}

namespace {

const Strides& strides_of(const Graph& graph, std::size_t input) {
  return graph.input_strides[input];
}

// True if the first `count` nodes, `inputs` of them inputs, are the same but for numbers, and so
// many marks.
bool begin_alike(const Graph& a, const Graph& b, std::size_t count, std::size_t inputs,
                 std::size_t marks) {
  if (b.nodes.size() < count || b.marks.size() < marks ||
      !std::equal(a.marks.begin(), a.marks.begin() + static_cast<std::ptrdiff_t>(marks),
                  b.marks.begin()))
    return false;
  for (std::size_t i = 0; i < count; ++i) {
    const Node &x = a.nodes[i], &y = b.nodes[i];
    if (x.op != y.op || x.origin.mark != y.origin.mark || x.operands != y.operands ||
        x.dtype != y.dtype || x.shape != y.shape ||
        (x.op != Op::full && x.attributes != y.attributes))
      return false;
  }
  for (std::size_t i = 0; i < inputs; ++i)
    if (strides_of(a, i) != strides_of(b, i)) return false;
  return true;
}

}  // namespace

void RecordedGraph::follow(std::span<const Graph* const> known) {
  known_ = known;
  followed_ = known_.empty() ? nullptr : known_.front();
}

template <typename Fits>
const Node* RecordedGraph::next(Fits&& fits) {
  if (followed_ == nullptr) return nullptr;
  auto fits_next = [&](const Graph& graph) {
    return graph.nodes.size() > count_ && fits(graph, graph.nodes[count_]);
  };
  if (!fits_next(*followed_)) {
    auto other = std::ranges::find_if(known_, [&](const Graph* graph) {
      return graph != followed_ && fits_next(*graph) &&
             begin_alike(*followed_, *graph, count_, inputs_, marks_);
    });
    if (other == known_.end()) {
      leave();
      return nullptr;
    }
    followed_ = *other;
  }
  return &followed_->nodes[count_++];
}

void RecordedGraph::leave() {
  const Graph& known = *std::exchange(followed_, nullptr);
  own_.nodes.assign(known.nodes.begin(), known.nodes.begin() + static_cast<std::ptrdiff_t>(count_));
  own_.marks.assign(known.marks.begin(), known.marks.begin() + static_cast<std::ptrdiff_t>(marks_));
  auto inputs = static_cast<std::ptrdiff_t>(inputs_);
  own_.inputs.assign(known.inputs.begin(), known.inputs.begin() + inputs);
  own_.input_strides.assign(known.input_strides.begin(), known.input_strides.begin() + inputs);
  set_numbers(own_, numbers_);
}

MarkId RecordedGraph::add_mark(const std::string& name) {
  if (followed_ != nullptr) {
    auto fits = [&](const Graph& graph) {
      return graph.marks.size() > marks_ && graph.marks[marks_] == name;
    };
    if (!fits(*followed_)) {
      auto other = std::ranges::find_if(known_, [&](const Graph* graph) {
        return fits(*graph) && begin_alike(*followed_, *graph, count_, inputs_, marks_);
      });
      if (other == known_.end())
        leave();
      else
        followed_ = *other;
    }
  }
  if (followed_ != nullptr) return static_cast<MarkId>(++marks_);
  own_.marks.push_back(name);
  return static_cast<MarkId>(own_.marks.size());
}

std::uint32_t RecordedGraph::open_mark(const std::string& name) {
  open_marks_.push_back({++opened_, name, add_mark(name)});
  return opened_;
}

void RecordedGraph::close_mark(std::uint32_t number) {
  std::erase_if(open_marks_, [=](const OpenMark& open) { return open.number == number; });
}

MarkId RecordedGraph::innermost_mark() {
  if (open_marks_.empty()) [[likely]]
    return 0;
  OpenMark& innermost = open_marks_.back();
  if (innermost.id == 0) innermost.id = add_mark(innermost.name);
  return innermost.id;
}

void RecordedGraph::clear() {
  RecordedGraph empty;
  empty.opened_ = opened_;
  for (OpenMark& open : open_marks_)
    empty.open_marks_.push_back({open.number, std::move(open.name), 0});
  *this = std::move(empty);
}

NodeId RecordedGraph::input(DType dtype, const Shape& shape, const Strides& strides) {
  const bool is_plain = strides.empty() || is_row_major(shape, strides);
  const Node* known = next([&](const Graph& graph, const Node& node) {
    if (node.op != Op::input || node.dtype != dtype || node.shape != shape) return false;
    // A graph that began otherwise may have fewer inputs.
    if (inputs_ >= graph.input_strides.size()) return false;
    const Strides& there = strides_of(graph, inputs_);
    return is_plain ? there.empty() : there == strides;
  });
  if (known == nullptr) {
    GraphBuilder builder(own_);
    builder.set_location({});  // the user has no line for it
    return builder.input(dtype, shape, strides);
  }
  ++inputs_;
  return static_cast<NodeId>(count_ - 1);
}

// The number of a node that GraphBuilder::full makes.
static RecordedNumber number_of(const ir::Scalar& value) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;  // as a double, and those between
  if (is_floating(value.dtype) || (value.integer <= exact && value.integer >= -exact))
    return {value.as_double(), 0};
  Graph one;
  GraphBuilder(one).full({}, value);
  return RecordedNumber::of(one.nodes[0]);
}

NodeId RecordedGraph::full(const Shape& shape, const ir::Scalar& value,
                           std::source_location where) {
  const Node* known = next([&](const Graph&, const Node& node) {
    return node.op == Op::full && node.dtype == value.dtype && node.shape == shape;
  });
  NodeId made = static_cast<NodeId>(count_ - 1);
  if (known == nullptr) {
    GraphBuilder builder(own_);
    builder.set_location(where);
    made = builder.full(shape, value);  // or an Error, which leaves nothing recorded
  }
  numbers_.push_back(number_of(value));
  return made;
}

NodeId RecordedGraph::append(Op op, std::span<const NodeId> operands, Attributes attributes,
                             std::optional<DType> dtype, std::source_location where) {
  const bool is_number = op == Op::full;
  const RecordedNumber number{attributes.number, attributes.start};
  const MarkId mark = innermost_mark();
  const Node* known = next([&](const Graph&, const Node& node) {
    return node.op == op && node.origin.mark == mark && (!dtype || node.dtype == *dtype) &&
           std::ranges::equal(node.operands, operands) &&
           (is_number ? node.shape == attributes.sizes : node.attributes == attributes);
  });
  if (known == nullptr) {
    GraphBuilder builder(own_);
    builder.set_location(where);
    builder.set_mark(mark);
    std::vector<NodeId> ids(operands.begin(), operands.end());
    NodeId made = dtype ? builder.append(op, std::move(ids), std::move(attributes), *dtype)
                        : builder.append(op, std::move(ids), std::move(attributes));
    if (is_number) numbers_.push_back(number);
    RecorderOf::note(made);
    return made;
  }
  if (is_number) numbers_.push_back(number);
  return static_cast<NodeId>(count_ - 1);
}

std::vector<NodeId> RecordedGraph::results_of(NodeId id, std::source_location where) {
  std::vector<NodeId> results = {id};
  const std::size_t others = node(id).others.size();
  for (std::size_t i = 1; i <= others; ++i) {
    Attributes attributes;
    attributes.index = static_cast<std::int64_t>(i);
    results.push_back(append(Op::result, {{id}}, std::move(attributes), std::nullopt, where));
  }
  return results;
}

const Graph* RecordedGraph::known() const {
  auto is_whole = [this](const Graph& graph) {
    return graph.nodes.size() == count_ && graph.marks.size() == marks_;
  };
  if (followed_ == nullptr || is_whole(*followed_)) return followed_;
  auto found = std::ranges::find_if(known_, [&](const Graph* graph) {
    return is_whole(*graph) && begin_alike(*followed_, *graph, count_, inputs_, marks_);
  });
  return found == known_.end() ? nullptr : *found;
}

Graph RecordedGraph::take() {
  if (followed_ != nullptr) leave();
  return std::move(own_);
}

}  // namespace tilewright::graph
