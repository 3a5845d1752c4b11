#include "graph/tensor/precision/autocast.h"

#include "graph/ir/location.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace graph {

static thread_local constinit std::optional<AutocastState> active = {};

std::optional<AutocastState> autocast_state() { return active; }

std::optional<AutocastState> exchange_autocast(std::optional<AutocastState> state) {
  return std::exchange(active, state);
}

std::string autocast_text(const std::optional<AutocastState>& state) {
  if (!state) return "off";
  return concat(state->dtype, " by the list for ",
                state->lists == AutocastLists::cpu ? "CPUs" : "CUDA");
}

// The state that the options ask for.
static std::optional<AutocastState> state_of(const AutocastOptions& options,
                                             std::source_location w) {
  if (!options.enabled) return std::nullopt;
  require(is_float16(options.dtype), "[autocast] the dtype is ", options.dtype, " (at ", At{w},
          "); it must be a float of 16 bits");
  const bool is_of_short_range = exponent_bits(options.dtype) < exponent_bits(DType::f32);
  const AutocastLists usual = is_of_short_range ? AutocastLists::cuda : AutocastLists::cpu;
  return AutocastState{options.dtype, options.lists.value_or(usual)};
}

}  // namespace graph

AutocastScope::AutocastScope(const AutocastOptions& options, std::source_location w)
    : around_(graph::exchange_autocast(graph::state_of(options, w))) {}
AutocastScope::~AutocastScope() { graph::exchange_autocast(around_); }

}  // namespace tilewright
