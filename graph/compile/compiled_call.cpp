// What a call of a signature runs: addresses, launches, and what becomes of the results.
#include <algorithm>
#include <utility>

#include "graph/compile/compiled.h"
#include "graph/compile/segmented_call.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/memory/memory_overlap.h"
#include "graph/tensor/tensor_body.h"
#include "graph/tensor/tensor_copy.h"
#include "runtime/base/error.h"
#include "runtime/trace.h"

namespace tilewright::graph {

// Calls of a signature on the host that time their launches: the first one finds nothing in caches.
constexpr std::int64_t timed_calls = 4;

const Tensor& CompiledSignature::input(std::size_t i, const std::vector<Tensor>& arguments) const {
  if (i < signature_.size()) return arguments[i];
  i -= signature_.size();
  return i < captured_.size() ? captured_[i] : frozen_values_.tensors()[i - captured_.size()];
}

bool CompiledSignature::is_brought(const Tensor& tensor) const {
  return host_arguments_ && memory_of(tensor) == nullptr;
}

void* CompiledSignature::address_for_plan(std::size_t i, const Tensor& tensor) {
  return is_brought(tensor) ? host_arguments_->bring(i, tensor) : address_of(*tensor.body());
}

void CompiledSignature::set_addresses(const std::vector<Tensor>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    addresses_[i] = address_for_plan(i, arguments[i]);
  if (host_arguments_)
    for (std::size_t i = arguments.size(); i < graph_.inputs.size(); ++i)
      addresses_[i] = address_for_plan(i, input(i, arguments));
  if (!mutated_.empty()) require_may_write(arguments);
}

void CompiledSignature::take_back_mutated(const std::vector<Tensor>& arguments) {
  for (std::size_t i : mutated_)
    if (const Tensor& tensor = input(i, arguments); is_brought(tensor))
      host_arguments_->take_back(i, tensor);
}

// "argument 0 'x'", "a captured tensor of shape 4x8".
std::string CompiledSignature::text_of_input(std::size_t i) const {
  if (i < form_.places.size()) return form_.places[i].text;
  return concat("a captured tensor of shape ", graph_.node(graph_.inputs[i]).shape);
}

void CompiledSignature::raise_aliases(std::size_t written, std::size_t other) const {
  std::string written_at;
  for (const Mutation& m : graph_.mutations)
    if (const Node& value = graph_.node(m.value);
        m.input == graph_.inputs[written] && value.where.line() > 0)
      written_at = concat(", with what is computed at ", describe(value.where));
  raise_error(concat("[compile] input ", written,
                     " is written in place and shares memory with input ", other, ": the function ",
                     "writes ", text_of_input(written), written_at, ", and uses ",
                     text_of_input(other), " besides; pass a clone of one of them"));
}

static Elements elements_of(const Tensor& tensor) {
  const TensorBody& body = *tensor.body();
  return {body.buffer.get(), body.dtype, body.view};
}

// Looks at each element only of parts of one array that sizes and strides do not tell apart.
static bool may_have_one_element(const Elements& a, const Elements& b) {
  if (are_blocks_apart(a, b)) return false;
  return a.buffer != b.buffer || a.dtype != b.dtype || overlap(a, b);
}

// A kernel that writes an input in place reads all others as if they were elsewhere. Captured
// tensors were compared with each other when they were captured.
void CompiledSignature::require_may_write(const std::vector<Tensor>& arguments) const {
  for (std::size_t written : mutated_) {
    if (input(written, arguments).body()->buffer->is_read_only()) [[unlikely]]
      raise_error(concat("[compile] ", text_of_input(written),
                         " is written in place and frozen: functions compiled with "
                         "Options::freezing hold copies of it, or what they computed from it; pass "
                         "a clone, or compile those without"));
    auto [low, high] = bytes_spanned(input(written, arguments));
    std::size_t others = written < arguments.size() ? graph_.inputs.size() : arguments.size();
    for (std::size_t i = 0; i < others; ++i) {
      if (i == written) continue;
      auto [other_low, other_high] = bytes_spanned(input(i, arguments));
      if (other_low < high && low < other_high &&
          may_have_one_element(elements_of(input(written, arguments)),
                               elements_of(input(i, arguments))))
        raise_aliases(written, i);
    }
  }
}

std::vector<Tensor> CompiledSignature::wrap(const std::vector<std::shared_ptr<Buffer>>& buffers,
                                            const std::vector<Tensor>& arguments) const {
  std::vector<Tensor> result;
  result.reserve(buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const PlanOutput& output = plan_->outputs()[i];
    if (output.input) {
      result.push_back(input(static_cast<std::size_t>(*output.input), arguments));
      continue;
    }
    result.push_back(make_tensor(output.dtype, row_major(output.shape), buffers[i]));
    // One tensor that is returned twice is one there too.
    const auto first = std::ranges::find(buffers, buffers[i]) - buffers.begin();
    if (host_arguments_ && gives_host_)
      result.back() = static_cast<std::size_t>(first) < i
                          ? make_tensor(output.dtype, row_major(output.shape),
                                        result[static_cast<std::size_t>(first)].body()->buffer)
                          : copy_to(result.back(), Device::cpu());
    else if (recording_)
      result.back().body()->token = {steps_, steps_->latest, static_cast<int>(i)};
  }
  if (!result_changes_.empty()) [[unlikely]]
    change_results(result, arguments);
  return result;
}

void CompiledSignature::change_results(std::vector<Tensor>& results,
                                       const std::vector<Tensor>& arguments) const {
  for (const auto& [i, kind, other] : result_changes_) {
    Tensor& result = results[i];
    switch (kind) {
      case ResultChange::Kind::copied: result = copy_row_major(result); break;
      case ResultChange::Kind::input: result = input(other, arguments); break;
      case ResultChange::Kind::view:
        result = view_of_input(input(other, arguments), origins_[i].views);
        break;
      case ResultChange::Kind::joined:
        result =
            make_tensor(result.dtype(), row_major(result.shape()), results[other].body()->buffer);
    }
  }
}

// Where the times of this run's launches go; null if they are not timed. Times of an emulator mean
// nothing.
LaunchTimes* CompiledSignature::times_of_run(std::int64_t times, bool is_measured) {
  if (is_measured) return &times_;
  if (times_.runs >= timed_calls) [[likely]]
    return nullptr;
  const Device& device = plan_->device();
  bool is_free = times == 1 && !device.target().is_gpu() && !is_tracing();
  return is_free ? &times_ : nullptr;
}

// A GPU's graph has no launches of its own to time.
std::vector<std::shared_ptr<Buffer>> CompiledSignature::launch(std::int64_t times,
                                                               LaunchTimes* measured) {
  if (recording_ && !(measured && plan_->device().is_cuda()))
    return recording_->run(addresses_, times, measured);
  for (std::int64_t i = 1; i < times; ++i) plan_->run(addresses_);
  return plan_->run(addresses_, measured);
}

std::vector<Tensor> CompiledSignature::run(const std::vector<Tensor>& arguments, std::int64_t times,
                                           bool is_measured) {
  row_checks_.before([&](std::size_t i) -> const Tensor& { return input(i, arguments); });
  std::vector<Tensor> results;
  {
    StepAccess access;
    if (recording_) access.add_step(*steps_);
    for (const Tensor& argument : arguments) access.add(argument.body()->token);
    for (std::size_t i : results_) access.add(captured_[i].body()->token);
    access.begin("compile", std::nullopt);
    set_addresses(arguments);
    if (recording_) ++steps_->latest;
    const auto buffers = launch(times, times_of_run(times, is_measured));
    take_back_mutated(arguments);  // of which some results are copies
    results = wrap(buffers, arguments);
  }
  row_checks_.after(results);  // which reads some of them
  return results;
}

// What is logged lies in the memory of results, which the next time may write: each time is a run
// of its own.
std::vector<Tensor> CompiledSignature::run_and_log(const std::vector<Tensor>& arguments,
                                                   std::int64_t times, bool is_measured,
                                                   LoggedValues& logged) {
  if (logs_.empty()) [[likely]]
    return run(arguments, times, is_measured);
  std::vector<Tensor> results;
  for (; times > 0; --times) {
    results = run(arguments, 1, is_measured);
    logged.take(results, logs_);
  }
  return results;
}

TensorResults CompiledSignature::call(const Call& call, std::int64_t times, bool is_measured,
                                      LoggedValues& logged) {
  if (!breaks_.empty()) return call_in_segments(call, times, is_measured, logged);
  if (tuning_) take_tuned_plan();
  // A result of the step before may be an argument of this one, which writes where it lies.
  auto is_own = [&](const Tensor& t) { return t.body()->token.count == steps_; };
  TensorResults results = returned_;
  if (std::ranges::none_of(call.arguments, is_own)) [[likely]] {
    results.tensors = run_and_log(call.arguments, times, is_measured, logged);
    return results;
  }
  std::vector<Tensor> kept = call.arguments;
  for (Tensor& argument : kept)
    if (is_own(argument)) argument = argument.clone();
  results.tensors = run_and_log(kept, times, is_measured, logged);
  return results;
}

TensorResults CompiledSignature::call_in_segments(const Call& call, std::int64_t times,
                                                  bool is_measured, LoggedValues& logged) {
  std::optional<TensorResults> results = std::exchange(first_results_, std::nullopt);
  if (results) --times;
  for (; times > 0; --times) {
    SegmentedCall one(shared_.segments, segment_options_, signature_, call.arguments, breaks_,
                      first_segments_, logged);
    results = one.run(call.function, is_measured);
  }
  return *std::move(results);
}

void CompiledSignature::run_segment(const std::vector<Tensor>& inputs, bool is_measured,
                                    std::vector<std::shared_ptr<Buffer>>& results) {
  if (tuning_) take_tuned_plan();
  row_checks_.before([&](std::size_t i) -> const Tensor& { return inputs[i]; });
  {
    StepAccess access;
    for (const Tensor& tensor : inputs) access.add(tensor.body()->token);
    access.begin("compile", std::nullopt);
    set_addresses(inputs);
    LaunchTimes* times = times_of_run(1, is_measured);
    if (lasting_ && !(times && plan_->device().is_cuda()))
      lasting_->run(addresses_, results, times);
    else
      results = plan_->run(addresses_, times);
    take_back_mutated(inputs);
  }
  if (!row_checks_.adds_outputs()) [[likely]]
    return;
  std::vector<Tensor> checked = wrap(results, inputs);
  row_checks_.after(checked);
}

}  // namespace tilewright::graph
