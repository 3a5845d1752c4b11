#include "graph/tensor/capture.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <iterator>
#include <map>
#include <span>
#include <utility>

#include "graph/ir/location.h"
#include "graph/ir/shape_rules.h"
#include "graph/ir/user_call.h"

namespace tilewright::graph {
namespace {

thread_local Capture* active_capture = nullptr;
std::atomic<std::uint64_t> last_serial{0};
std::atomic<std::uint64_t> changes_of_guarded_values{0};

}  // namespace

Capture* Capture::active() { return active_capture; }

bool is_capturing() { return active_capture != nullptr && !active_capture->is_broken(); }
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

Capture::Capture()
    : serial_(++last_serial), segment_serial_(serial_), running_(serial_), assignments_(serial_) {
  require(active_capture == nullptr,
          "[compile] a function is being captured on this thread; captures do not nest: call the "
          "inner function uncompiled, or compile the outer one alone");
  active_capture = this;
  ++detail::captures;
}
Capture::Capture(Capture& around)
    : around_(&around),
      serial_(++last_serial),
      segment_serial_(serial_),
      running_(serial_),
      assignments_(serial_) {
  check(active_capture == &around, "a body is captured within a function that is not");
  active_capture = this;
  ++detail::captures;
}
// Handles that the function assigned get their former tensors back if the capture failed. If there
// is no memory to find them, they stay symbolic, and their next use is an Error.
Capture::~Capture() {
  try {
    assignments_.give_back(memory_of_inputs_);
  } catch (const std::bad_alloc&) {
  }
  end();
}

void Capture::end() {
  if (active_capture != this) return;
  active_capture = around_;
  running_.end();
  if (!is_broken_) --detail::captures;
}

// Nothing depends on handles from now on.
void Capture::begin_in_segments() {
  if (std::exchange(is_broken_, true)) return;
  assignments_.keep();
  --detail::captures;
}

std::shared_ptr<TensorBody> Capture::empty_body() {
  if (spare_ == nullptr || spare_->empty()) return std::make_shared<TensorBody>();
  std::shared_ptr<TensorBody> body = std::move(spare_->back());
  spare_->pop_back();
  return body;
}

// Keeps the bodies that nobody holds any more, views before their bases.
void Capture::keep_spare_bodies() {
  constexpr std::size_t most = 256;
  for (std::size_t i = bodies_.size(); i-- > placeholders_;) {
    std::shared_ptr<TensorBody>& body = bodies_[i];
    if (body.use_count() > 1 || spare_->size() == most) continue;
    body->base = nullptr;
    body->version = body->views = 0;
    body->compared = 0;
    body->must_share = false;
    spare_->push_back(std::move(body));
  }
}

Tensor Capture::symbolic(NodeId node) {
  std::shared_ptr<TensorBody> body = empty_body();
  body->dtype = graph_.node(node).dtype;
  body->view.shape = graph_.node(node).shape;
  body->capture = segment_serial_;
  body->node = node;
  if (spare_ != nullptr) bodies_.push_back(body);
  return Tensor(std::move(body));
}

Tensor Capture::placeholder(DType dtype, const Shape& shape, const Strides& strides,
                            const Tensor& argument) {
  check(inputs_.empty(), "a placeholder was made after a tensor was captured");
  Tensor tensor = symbolic(graph_.input(dtype, shape, strides));
  if (spare_ != nullptr)
    arguments_.push_back(argument.body());  // not a handle, which would be one that is read
  else
    bodies_.push_back(tensor.body());
  ++placeholders_;
  return tensor;
}

const Capture::Input* Capture::find_input(const TensorBody& body) const {
  for (std::size_t i = 0; i < memory_of_inputs_.size(); ++i) {
    if (memory_of_inputs_[i] != body.buffer.get()) continue;
    const TensorBody& known = *inputs_[i].body;
    if (known.dtype == body.dtype && known.view == body.view) return &inputs_[i];
  }
  return nullptr;
}

Capture::Input& Capture::input_of(const Tensor& concrete, std::string_view operation,
                                  std::source_location where) {
  const TensorBody& body = *concrete.body();
  require_current(body.token, operation, where);
  if (!exposed_.empty()) uses_exposed_ = uses_exposed_ || is_exposed(body.buffer.get(), true);
  forget_empty(body);
  if (Input* known = find_input(body)) return *known;
  NodeId node = graph_.input(body.dtype, body.view.shape, body.view.strides);
  if (!is_broken_) note_read(body.buffer.get());
  // A copy, since the body's own handle may be written to while the plan lives. A segment runs
  // soon.
  inputs_.push_back(
      {is_broken_ ? concrete.body() : std::make_shared<TensorBody>(body), node, node, {}});
  if (!is_broken_) inputs_.back().body->is_made_inside = is_made(body);
  memory_of_inputs_.push_back(body.buffer.get());
  return inputs_.back();
}

static void require_of_this_thread(const TensorBody& symbolic, std::string_view operation,
                                   std::source_location where) {
  require(!RunningCapture::is_of_one(symbolic.capture), "[", operation,
          "] the tensor is a value of a function that another thread is capturing (at ", At{where},
          "); only that thread knows it: start threads outside of compiled functions");
}

std::string_view flaw_of(const Tensor& argument) {
  if (!argument.defined()) return " is undefined; every argument must be a tensor";
  if (RunningCapture::is_of_one(argument.body()->capture))
    return " is a value of a function that another thread is capturing; only that thread knows it: "
           "start threads outside of compiled functions";
  return " belongs to a capture that is over; pass a concrete tensor";
}

void require_usable(const TensorBody& symbolic, std::string_view operation,
                    std::source_location where) {
  const Capture* capture = Capture::active();
  if (capture == nullptr) require_of_this_thread(symbolic, operation, where);
  require(capture != nullptr, "[", operation,
          "] the tensor was made while a function was captured, and that is over (at ", At{where},
          "); a captured function must return what is used outside it");
  if (is_stale(symbolic))
    throw GraphBreak(
        concat("[", operation, "] the tensor is a view of one that was written in place since (at ",
               At{where}, "); take the view after the write"),
        {operation, "uses a view of a tensor that it has written", where});
}

NodeId Capture::node_of(const Tensor& tensor, std::string_view operation,
                        std::source_location where) {
  break_before_use({&tensor, 1}, operation, where);
  return settled_node_of(tensor, operation, where);
}

NodeId Capture::settled_node_of(const Tensor& tensor, std::string_view operation,
                                std::source_location where) {
  TensorBody& body = body_of(tensor, operation, where);
  if (body.buffer) return input_of(tensor, operation, where).newest;
  if (body.base) take_view_anew(body, operation, where);
  require_usable(body, operation, where);
  if (around_ != nullptr && body.capture != segment_serial_) return node_of_value_around(tensor);
  require_own(body, operation, where);
  return body.node;
}

// That it is a value of the function around is checked when the node of the body gets its operands.
NodeId Capture::node_of_value_around(const Tensor& symbolic) {
  auto known = std::ranges::find(inputs_, symbolic.body(), &Input::body);
  if (known != inputs_.end()) return known->node;
  const TensorBody& body = *symbolic.body();
  const NodeId node = graph_.input(body.dtype, body.view.shape, {});
  inputs_.push_back({symbolic.body(), node, node, {}});
  memory_of_inputs_.push_back(nullptr);
  return node;
}

void Capture::require_own(const TensorBody& symbolic, std::string_view operation,
                          std::source_location where) const {
  if (symbolic.capture != segment_serial_) require_of_this_thread(symbolic, operation, where);
  require(symbolic.capture == segment_serial_, "[", operation,
          "] the tensor belongs to another capture, which is over (at ", At{where},
          "); a captured function must not keep tensors for its next run");
}

std::span<const NodeId> Capture::nodes_of(std::span<const Tensor> operands,
                                          std::string_view operation, std::source_location where,
                                          std::span<NodeId> few, std::vector<NodeId>& many) {
  break_before_use(operands, operation, where);
  std::span<NodeId> ids = few;
  if (operands.size() > few.size()) {
    many.resize(operands.size());
    ids = many;
  }
  for (std::size_t i = 0; i < operands.size(); ++i)
    ids[i] = settled_node_of(operands[i], operation, where);
  return ids.first(operands.size());
}

Tensor Capture::append(Op op, std::span<const Tensor> operands, Attributes attributes,
                       std::optional<DType> dtype, std::source_location own) {
  const std::source_location where = UserCall::line(own);
  std::array<NodeId, 6> few;
  std::vector<NodeId> many;
  auto ids = nodes_of(operands, info(op).name, where, few, many);
  Tensor result = symbolic(graph_.append(op, ids, std::move(attributes), dtype, where));
  if (info(op).kind == Kind::view) {
    TensorBody& base = *operands[0].body();
    result.body()->base = operands[0].body();
    result.body()->base_version = base.version;
    result.body()->compared = latest_write();
    if (!base.buffer)
      ++base.views;
    else if (spare_ != nullptr)
      views_of_memory_.push_back(result.body().get());
  }
  break_after_exposed(info(op).name, where);
  return result;
}

std::vector<Tensor> Capture::append_all(Op op, std::span<const Tensor> operands,
                                        Attributes attributes, std::source_location own_line) {
  const std::source_location where = UserCall::line(own_line);
  std::array<NodeId, 6> few;
  std::vector<NodeId> many;
  auto ids = nodes_of(operands, info(op).name, where, few, many);
  NodeId own = graph_.append(op, ids, std::move(attributes), std::nullopt, where);
  std::vector<Tensor> results;
  for (NodeId id : graph_.results_of(own, where)) results.push_back(symbolic(id));
  break_after_exposed(info(op).name, where);
  return results;
}

NodeId Capture::constant(const ir::Scalar& value, const Shape& shape, std::source_location where) {
  return graph_.full(shape, value, where);
}

Tensor Capture::copy(const Tensor& tensor, std::string_view operation, std::source_location where) {
  Tensor result = symbolic(node_of(tensor, operation, where));
  break_after_exposed(operation, where);
  return result;
}

void Capture::write(const Tensor& target, const Tensor& value, std::string_view operation,
                    std::source_location where) {
  break_before_use({&target, 1}, operation, where);
  break_before_use({&value, 1}, operation, where);
  if (can_break() && !can_record_write(target, value)) {
    forget_empty(*target.body());
    break_here({"a write", "writes memory that it uses otherwise", where});
    CapturePause pause;
    Tensor(target).copy_from(value, where);
    return;
  }
  record_write(target, value, operation, where);
  break_after_exposed(operation, where);
}

// Views of other tensors of the same elements: each counts the writes that went through itself.
static void outdate_views(std::span<TensorBody* const> views, const TensorBody& written) {
  for (TensorBody* view : views) {
    const TensorBody& base = *view->base;
    if (&base != &written && base.buffer == written.buffer && base.dtype == written.dtype &&
        base.view == written.view)
      view->base_version = base.version - 1;
  }
}

void Capture::record_write(const Tensor& target, const Tensor& value, std::string_view operation,
                           std::source_location where) {
  NodeId node = node_of(value, operation, where);
  TensorBody& body = *target.body();
  if (body.buffer && !make_own(target, where)) {
    require_of_all_calls(body, operation, where);
    if (unfreeze_) unfreeze_(body.buffer);
    require_writable(body, operation, where);
    require_own_elements(body, operation, where);
    Input& input = input_of(target, operation, where);
    input.newest = node;
    input.written = where;
    ++written_;
    ++body.version;
    count_write();
    if (body.buffer.use_count() > 1) outdate_views(views_of_memory_, body);
    return;
  }
  node_of(target, operation, where);  // it must be usable
  require(around_ == nullptr || body.capture == segment_serial_, "[", operation,
          "] a function of control flow writes a tensor of the function around it (at ", At{where},
          "); it must give the new value, to be carried");
  if (body.base) return record_write_to_view(target, node, operation, where);
  for (std::size_t i = 0; i < placeholders_; ++i)
    if (bodies_[i].get() == &body && !graph_.strides_of_input(i).empty())
      require_own_elements(
          {.dtype = body.dtype, .view = {body.view.shape, graph_.strides_of_input(i), 0}},
          operation, where);
  body.node = node;
  ++body.version;
  count_write();
}

void Capture::log(const Tensor& tensor, LogCallback callback, std::string_view operation,
                  std::source_location where) {
  std::shared_ptr<TensorBody> value = copy(tensor, operation, where).body();
  logged_.push_back({std::move(value), std::move(callback)});
}

bool Capture::is_written(const TensorBody& concrete) const {
  if (written_ == 0) return false;
  const Input* input = find_input(concrete);
  return input != nullptr && input->is_written();
}

void Capture::require_no_overlap() const {
  if (written_ == 0) return;
  std::map<const Buffer*, std::vector<const Input*>> by_memory;  // others cannot overlap
  for (const Input& input : inputs_) by_memory[input.body->buffer.get()].push_back(&input);
  for (const Input& written : inputs_) {
    if (!written.is_written()) continue;
    for (const Input* each : by_memory[written.body->buffer.get()]) {
      const Input& other = *each;
      if (&other != &written && overlap(*written.body, *other.body))
        throw GraphBreak(
            concat("[compile] the tensor of shape ", written.body->view.shape, " written at ",
                   At{written.written}, " shares memory with another of shape ",
                   other.body->view.shape,
                   " that the function uses; inside a captured function use one of them only, "
                   "and in place of the other a clone() of it"),
            {"a write", "writes memory that it uses otherwise", written.written});
    }
  }
}

// The first line at which a tensor is computed, or an argument, or one over its memory, used; line
// 0 if there is no such line.
std::source_location Capture::use_of(const TensorBody& body) const {
  if (!body.buffer && graph_.node(body.node).op != Op::input) return graph_.node(body.node).where;
  std::vector<NodeId> inputs;
  if (!body.buffer) inputs.push_back(body.node);
  for (const Input& input : inputs_)
    if (body.buffer && input.body->buffer == body.buffer) inputs.push_back(input.node);
  const auto size = static_cast<NodeId>(graph_.size());
  for (NodeId id = 0; id < size; ++id)
    if (std::ranges::find_first_of(graph_.node(id).operands, inputs) !=
        graph_.node(id).operands.end())
      return graph_.node(id).where;
  return size == 0 ? std::source_location() : graph_.node(size - 1).where;
}

std::optional<GraphBreak> Capture::lasting_assignment(std::vector<Tensor>& outputs) {
  for (Tensor& output : outputs) assignments_.forget(output);
  std::vector<Tensor*> lasting = assignments_.lasting(memory_of_inputs_);
  if (lasting.empty()) return std::nullopt;
  const TensorBody& body = assignments_.named_by(*lasting.front());
  const std::source_location where = use_of(body);
  const std::string place = where.line() == 0 ? "" : concat(" at ", At{where});
  return GraphBreak(
      concat("[compile] a tensor that outlives the function is assigned within it (of shape ",
             body.view.shape,
             place.empty() ? ""
             : body.buffer ? ", used"
                           : ", computed",
             place,
             "), which every call should do and no graph can; write to it in place (copy_from), or "
             "return the value and assign it outside the compiled function"),
      {"assignment", "changes a tensor that outlives it", where});
}

std::optional<GraphBreak> Capture::kept_tensor(
    const std::function<long(const std::shared_ptr<TensorBody>&)>& known) const {
  auto kept = std::ranges::find_if(bodies_, [&](const std::shared_ptr<TensorBody>& body) {
    const auto logged = std::ranges::count(logged_, body, &Logged::value);
    return body.use_count() > 1 + body->views + logged + known(body);
  });
  if (kept == bodies_.end()) return std::nullopt;
  const std::source_location where = use_of(**kept);
  return GraphBreak(
      concat("[compile] a tensor that the function computes is kept beyond its call (of shape ",
             (*kept)->view.shape, where.line() > 0 ? concat(", computed at ", At{where}) : "",
             "), which every call should do and no graph can; write it to a tensor that is there "
             "(copy_from), or return the value and keep it outside the compiled function"),
      {"a value that is kept", "keeps a tensor that outlives it", where});
}

void Capture::note_results(std::span<const Tensor> results) {
  break_before_use(results, "a result", {});
  if (is_broken_) return;
  for (const Tensor& result : results) {
    if (!result.defined()) continue;
    const TensorBody& body = *result.body();
    const bool is_own = !body.buffer && body.capture == segment_serial_;
    node_of(result, "compile", is_own ? use_of(body) : std::source_location());
  }
}

Captured Capture::finish(std::vector<Tensor> outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i)
    require(outputs[i].defined(), "[compile] result ", i,
            " of the function is undefined; every result must be a tensor");
  std::vector<NodeId> ids;
  for (const Tensor& output : outputs)
    ids.push_back(node_of(output, "compile", std::source_location::current()));
  for (const Logged& logged : logged_) ids.push_back(logged.value->node);
  require_no_overlap();
  if (auto lasting = lasting_assignment(outputs)) throw GraphBreak(std::move(*lasting));
  Captured result;
  result.graph = graph_.take();
  result.graph.outputs = std::move(ids);
  result.graph.mutations = mutations(result.graph);
  result.graph.index_checks = take_index_checks();
  for (const Input& input : inputs_) result.captured.push_back(Tensor(input.body));
  result.read.assign(read_.begin(), read_.end());
  result.guards = take_guards();
  for (Logged& logged : logged_) result.logs.push_back(std::move(logged.callback));
  outputs.clear();  // handles of the capture's own
  end();
  return result;
}

std::vector<Guard> Capture::take_guards() {
  std::erase_if(guards_, [](const Guard& guard) { return guard.object->is_gone; });
  return std::move(guards_);
}

std::vector<Mutation> Capture::mutations(const Graph& graph) const {
  std::vector<Mutation> result;
  for (std::size_t i = 0; i < placeholders_; ++i)
    if (bodies_[i]->version > 0) result.push_back({graph.inputs[i], bodies_[i]->node});
  for (const Input& input : inputs_)
    if (input.is_written()) result.push_back({input.node, input.newest});
  return result;
}

void Capture::break_here(const Break& at) {
  const UserCall::Pause pause;
  begin_in_segments();
  settle_(at);
}

void Capture::take(Recorded& recorded) {
  recorded.known = graph_.known();
  std::vector<IndexCheck> checks = take_index_checks();
  if (recorded.known == nullptr) {
    recorded.graph = graph_.take();
    recorded.graph.index_checks = std::move(checks);
  }
  recorded.numbers = graph_.numbers();
  recorded.mutations = mutations(recorded.nodes());
  recorded.inputs.clear();
  for (const auto& argument : arguments_) recorded.inputs.push_back(Tensor(argument));
  for (const Input& input : inputs_) recorded.inputs.push_back(Tensor(input.body));
  const auto first = bodies_.begin() + static_cast<std::ptrdiff_t>(placeholders_);
  recorded.placeholders.assign(bodies_.begin(), first);
  recorded.held.clear();
  std::copy_if(first, bodies_.end(), std::back_inserter(recorded.held),
               [](const auto& body) { return body.use_count() > 1 + body->views; });
  keep_spare_bodies();
  graph_.clear();
  placeholders_ = written_ = 0;
  arguments_.clear();
  bodies_.clear();
  views_of_memory_.clear();
  inputs_.clear();
  memory_of_inputs_.clear();
  segment_serial_ = ++last_serial;
  running_.go_on_as(segment_serial_);
}

}  // namespace tilewright::graph
