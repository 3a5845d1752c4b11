#include "graph/tensor/capture.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "graph/ir/location.h"
#include "graph/ir/shape_rules.h"
#include "graph/tensor/functional.h"

namespace tilewright::graph {
namespace {

thread_local Capture* active_capture = nullptr;
std::atomic<std::uint64_t> last_serial{0};
std::atomic<std::uint64_t> changes_of_guarded_values{0};

// The bytes [first, second) of its buffer that a concrete body may touch.
std::pair<std::int64_t, std::int64_t> extent_of(const TensorBody& body) {
  std::int64_t low = body.view.offset, high = low;
  for (int i = 0; i < body.view.shape.rank(); ++i) {
    if (body.view.shape[i] == 0) return {0, 0};
    std::int64_t reach = (body.view.shape[i] - 1) * body.view.strides[i];
    (reach < 0 ? low : high) += reach;
  }
  std::int64_t size = size_bytes(body.dtype);
  return {low * size, (high + 1) * size};
}
bool overlap(const TensorBody& a, const TensorBody& b) {
  if (a.buffer != b.buffer) return false;
  auto [a_low, a_high] = extent_of(a);
  auto [b_low, b_high] = extent_of(b);
  if (a_low >= b_high || b_low >= a_high) return false;
  // Interleaved slices of one array: exact for what select and slice make.
  std::vector<std::int64_t> x = element_offsets(a.view), y = element_offsets(b.view);
  std::ranges::sort(x);
  return std::ranges::any_of(y, [&](std::int64_t i) { return std::ranges::binary_search(x, i); });
}

}  // namespace

// What to do instead, by what was wanted.
static std::string_view remedy(std::string_view operation) {
  if (operation == "item")
    return "express a choice with where(), or return the tensor and read it outside the compiled "
           "function";
  if (operation == "launch")
    return "a captured function has no memory yet: launch kernels outside the compiled function";
  if (operation == "data" || operation == "const_data")
    return "a captured function has no memory yet: hand addresses to kernels and libraries outside "
           "the compiled function";
  return "return the tensor and read it outside the compiled function";
}

GraphBreak::GraphBreak(const std::string& message, std::string operation_, std::string deed_,
                       std::source_location location)
    : Error(message), operation(std::move(operation_)), deed(std::move(deed_)), where(location) {}

DataReadError::DataReadError(std::string_view operation_, std::source_location location)
    : GraphBreak(concat("[", operation_, "] the value is not known while the function is captured",
                        location.line() > 0 ? concat(" (at ", At{location}, ")") : "", "; ",
                        remedy(operation_)),
                 std::string(operation_), "reads data", location) {}

Capture* Capture::active() { return active_capture; }

bool is_capturing() { return active_capture != nullptr; }
CapturePause::CapturePause() noexcept : paused_(std::exchange(active_capture, nullptr)) {}
CapturePause::~CapturePause() { active_capture = paused_; }
void note_guard(Guard guard) { active_capture->note_guard(std::move(guard)); }
std::uint64_t guarded_changes() {
  return changes_of_guarded_values.load(std::memory_order_relaxed);
}
void add_guarded_change() noexcept { ++changes_of_guarded_values; }

void Capture::note_guard(Guard guard) {
  if (std::ranges::find(guards_, guard.object, &Guard::object) == guards_.end())
    guards_.push_back(std::move(guard));
}

Capture::Capture() : serial_(++last_serial), assignments_(serial_) {
  require(active_capture == nullptr,
          "[compile] a function is being captured on this thread; captures do not nest: call the "
          "inner function uncompiled, or compile the outer one alone");
  active_capture = this;
  ++detail::captures;
}
// Handles that the function assigned get their former tensors back if the capture failed. If there
// is no memory to find them, they stay symbolic, and their next use is an Error.
Capture::~Capture() {
  try {
    assignments_.give_back();
  } catch (const std::bad_alloc&) {
  }
  end();
}

void Capture::end() {
  if (active_capture != this) return;
  active_capture = nullptr;
  --detail::captures;
}

Tensor Capture::symbolic(NodeId node) const {
  auto body = std::make_shared<TensorBody>();
  body->dtype = graph_.node(node).dtype;
  body->view.shape = graph_.node(node).shape;
  body->capture = serial_;
  body->node = node;
  return Tensor(std::move(body));
}

Tensor Capture::placeholder(DType dtype, const Shape& shape, const Strides& strides) {
  check(inputs_.empty(), "a placeholder was made after a tensor was captured");
  Tensor tensor = symbolic(GraphBuilder(graph_).input(dtype, shape, strides));
  placeholders_.push_back(tensor.body());
  return tensor;
}

Capture::Identity Capture::identity_of(const TensorBody& body) {
  return {body.buffer.get(), body.view.offset, body.dtype, body.view.shape, body.view.strides};
}

Capture::Input& Capture::input_of(const Tensor& concrete, std::string_view operation,
                                  std::source_location where) {
  const TensorBody& body = *concrete.body();
  require_current(body.token, operation, where);
  auto [found, is_new] = index_of_.try_emplace(identity_of(body), inputs_.size());
  if (is_new) {
    NodeId node = GraphBuilder(graph_).input(body.dtype, body.view.shape, body.view.strides);
    note_read(body.buffer.get());
    // A copy: the body's own handle may be written to while the plan lives.
    inputs_.push_back({std::make_shared<TensorBody>(body), node, node, {}});
  }
  return inputs_[found->second];
}

void require_usable(const TensorBody& symbolic, std::string_view operation,
                    std::source_location where) {
  const Capture* capture = Capture::active();
  require(capture != nullptr, "[", operation,
          "] the tensor was made while a function was captured, and that is over (at ", At{where},
          "); a captured function must return what is used outside it");
  for (const TensorBody* view = &symbolic; view->base; view = view->base.get())
    require(view->base->version == view->base_version, "[", operation,
            "] the tensor is a view of one that was written in place since (at ", At{where},
            "); take the view after the write");
}

NodeId Capture::node_of(const Tensor& tensor, std::string_view operation,
                        std::source_location where) {
  const TensorBody& body = body_of(tensor, operation, where);
  if (body.buffer) return input_of(tensor, operation, where).newest;
  require_usable(body, operation, where);
  require(body.capture == serial_, "[", operation,
          "] the tensor belongs to another capture, which is over (at ", At{where},
          "); a captured function must not keep tensors for its next run");
  return body.node;
}

MarkId Capture::open_mark(std::string name) {
  graph_.marks.push_back(std::move(name));
  open_marks_.push_back(static_cast<MarkId>(graph_.marks.size()));
  return open_marks_.back();
}

void MarkScope::open(const std::string& name) {
  Capture* capture = Capture::active();
  if (capture == nullptr) return;
  serial_ = capture->serial();
  mark_ = capture->open_mark(name);
}

void MarkScope::close() {
  if (mark_ == 0) return;
  Capture* capture = Capture::active();
  if (capture != nullptr && capture->serial() == serial_) capture->close_mark(mark_);
  mark_ = 0;
}

GraphBuilder Capture::builder(std::source_location where) {
  GraphBuilder builder(graph_);
  builder.set_location(where);
  builder.set_mark(open_marks_.empty() ? 0 : open_marks_.back());
  return builder;
}

Tensor Capture::append(Op op, std::span<const Tensor> operands, Attributes attributes,
                       std::optional<DType> dtype, std::source_location where) {
  std::vector<NodeId> ids;
  for (const Tensor& operand : operands) ids.push_back(node_of(operand, info(op).name, where));
  GraphBuilder builder = this->builder(where);
  NodeId node = dtype ? builder.append(op, std::move(ids), std::move(attributes), *dtype)
                      : builder.append(op, std::move(ids), std::move(attributes));
  Tensor result = symbolic(node);
  if (info(op).kind == Kind::view) {
    result.body()->base = operands[0].body();
    result.body()->base_version = operands[0].body()->version;
  }
  return result;
}

std::vector<Tensor> Capture::append_all(Op op, std::span<const Tensor> operands,
                                        Attributes attributes, std::source_location where) {
  Tensor own = append(op, operands, std::move(attributes), std::nullopt, where);
  GraphBuilder builder = this->builder(where);
  std::vector<Tensor> results;
  for (NodeId id : builder.results_of(own.body()->node)) results.push_back(symbolic(id));
  return results;
}

NodeId Capture::constant(const ir::Scalar& value, const Shape& shape, std::source_location where) {
  return builder(where).full(shape, value);
}

void Capture::write(const Tensor& target, const Tensor& value, std::string_view operation,
                    std::source_location where) {
  NodeId node = node_of(value, operation, where);
  TensorBody& body = *target.body();
  if (body.buffer) {
    require_writable(body, operation, where);
    require_own_elements(body, operation, where);
    Input& input = input_of(target, operation, where);
    input.newest = node;
    input.written = where;
    ++body.version;
    return;
  }
  node_of(target, operation, where);  // it must be usable
  require(!body.base, "[", operation, "] the tensor is a view of another one (at ", At{where},
          "); inside a captured function write to the whole tensor");
  for (std::size_t i = 0; i < placeholders_.size(); ++i)
    if (placeholders_[i].get() == &body && !graph_.input_strides[i].empty())
      require_own_elements(
          {.dtype = body.dtype, .view = {body.view.shape, graph_.input_strides[i], 0}}, operation,
          where);
  body.node = node;
  ++body.version;
}

void Capture::log(const Tensor& tensor, LogCallback callback, std::string_view operation,
                  std::source_location where) {
  logged_.push_back(node_of(tensor, operation, where));
  logs_.push_back(std::move(callback));
}

bool Capture::is_written(const TensorBody& concrete) const {
  auto found = index_of_.find(identity_of(concrete));
  return found != index_of_.end() && inputs_[found->second].newest != inputs_[found->second].node;
}

void Capture::require_no_overlap() const {
  for (const Input& written : inputs_) {
    if (written.newest == written.node) continue;
    for (const Input& other : inputs_)
      require(&other == &written || !overlap(*written.body, *other.body),
              "[compile] the tensor of shape ", written.body->view.shape, " written at ",
              At{written.written}, " shares memory with another of shape ", other.body->view.shape,
              " that the function uses; inside a captured function use one of them only");
  }
}

// The first line at which a tensor is made, or one over its memory used.
std::source_location Capture::use_of(const TensorBody& body) const {
  if (!body.buffer) return graph_.node(body.node).where;
  for (const Node& node : graph_.nodes)
    for (const Input& input : inputs_)
      if (input.body->buffer == body.buffer && std::ranges::count(node.operands, input.node) > 0)
        return node.where;
  return graph_.nodes.back().where;
}

void Capture::require_no_lasting_assignment() const {
  std::vector<Tensor*> lasting = assignments_.lasting();
  if (lasting.empty()) return;
  const TensorBody& body = *lasting.front()->body();
  std::source_location where = use_of(body);
  throw GraphBreak(
      concat("[compile] a tensor that outlives the function is assigned within it (of shape ",
             body.view.shape, body.buffer ? ", used at " : ", computed at ", At{where},
             "), which every call should do and no graph can; write to it in place (copy_from), or "
             "return the value and assign it outside the compiled function"),
      "assignment", "changes a tensor that outlives it", where);
}

Captured Capture::finish(std::vector<Tensor> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    require(outputs[i].defined(), "[compile] result ", i,
            " of the function is undefined; every result must be a tensor");
  for (Tensor& output : outputs) assignments_.forget(output);
  std::vector<NodeId> ids;
  for (const Tensor& output : outputs)
    ids.push_back(node_of(output, "compile", std::source_location::current()));
  ids.insert(ids.end(), logged_.begin(), logged_.end());
  graph_.outputs = std::move(ids);
  require_no_overlap();
  require_no_lasting_assignment();
  Captured result;
  for (std::size_t i = 0; i < placeholders_.size(); ++i)
    if (placeholders_[i]->version > 0)
      graph_.mutations.push_back({graph_.inputs[i], placeholders_[i]->node});
  for (const Input& input : inputs_) {
    if (input.newest != input.node) graph_.mutations.push_back({input.node, input.newest});
    result.captured.push_back(Tensor(input.body));
  }
  result.read.assign(read_.begin(), read_.end());
  std::erase_if(guards_, [](const Guard& guard) { return guard.object->is_gone; });
  result.guards = std::move(guards_);
  result.logs = std::move(logs_);
  result.graph = std::move(graph_);
  outputs.clear();  // handles of the capture's own
  end();
  return result;
}

}  // namespace tilewright::graph
