// Views of captured values: what is written through one, and what one is after that.
//
// A view in a graph is a value like others, computed from its base. So a write through it makes a
// new value of the base, with the elements of the view replaced, and every view of that base is
// taken anew when it is used next. Which reshapes are views is decided as for concrete tensors: a
// value that is computed lies row-major, an argument as its strides say, and a reshape that strides
// cannot describe is a copy, which has no base.
#include <algorithm>
#include <atomic>
#include <ranges>
#include <utility>
#include <vector>

#include "graph/ir/location.h"
#include "graph/ir/strided_view.h"
#include "graph/tensor/capture.h"

namespace tilewright {

BaseBody::~BaseBody() {
  std::shared_ptr<TensorBody> body = std::move(*this);
  while (body && body.use_count() == 1) {
    std::shared_ptr<TensorBody> next = std::move(body->base);
    body = std::move(next);
  }
}

namespace graph {

static std::atomic<std::uint64_t> writes_to_symbols = 1;

std::uint64_t latest_write() { return writes_to_symbols.load(std::memory_order_relaxed); }
void count_write() { writes_to_symbols.fetch_add(1, std::memory_order_relaxed); }

// `view` is a symbolic body whose base is one too. The node of a view is always that of its
// operation.
const Node& Capture::operation_of(const TensorBody& view) const { return graph_.node(view.node); }

// Makes the place of the view's base that of the view. False if it has none there: a reshape that
// copies, whose elements are its own.
bool Capture::step_into(StridedView& place, const TensorBody& view) const {
  const Node& node = operation_of(view);
  auto viewed = view_of(node.op, node.attributes, place);
  place = viewed ? *viewed : row_major(view.view.shape);
  return viewed.has_value();
}

StridedView Capture::place_of(const TensorBody& body) const {
  std::vector<const TensorBody*> views;  // from it to its outermost base
  const TensorBody* root = &body;
  for (; !root->buffer && root->base; root = root->base.get()) views.push_back(root);
  StridedView place = root->buffer ? root->view : row_major(root->view.shape);
  for (std::size_t i = 0; !root->buffer && i < placeholders_; ++i)
    if (bodies_[i].get() == root && !graph_.strides_of_input(i).empty())
      place.strides = graph_.strides_of_input(i);
  for (; !views.empty(); views.pop_back()) step_into(place, *views.back());
  return place;
}

// The body and the bases that its elements belong to, each a view of the next.
std::vector<std::shared_ptr<TensorBody>> Capture::owners_of(
    const std::shared_ptr<TensorBody>& body) const {
  std::vector<std::shared_ptr<TensorBody>> owners = {body};
  while (!owners.back()->buffer && owners.back()->base) owners.push_back(owners.back()->base);
  StridedView place = place_of(*owners.back());
  std::size_t last = owners.size() - 1;
  for (std::size_t i = last; i-- > 0;)
    if (!step_into(place, *owners[i])) last = i;
  owners.resize(last + 1);
  return owners;
}

// A write to a part of what is spread over an axis has no place among the values of a graph.
bool Capture::is_spread(const TensorBody& view) const {
  for (const TensorBody* body = &view; body->base && !body->buffer; body = body->base.get())
    if (operation_of(*body).op == Op::expand) return true;
  return false;
}

bool Capture::is_row_major(const TensorBody& symbolic) const {
  return tilewright::is_row_major(symbolic.view.shape, place_of(symbolic).strides);
}

// True if the values of its bases are all this capture's.
bool Capture::follows_its_base(const TensorBody& view) const {
  for (const TensorBody* body = &view; body != nullptr; body = body->base.get())
    if (body->buffer || body->capture != segment_serial_) return false;
  return true;
}

// Outside of a capture, `view` raises an Error where a reshape would copy. Such a view may be read,
// but neither a write to it nor one to its base reaches the other.
void Capture::require_may_copy(const TensorBody& copy, std::string_view operation,
                               std::source_location where) const {
  if (!copy.must_share) return;
  const StridedView base = place_of(*copy.base);
  raise_error(concat("[", operation, "] the view of shape ", copy.view.shape,
                     " of a tensor of shape ", base.shape, " with strides ",
                     to_string(base.strides), " would be a copy (at ", At{where},
                     "); use reshape() and assign its result, or view contiguous()"));
}

// From now on a value of its own.
void Capture::detach(TensorBody& copy) {
  if (!copy.base->buffer) --copy.base->views;
  copy.base = nullptr;
}

void Capture::take_view_anew(TensorBody& last, std::string_view operation,
                             std::source_location where) {
  if (last.compared == latest_write() || !follows_its_base(last)) return;
  std::vector<TensorBody*> views;  // that may be older than their bases
  for (TensorBody* view = &last; view->base && view->compared != latest_write();
       view = view->base.get())
    views.push_back(view);
  if (views.empty()) return;
  StridedView place = place_of(*views.back()->base);
  for (TensorBody* view : std::views::reverse(views)) {
    const TensorBody& base = *view->base;
    const bool is_view = step_into(place, *view);
    view->compared = latest_write();
    if (view->base_version == base.version) continue;
    if (!is_view) {
      require_may_copy(*view, operation, where);
      detach(*view);
      continue;
    }
    const Node node = operation_of(*view);
    view->node = graph_.append(node.op, std::span<const NodeId>(&base.node, 1), node.attributes,
                               std::nullopt, node.where);
    view->base_version = base.version;
    ++view->version;
  }
}

// The value of the base when the view's elements are those of `value`.
NodeId Capture::with_view_replaced(const TensorBody& view, NodeId value,
                                   std::source_location where) {
  const Node node = operation_of(view);
  const TensorBody& base = *view.base;
  auto append = [&](Op op, std::initializer_list<NodeId> operands, Attributes attributes) {
    return graph_.append(op, std::span<const NodeId>(operands.begin(), operands.size()),
                         std::move(attributes), std::nullopt, where);
  };
  if (node.op == Op::reshape) return append(Op::reshape, {value}, {.sizes = base.view.shape});
  if (node.op == Op::permute) {
    Attributes back;
    back.axes.resize(node.attributes.axes.size());
    for (std::size_t i = 0; i < back.axes.size(); ++i)
      back.axes[static_cast<std::size_t>(node.attributes.axes[i])] = static_cast<int>(i);
    return append(Op::permute, {value}, std::move(back));
  }
  check(node.op == Op::slice, "elements of this view are none of their own");
  const Attributes& part = node.attributes;
  const int axis = part.axes[0];
  if (view.view.shape == base.view.shape) return value;
  Attributes numbers;
  numbers.start = part.start;
  numbers.end = part.end;
  numbers.step = part.step;
  const NodeId places = graph_.append(Op::arange, {}, std::move(numbers), DType::i64, where);
  return append(Op::index_copy, {base.node, places, value}, {.axes = {axis}});
}

void Capture::record_write_to_view(const Tensor& target, NodeId node, std::string_view operation,
                                   std::source_location where) {
  const std::shared_ptr<TensorBody>& view = target.body();
  require_own_elements({.dtype = view->dtype, .view = place_of(*view)}, operation, where);
  if (!follows_its_base(*view) || is_spread(*view))
    throw GraphBreak(concat("[", operation, "] the tensor is a view of another one (at ", At{where},
                            "); inside a captured function write to the whole tensor"),
                     {operation, "writes to a view", where});
  const std::vector<std::shared_ptr<TensorBody>> owners = owners_of(view);
  for (std::size_t i = 0; i + 1 < owners.size(); ++i)
    node = with_view_replaced(*owners[i], node, where);
  TensorBody& body = *owners.back();
  if (body.base) {
    require_may_copy(body, operation, where);
    detach(body);
  }
  body.node = node;
  ++body.version;
  count_write();
}

NodeId Capture::differentiate_by(const Tensor& tensor, std::source_location where) {
  const NodeId node = node_of(tensor, "grad", where);
  if (const TensorBody& body = *tensor.body(); body.buffer) {
    find_input(body)->is_differentiated = true;
    has_differentiated_ = true;
  }
  return node;
}
bool Capture::is_differentiated(const TensorBody& concrete) const {
  const Input* input = has_differentiated_ ? find_input(concrete) : nullptr;
  if (input != nullptr && input->is_differentiated) return true;
  return around_ != nullptr && around_->is_differentiated(concrete);
}

}  // namespace graph
}  // namespace tilewright
