#include "graph/compile/compile.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <span>

#include "graph/compile/compiled.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/handle_changes.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using graph::CompiledSignature;
using graph::Signature;

constexpr std::array<std::string_view, 4> mode_names = {
    "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"};
constexpr std::array<std::string_view, 2> precision_names = {"highest", "high"};
constexpr std::array<std::string_view, 3> backend_names = {"eager", "aot_eager", "tilewright"};

std::size_t parse(std::span<const std::string_view> names, std::string_view name,
                  const char* what) {
  std::string list;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return i;
    list += concat(i == 0 ? "" : ", ", names[i]);
  }
  raise_error(concat("[", what, "] '", name, "' is unknown; it must be one of ", list));
}

// What differs between a call and the signature that is nearest to it.
std::string difference(const Signature& known, const Signature& call) {
  if (known.size() != call.size())
    return concat("the call has ", call.size(), " arguments, that has ", known.size());
  for (std::size_t i = 0; i < call.size(); ++i) {
    const auto &a = known[i], &b = call[i];
    if (a.dtype != b.dtype)
      return concat("argument ", i, " is ", b.dtype, " where that has ", a.dtype);
    if (a.shape.rank() != b.shape.rank())
      return concat("argument ", i, " has shape ", b.shape, " where that has ", a.shape);
    for (int axis = 0; axis < a.shape.rank(); ++axis)
      if (a.shape[axis] != b.shape[axis])
        return concat("argument ", i, ", axis ", axis, " is ", b.shape[axis], " where that has ",
                      a.shape[axis]);
    if (a.strides != b.strides)
      return concat("argument ", i, " has strides ", b.strides, " where that has ", a.strides);
    if (a.memory != b.memory)
      return concat("argument ", i, " lies on ", Device::of(b.memory).text(), " where that is on ",
                    Device::of(a.memory).text());
    if (a.is_aligned && !b.is_aligned)
      return concat("argument ", i, " does not begin at a multiple of 64 bytes where that must");
  }
  return "nothing";
}

}  // namespace

std::string_view name_of(Mode mode) { return mode_names[static_cast<std::size_t>(mode)]; }
Mode parse_mode(std::string_view name) {
  return static_cast<Mode>(parse(mode_names, name, "mode"));
}
std::string_view name_of(Backend backend) {
  return backend_names[static_cast<std::size_t>(backend)];
}
Backend parse_backend(std::string_view name) {
  return static_cast<Backend>(parse(backend_names, name, "backend"));
}

std::string_view name_of(MatmulPrecision precision) {
  return precision_names[static_cast<std::size_t>(precision)];
}
MatmulPrecision parse_matmul_precision(std::string_view name) {
  return static_cast<MatmulPrecision>(parse(precision_names, name, "matmul_precision"));
}

struct CompiledFunction::State {
  TensorFunction function;
  Options options;
  std::mutex mutex;
  graph::SharedSteps shared;
  std::vector<std::unique_ptr<CompiledSignature>> signatures;
  std::size_t latest = 0;     // that a call matched
  std::uint64_t changes = 0;  // of handles, when that was looked at

  std::function<void(const Device&)> move;  // of what the function holds; none: nothing

  void look_at_changes() {
    std::uint64_t now = graph::handle_changes().count();
    if (now == changes) [[likely]]
      return;
    changes = now;
    for (auto& signature : signatures) signature->look_at_changes();
  }
  std::unique_ptr<CompiledSignature> compiled(const std::vector<Tensor>& arguments) {
    return std::make_unique<CompiledSignature>(function, options, arguments, shared);
  }
  // The signature of the call, compiled where it is new or a handle stands for something else.
  CompiledSignature& signature_for(const std::vector<Tensor>& arguments) {
    look_at_changes();
    CompiledSignature* known = find(arguments);
    if (known == nullptr) {
      if (signatures.size() >= static_cast<std::size_t>(options.max_signatures))
        raise_too_many(arguments);
      signatures.push_back(compiled(arguments));
      latest = signatures.size() - 1;
    } else if (known->is_doubtful() && !known->rebind(function)) {
      signatures[latest] = compiled(arguments);
    }
    return *signatures[latest];
  }
  std::vector<Tensor> call(const std::vector<Tensor>& arguments, std::int64_t times,
                           bool is_measured);
  CompiledSignature* find(const std::vector<Tensor>& arguments) {
    for (std::size_t i = 0; i < signatures.size(); ++i) {
      std::size_t at = (latest + i) % signatures.size();
      if (!matches(signatures[at]->signature(), arguments)) continue;
      latest = at;
      return signatures[at].get();
    }
    return nullptr;
  }
  [[noreturn]] void raise_too_many(const std::vector<Tensor>& arguments) const {
    Signature call = graph::signature_of(arguments, options.device);
    std::string text =
        concat("[compile] ", signatures.size(), " signatures are compiled and the limit is ",
               options.max_signatures, "; this call, (", to_string(call), "), is another one:");
    for (const auto& known : signatures)
      text += concat("\n  (", to_string(known->signature()),
                     "): ", difference(known->signature(), call));
    raise_error(text +
                "\npass arguments of the same dtypes, shapes and strides, or raise "
                "Options::max_signatures.");
  }
};

CompiledFunction::CompiledFunction(TensorFunction function, Options options)
    : state_(std::make_shared<State>()) {
  require(function != nullptr, "[compile] the function is empty; pass a callable");
  require(options.max_signatures > 0, "[compile] max_signatures is ", options.max_signatures,
          "; it must be at least 1");
  require(options.tune_seconds > 0, "[compile] tune_seconds is ", options.tune_seconds,
          "; it must be positive");
  require(!options.tune_in_background || options.write_plan.empty(), "[compile] write_plan is \"",
          options.write_plan,
          "\", but tune_in_background changes a plan after it was written; tune at compile, by "
          "max_autotune");
  state_->function = std::move(function);
  state_->options = options;
}

const Options& CompiledFunction::options() const { return state_->options; }

void CompiledFunction::on_move(std::function<void(const Device&)> move) {
  state_->move = std::move(move);
}

void CompiledFunction::move_to(const Device& device) {
  std::lock_guard lock(state_->mutex);
  if (state_->move) state_->move(device);
  state_->options.device = device;
  state_->signatures.clear();
}

std::vector<Tensor> CompiledFunction::call(const std::vector<Tensor>& arguments) const {
  return repeat(1, arguments);
}

std::vector<Tensor> CompiledFunction::repeat(std::int64_t times,
                                             const std::vector<Tensor>& arguments) const {
  require(times >= 1, "[repeat] times is ", times, "; it must be at least 1");
  return state_->call(arguments, times, false);
}

void CompiledFunction::measure(const std::vector<Tensor>& arguments, std::int64_t calls) const {
  require(calls >= 1, "[measure] calls is ", calls, "; it must be at least 1");
  for (; calls > 0; --calls) state_->call(arguments, 1, true);
}

std::vector<Tensor> CompiledFunction::State::call(const std::vector<Tensor>& arguments,
                                                  std::int64_t times, bool is_measured) {
  // Inside a capture the function is part of what is being captured.
  if (options.backend == Backend::eager || graph::Capture::active())
    return graph::call_one_by_one(function, arguments, times);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    require(arguments[i].defined(), "[compile] argument ", i,
            " is undefined; every argument must be a tensor");
    require(!arguments[i].is_symbolic(), "[compile] argument ", i,
            " belongs to a capture that is over; pass a concrete tensor");
    require_current(arguments[i].body()->token, "compile", std::nullopt);
  }
  std::lock_guard lock(mutex);
  return signature_for(arguments).call(function, arguments, times, is_measured);
}

std::vector<PlanReport> CompiledFunction::report() const {
  std::lock_guard lock(state_->mutex);
  std::vector<PlanReport> reports;
  for (const auto& signature : state_->signatures) reports.push_back(signature->report());
  return reports;
}

std::string CompiledFunction::dump() const {
  std::lock_guard lock(state_->mutex);
  std::string text;
  for (const auto& signature : state_->signatures) text += signature->dump();
  return text;
}

bool CompiledFunction::wait_until_tuned(double seconds) const {
  std::vector<std::shared_ptr<const graph::BackgroundPlan>> tunings;
  {
    std::lock_guard lock(state_->mutex);
    for (const auto& signature : state_->signatures)
      if (auto tuning = signature->tuning()) tunings.push_back(std::move(tuning));
  }
  auto begin = std::chrono::steady_clock::now();
  return std::ranges::all_of(tunings, [&](const auto& tuning) {
    std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    return tuning->wait(seconds - spent.count());
  });
}

namespace detail {
void raise_wrong_count(std::span<const std::size_t> taken, std::size_t given) {
  std::string counts;
  for (std::size_t count : taken) counts += concat(counts.empty() ? "" : " or ", count);
  raise_error(concat("[compile] the function takes ", counts,
                     taken.size() == 1 && taken[0] == 1 ? " tensor" : " tensors",
                     " and the call has ", given, "; pass one for each parameter"));
}
}  // namespace detail

}  // namespace tilewright
