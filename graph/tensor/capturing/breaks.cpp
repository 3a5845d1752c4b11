// Where a capture breaks: what the function is about to do that the graph so far cannot hold.
#include <algorithm>
#include <map>
#include <utility>

#include "dsl/ir/immediates.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/memory/memory_overlap.h"

namespace tilewright::graph {

static Elements elements_of(const TensorBody& concrete) {
  return {concrete.buffer.get(), concrete.dtype, concrete.view};
}
bool Capture::overlap(const TensorBody& a, const TensorBody& b) {
  return graph::overlap(elements_of(a), elements_of(b));
}
bool Capture::may_overlap(const TensorBody& a, const TensorBody& b) {
  return graph::may_overlap(elements_of(a), elements_of(b));
}
bool Capture::share_bytes(const TensorBody& a, const TensorBody& b) {
  return graph::share_bytes(elements_of(a), elements_of(b));
}

bool is_stale(const TensorBody& symbolic) {
  for (const TensorBody* view = &symbolic; view->base && view->compared != latest_write();
       view = view->base.get())
    if (view->base->version != view->base_version) return true;
  return false;
}

void Capture::before_values(const TensorBody& body, std::string_view operation,
                            std::source_location where) {
  if (!settle_) throw DataReadError(operation, where);
  if (!body.buffer) require_own(body, operation, where);
  if (!is_broken_ || !body.buffer || overlaps_written(body))
    break_here({operation, "reads data", where});
}

Tensor Capture::looked_at(const Tensor& tensor, std::string_view operation,
                          std::source_location where) {
  if (!look_) return {};
  const NodeId node = node_of(tensor, operation, where);
  Graph graph = graph_.so_far();
  graph.outputs = {node};
  std::vector<Tensor> captured;
  for (const Input& input : inputs_) captured.push_back(Tensor(input.body));
  return look_(std::move(graph), captured);
}

void Capture::before_address(const TensorBody& body, std::string_view operation,
                             std::source_location where) {
  expose(body, true, operation, where);
}

void Capture::before_const_address(const TensorBody& body, std::string_view operation,
                                   std::source_location where) {
  expose(body, false, operation, where);
}

bool Capture::is_made(const TensorBody& concrete) const {
  return concrete.buffer && std::ranges::any_of(made_, [&](const std::weak_ptr<Buffer>& made) {
           return made.lock() == concrete.buffer;
         });
}

// Segments run at once, and so write the memory of their own call.
bool Capture::make_own(const Tensor& concrete, std::source_location where) {
  const std::shared_ptr<TensorBody>& body = concrete.body();
  auto is_it = [&](const std::weak_ptr<TensorBody>& empty) { return empty.lock() == body; };
  const bool is_empty = body->buffer && std::ranges::any_of(empties_, is_it);
  if (!is_empty && (is_broken_ || !can_own(*body))) return false;
  if (is_empty && body->buffer.use_count() > 1) return false;
  std::erase_if(empties_, is_it);
  body->node = is_empty ? constant(ir::Scalar::of(body->dtype, 0), body->view.shape, where)
                        : input_of(concrete, "a write", where).newest;
  body->capture = segment_serial_;
  body->buffer = nullptr;
  body->view = {body->view.shape, {}, 0};
  body->views = static_cast<int>(std::ranges::count(bodies_, body, &TensorBody::base));
  if (spare_ != nullptr) bodies_.push_back(body);
  return true;
}

// Nobody sees the memory besides the tensor and what was captured of it.
bool Capture::can_own(const TensorBody& concrete) const {
  if (!is_made(concrete)) return false;
  const auto captured = std::ranges::count_if(
      inputs_, [&](const Input& input) { return input.body->buffer == concrete.buffer; });
  return concrete.buffer.use_count() <= 1 + captured;
}

void Capture::require_of_all_calls(const TensorBody& concrete, std::string_view operation,
                                   std::source_location where) const {
  if (is_broken_ || !is_made(concrete)) return;
  throw GraphBreak(
      concat("[", operation, "] a tensor of shape ", concrete.view.shape,
             " that the function makes ", "of numbers of the host is written (at ", At{where},
             "), and there are views of it; ",
             "write a clone() of it, or make it outside the function if calls are to share it"),
      {operation, "writes what it makes of numbers of the host, and has a view of it", where});
}

void Capture::own_results(std::vector<Tensor>& results) {
  if (made_.empty() || is_broken_) return;
  std::map<const TensorBody*, Tensor> owned;
  for (Tensor& result : results) {
    if (!result.defined() || !is_made(*result.body())) continue;
    Tensor& own = owned[result.body().get()];
    if (!own.defined()) own = copy(result, "compile", std::source_location::current());
    result = own;
  }
}

void Capture::forget_empty(const TensorBody& body) {
  std::erase_if(empties_, [&](const std::weak_ptr<TensorBody>& empty) {
    const auto known = empty.lock();
    return !known || known->buffer == body.buffer;
  });
}

void Capture::expose(const TensorBody& body, bool may_be_written, std::string_view operation,
                     std::source_location where) {
  forget_empty(body);
  if (may_be_written && unfreeze_ && body.buffer) unfreeze_(body.buffer);
  std::erase_if(made_, [&](const auto& made) { return made.lock() == body.buffer; });
  const bool is_pending = !body.buffer || is_written(body);
  if (!settle_ && is_pending) throw DataReadError(operation, where);
  if (!settle_) return;
  if (!body.buffer) require_own(body, operation, where);
  if (is_pending || (is_broken_ && graph_.size() > 0)) break_here({operation, "reads data", where});
  const Buffer* memory = body.buffer.get();
  if (!is_exposed(memory, may_be_written)) exposed_.push_back({memory, may_be_written});
}

void Capture::before_placing(const TensorBody& body, std::string_view operation,
                             std::source_location where) {
  if (body.buffer && (!is_broken_ || !overlaps_written(body))) return;
  if (!settle_) throw PlacingError(operation, where);
  if (!body.buffer) require_own(body, operation, where);
  break_here({operation, "asks for memory", where});
}

bool Capture::is_exposed(const Buffer* memory, bool may_be_written) const {
  return std::ranges::any_of(exposed_, [&](const Exposed& exposed) {
    return exposed.memory == memory && exposed.may_be_written >= may_be_written;
  });
}

// True if a write to these elements was recorded, or to other elements that overlap them. Where a
// capture may not break, arguments are compared at each call.
bool Capture::overlaps_written(const TensorBody& concrete) {
  if (!is_broken_) {
    for (std::size_t i = 0; i < arguments_.size() && !meets_sharing_; ++i)
      meets_sharing_ = bodies_[i]->version > 0 && may_overlap(*arguments_[i], concrete);
    return meets_sharing_ || (written_ > 0 && std::ranges::any_of(inputs_, [&](const Input& input) {
                                return input.is_written() && overlap(*input.body, concrete);
                              }));
  }
  auto is_hit = [&](const TensorBody& written) { return share_bytes(written, concrete); };
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (bodies_[i]->version > 0 && is_hit(*arguments_[i])) return true;
  return written_ > 0 && std::ranges::any_of(inputs_, [&](const Input& input) {
           return input.is_written() && is_hit(*input.body);
         });
}

// True for a use of an operand that a graph cannot express, and a function in segments may do.
bool Capture::must_break_before(const Tensor& operand) {
  const TensorBody* body = operand.body().get();
  if (body == nullptr) return false;
  if (!body->buffer)
    return body->capture == segment_serial_ && is_stale(*body) && !follows_its_base(*body);
  return !is_written(*body) && overlaps_written(*body);
}

void Capture::break_before_use(std::span<const Tensor> operands, std::string_view operation,
                               std::source_location where) {
  if (!can_break()) return;
  if (std::ranges::any_of(operands, [this](const Tensor& t) { return must_break_before(t); }))
    break_here({operation, "uses memory that it has written", where});
}

// As `can_record_write`, of a function that has not broken yet.
bool Capture::can_record_first_write(const TensorBody& target, std::size_t own_argument,
                                     const TensorBody* value) {
  if (target.buffer && is_made(target)) return can_own(target);
  const TensorBody& place = target.buffer ? target : *arguments_[own_argument];
  if (shares_with_argument(place, own_argument)) {
    meets_sharing_ = true;
    return false;
  }
  if (!target.buffer) {
    auto shares = [&](const TensorBody& other) { return may_overlap(other, place); };
    meets_sharing_ = (value != nullptr && value->buffer && shares(*value)) ||
                     std::ranges::any_of(inputs_, [&](const Input& x) { return shares(*x.body); });
    return !meets_sharing_;
  }
  const Input* own_input = find_input(target);
  for (const Input& input : inputs_)
    if (&input != own_input && overlap(*input.body, place)) return false;
  return value == nullptr || !value->buffer || value->buffer != place.buffer ||
         value->view == place.view || !overlap(*value, place);
}

// True if an argument besides that one may share elements.
bool Capture::shares_with_argument(const TensorBody& place, std::size_t own_argument) {
  if (own_argument < arguments_.size()) {
    if (sharing_arguments_.empty()) {
      std::vector<Elements> all;
      for (const auto& argument : arguments_) all.push_back(elements_of(*argument));
      sharing_arguments_ = sharing_bytes(all);
    }
    if (!sharing_arguments_[own_argument]) return false;
  }
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (i != own_argument && may_overlap(*arguments_[i], place)) return true;
  return false;
}

// A graph reads all of its inputs before it writes one, so nothing else may lie where it writes.
bool Capture::can_record_write(const Tensor& target, const Tensor& value) {
  // A view is written by writing its base.
  std::shared_ptr<TensorBody> written = target.body();
  if (!written->buffer && written->base && (!follows_its_base(*written) || is_spread(*written)))
    return false;
  written = owners_of(written).back();
  const TensorBody& body = *written;
  std::size_t own_argument = arguments_.size();
  if (!body.buffer) {
    const std::span symbols = std::span(bodies_).first(arguments_.size());
    own_argument = static_cast<std::size_t>(std::ranges::find(symbols, written) - symbols.begin());
    if (own_argument == arguments_.size()) return true;  // a value
  }
  if (!is_broken_) return can_record_first_write(body, own_argument, value.body().get());
  const TensorBody& place = body.buffer ? body : *arguments_[own_argument];
  if (is_exposed(place.buffer.get(), false)) return false;
  for (std::size_t i = 0; i < arguments_.size(); ++i)
    if (i != own_argument && share_bytes(*arguments_[i], place)) return false;
  const Input* own_input = body.buffer ? find_input(body) : nullptr;
  for (const Input& input : inputs_)
    if (&input != own_input && share_bytes(*input.body, place)) return false;
  const TensorBody* from = value.body().get();
  return from == nullptr || from == &body || !from->buffer || !share_bytes(*from, place);
}

void Capture::break_after_exposed(std::string_view operation, std::source_location where) {
  if (!std::exchange(uses_exposed_, false) || !is_broken_) return;
  break_here({operation, "uses memory of which it has the address", where});
}

}  // namespace tilewright::graph
