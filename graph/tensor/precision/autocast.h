// Automatic mixed precision, as torch.autocast: within a function, products and convolutions are
// computed in 16 bits, and functions that need range or digits (losses, norms, sums) in f32.
//
//   auto loss_of = autocast([&](const Tensor& x, const Tensor& y) {
//     return cross_entropy(net.forward(x), y);
//   }, bf16);
//   auto step = compile([&](const Tensor& x, const Tensor& y) {
//     auto [loss, gradients] = value_and_grad(net, loss_of)(x, y);
//     optimizer.step(gradients);
//     return loss;
//   });
//
// Parameters stay in f32, and so do their gradients: a conversion to 16 bits is an operation like
// others, whose derivative converts back. A parameter that is used several times is converted once
// in a compiled function. It works at once, in compiled functions, in derivatives and in the bodies
// of loops and choices. `autocast(value_and_grad(f))` computes f so, and the derivative in the
// dtypes that follow from it.
//
// Which functions are cast is a table (autocast.def) with a column for each of PyTorch's two lists,
// those for CPUs and for CUDA. Only operands of f32 and 16 bits are converted: f64, integers and
// 8-bit floats stay as they are. Functions outside of the table see their operands as they are,
// and promote them. A listed function computes as a whole in its dtype, so that what it is made of
// is not cast again. The inner one of two scopes counts, on this thread alone. A compiled function
// that is called within a scope has plans of its own for it.
#pragma once

#include <cstdint>
#include <optional>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "graph/tensor/user/tensor_handle.h"

namespace tilewright {

// Which functions compute in 16 bits and which in f32: torch.autocast("cpu") or ("cuda"). The list
// for CUDA has more functions in f32 (exp, pow, softmax, sums, norms), as f16 needs.
enum class AutocastLists : std::uint8_t { cpu, cuda };

struct AutocastOptions {
  DType dtype = {};  // f16 or bf16
  // By default that for CUDA with f16 and that for CPUs with bf16, on every device, so that a
  // function computes the same everywhere.
  std::optional<AutocastLists> lists = {};
  bool enabled = true;
};

namespace graph {

struct AutocastState {
  DType dtype;
  AutocastLists lists;
  bool operator==(const AutocastState&) const = default;
};
// The state of this thread; none: nothing is cast.
std::optional<AutocastState> autocast_state();
// Gives the state before.
std::optional<AutocastState> exchange_autocast(std::optional<AutocastState> state);
std::string autocast_text(const std::optional<AutocastState>& state);  // "bf16 by the list .."

}  // namespace graph

// Autocast for as long as the scope lasts. Raises `Error` for a dtype that is not f16 or bf16.
class AutocastScope {
 public:
  explicit AutocastScope(const AutocastOptions& options,
                         std::source_location w = std::source_location::current());
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  std::optional<graph::AutocastState> around_;
};

namespace detail {

// A function within a scope: of the parameters that it has itself, or a template where it is one.
template <typename F>
auto within_autocast(F f, AutocastOptions options, std::source_location w, const void*) {
  return [f = std::move(f), options, w]<typename... Arguments>(
             Arguments&&... arguments) -> std::invoke_result_t<const F&, Arguments...> {
    const AutocastScope scope(options, w);
    return f(std::forward<Arguments>(arguments)...);
  };
}
template <typename F, typename Class, typename Result, typename... Parameters>
auto within_autocast(F f, AutocastOptions options, std::source_location w,
                     Result (Class::*)(Parameters...) const) {
  return [f = std::move(f), options, w](Parameters... parameters) -> Result {
    const AutocastScope scope(options, w);
    return f(std::forward<Parameters>(parameters)...);
  };
}
template <typename Result, typename... Parameters>
auto within_autocast(Result (*f)(Parameters...), AutocastOptions options, std::source_location w,
                     const void*) {
  return [f, options, w](Parameters... parameters) -> Result {
    const AutocastScope scope(options, w);
    return f(std::forward<Parameters>(parameters)...);
  };
}

}  // namespace detail

// The function within such a scope.
template <typename F>
auto autocast(F f, AutocastOptions options,
              std::source_location w = std::source_location::current()) {
  if constexpr (requires { &F::operator(); })
    return detail::within_autocast(std::move(f), options, w, &F::operator());
  else
    return detail::within_autocast(std::move(f), options, w, nullptr);
}
template <typename F>
auto autocast(F f, DType dtype, std::source_location w = std::source_location::current()) {
  return autocast(std::move(f), AutocastOptions{.dtype = dtype}, w);
}
// The function without autocast, inside of one that has it. Arguments of 16 bits stay so.
template <typename F>
auto without_autocast(F f, std::source_location w = std::source_location::current()) {
  return autocast(std::move(f), AutocastOptions{.dtype = {}, .enabled = false}, w);
}

}  // namespace tilewright
