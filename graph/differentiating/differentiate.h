// Derivatives of functions of tensors, of any order, as torch.func and JAX have them.
//
//   auto loss = [](const Parameters& p, const Tensor& x, const Tensor& y) {
//     return mse_loss(matmul(tanh(matmul(x, p.w1)), p.w2), y);
//   };
//   auto [value, gradients] = value_and_grad(loss)(p, x, y);   // gradients: Parameters
//   Tensor slope = grad(grad([](const Tensor& x) { return sin(x); }))(Tensor::scalar(1.0));
//
// A function takes and gives tensors and structures of tensors (graph/compile/calls/structure.h):
// lists, maps by name, tuples, plain structs. Gradients have the structure, shapes and dtypes of
// the arguments that they are of. All of this works at once, inside compile(), and nested.
//
// Each call runs the function once over symbolic tensors, and computes its results and gradients as
// one operation; inside compile() these become part of the graph, and values that the
// function and its derivative share are computed once. Hence:
//   * A value that the function reads (`item()`) is a constant to the derivative. It is computed
//     from the arguments' values, which costs a call; inside compile() the graph breaks there, and
//     what precedes the break runs twice. Within a body of control flow it is an Error.
//   * The function may not write its arguments in place: an Error. Other tensors that it writes
//     (running statistics, a generator's state) are written once a call.
//   * Arguments without a gradient, and tensors that the function refers to, are constants: nothing
//     is computed for them.
//   * Ties, and points without a derivative, have PyTorch's value. One thing differs: the side of a
//     `where` that is not taken has the gradient 0, also where its own slope is infinite or NaN.
//   * Sums of several cotangents of 16 bits are made in f32 and rounded once.
//   * A kernel or C++ (custom_op) without a rule has no derivative: an Error that names it and its
//     line. Its inputs can be cut off by stop_gradient. A `while_loop` has `jvp`, and gradients if
//     its turns have a bound (WhileOptions::max_turns).
//
// Misuse raises `Error` with the line of the call. Functions that are returned are values; safe to
// call from several threads, as far as the function itself is.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "graph/compile/calls/structure.h"
#include "graph/functions/differentiating/differentiated_function.h"
#include "graph/tensor/tensor.h"
#include "runtime/base/error.h"

namespace tilewright {

// The tensor with the derivative 0: gradients do not flow through it. It is the tensor itself if
// that is not floating, or outside of a differentiated function.
Tensor stop_gradient(const Tensor& x, std::source_location w = std::source_location::current());

namespace detail {

using TensorList = std::vector<Tensor>;

// A call of a function by structures as one by a list of tensors.
template <typename F, typename... Arguments>
class StructuredCall {
 public:
  using Result = std::invoke_result_t<const F&, Arguments&...>;

  // `references`: tensors that the function refers to and is differentiated by.
  StructuredCall(std::string_view name, const F& f, std::source_location where,
                 const TensorList& references, const Arguments&... arguments)
      : arguments_(arguments...),
        begins_{},
        function_(name, flat(f), tensors_of(arguments...), where, references) {}

  const graph::DifferentiatedFunction& function() const { return function_; }
  // The tensors of these arguments.
  std::vector<std::size_t> tensors_in(const std::vector<std::size_t>& numbers) const {
    std::vector<std::size_t> tensors;
    for (std::size_t number : numbers)
      for (std::size_t i = begins_[number]; i < begins_[number + 1]; ++i) tensors.push_back(i);
    return tensors;
  }
  Result result(const TensorList& tensors) const {
    TensorResults whole = results_;
    whole.tensors = tensors;
    return whole.template as<Result>();
  }
  // Argument `number` with these tensors from `next` on.
  template <std::size_t number>
  auto argument(const TensorList& tensors, std::size_t& next) const {
    auto copy = std::get<number>(arguments_);
    ReplaceTensors replace{tensors, next};
    visit_structure(copy, replace);
    next = replace.next;
    return copy;
  }

 private:
  TensorList tensors_of(const Arguments&... arguments) {
    TensorsOf all;
    std::size_t number = 0;
    ((begins_[number++] = all.tensors.size(), add_tensors(arguments, all)), ...);
    begins_[number] = all.tensors.size();
    return std::move(all.tensors);
  }
  std::function<TensorList(const TensorList&)> flat(const F& f) {
    return [this, &f](const TensorList& inputs) {
      std::tuple<Arguments...> copies = arguments_;
      ReplaceTensors replace{inputs};
      std::apply([&](auto&... each) { (visit_structure(each, replace), ...); }, copies);
      results_ = TensorResults::of(std::apply(f, copies));
      return results_.tensors;
    };
  }

  std::tuple<Arguments...> arguments_;
  std::array<std::size_t, sizeof...(Arguments) + 1> begins_;
  TensorResults results_;
  graph::DifferentiatedFunction function_;
};

template <std::size_t... Numbers>
struct ArgumentNumbers {
  static std::vector<std::size_t> list() { return {Numbers...}; }
  static constexpr bool are_below(std::size_t count) { return ((Numbers < count) && ...); }
  // One gradient by itself, several as a tuple.
  template <typename Call>
  static auto gradients(const Call& call, const TensorList& tensors) {
    std::size_t next = 0;
    if constexpr (sizeof...(Numbers) == 1)
      return (call.template argument<Numbers>(tensors, next), ...);
    else
      return std::tuple{call.template argument<Numbers>(tensors, next)...};
  }
};
template <std::size_t... Numbers>
struct NumbersOr0 : ArgumentNumbers<Numbers...> {};
template <>
struct NumbersOr0<> : ArgumentNumbers<0> {};
template <typename Sequence>
struct NumbersIn;
template <std::size_t... Numbers>
struct NumbersIn<std::index_sequence<Numbers...>> : ArgumentNumbers<Numbers...> {};

// 1 for the loss, the first result, which has one floating element; nothing for the others.
TensorList loss_cotangents(std::string_view name, const graph::DifferentiatedFunction& function,
                           std::source_location where);
// By a tensor for each result; undefined of results that are not floating.
TensorList cotangents_of(const graph::DifferentiatedFunction& function, TensorList given);
// True if operations are recorded, so that a derivative may be taken of them.
bool is_recorded();

template <typename T>
TensorList tensors_of(const T& structure) {
  TensorsOf all;
  add_tensors(structure, all);
  return std::move(all.tensors);
}

}  // namespace detail

// f with its gradient: value_and_grad(f)(arguments..) is the pair of f's result and the gradient of
// its first argument, or of the arguments of these numbers: value_and_grad<0, 2>(f) gives a tuple
// of two gradients. f returns a tensor of one floating element, or a structure whose first tensor
// that is, as a pair of the loss and other results.
template <std::size_t... Numbers, typename F>
auto value_and_grad(F f, std::source_location w = std::source_location::current()) {
  return [ f = std::move(f), w ]<typename... Arguments>(const Arguments&... arguments) requires(
      detail::NumbersOr0<Numbers...>::are_below(sizeof...(Arguments)) &&
      std::invocable<const F&, Arguments&...>) {
    using Wanted = detail::NumbersOr0<Numbers...>;
    const detail::StructuredCall<F, Arguments...> call("value_and_grad", f, w, {}, arguments...);
    const auto all =
        call.function().gradients(call.tensors_in(Wanted::list()),
                                  detail::loss_cotangents("value_and_grad", call.function(), w));
    return std::pair{call.result(all.results), Wanted::gradients(call, all.gradients)};
  };
}

// The gradient alone.
template <std::size_t... Numbers, typename F>
auto grad(F f, std::source_location w = std::source_location::current()) {
  return [ f = std::move(f), w ]<typename... Arguments>(const Arguments&... arguments) requires(
      detail::NumbersOr0<Numbers...>::are_below(sizeof...(Arguments)) &&
      std::invocable<const F&, Arguments&...>) {
    using Wanted = detail::NumbersOr0<Numbers...>;
    const detail::StructuredCall<F, Arguments...> call("grad", f, w, {}, arguments...);
    const auto all = call.function().gradients(call.tensors_in(Wanted::list()),
                                               detail::loss_cotangents("grad", call.function(), w));
    return Wanted::gradients(call, all.gradients);
  };
}
// The gradients of the arguments of these numbers, which are tensors, as a list.
template <typename F>
auto grad(F f, std::vector<std::size_t> argnums,
          std::source_location w = std::source_location::current()) {
  return [f = std::move(f), argnums = std::move(argnums),
          w]<typename... Arguments>(const Arguments&... arguments) {
    for (std::size_t number : argnums)
      require(number < sizeof...(Arguments), "[grad] the gradient of argument ", number,
              " is asked for, of ", sizeof...(Arguments), " (at ", describe(w),
              "); numbers count from 0");
    const detail::StructuredCall<F, Arguments...> call("grad", f, w, {}, arguments...);
    return call.function()
        .gradients(call.tensors_in(argnums), detail::loss_cotangents("grad", call.function(), w))
        .gradients;
  };
}

// {f(primals..), the function from cotangents, in the structure of f's result, to those of the
// primals}: one by itself, several as a tuple. Cotangents have the shapes and dtypes of the result;
// those of tensors that are not floating are passed over. f runs once: the pullback uses the values
// that the derivative reads of that run, its random draws among them, as often as it is called.
// Outside of a captured function it refers to primals and other tensors that f reads, which must
// not be written before it is called. Inside one the pullback is of that function.
template <typename F, typename... Primals>
auto vjp(F f, const Primals&... primals) {
  const std::source_location w = std::source_location::current();
  using Wanted = detail::NumbersIn<std::index_sequence_for<Primals...>>;
  using Call = detail::StructuredCall<F, Primals...>;
  const auto call = std::make_shared<const Call>("vjp", f, w, detail::TensorList{}, primals...);
  auto split = call->function().split(call->tensors_in(Wanted::list()));
  auto pullback = [call,
                   of_list = std::move(split.pullback)](const typename Call::Result& cotangents) {
    return Wanted::gradients(
        *call, of_list(detail::cotangents_of(call->function(), detail::tensors_of(cotangents))));
  };
  return std::pair{call->result(split.results), std::move(pullback)};
}

// {f(primals..), its derivative in the direction of the tangents}, both in the structure of f's
// result. Tangents are as the primals, all of which are floating. By one sweep forwards, along with
// the function: nothing is kept for it, and loops of unknown length (while_loop) have it too.
template <typename F, typename... Each>
auto jvp(F f, const std::tuple<Each...>& primals, const std::tuple<Each...>& tangents,
         std::source_location w = std::source_location::current()) {
  return std::apply(
      [&](const Each&... each) {
        const detail::StructuredCall<F, Each...> call("jvp", f, w, {}, each...);
        const auto all = call.function().directional(detail::tensors_of(tangents));
        return std::pair{call.result(all.results), call.result(all.gradients)};
      },
      primals);
}
// The same for one argument.
template <typename F, typename T>
auto jvp(F f, const T& primal, const T& tangent,
         std::source_location w = std::source_location::current()) {
  return jvp(std::move(f), std::tuple<T>(primal), std::tuple<T>(tangent), w);
}

// f, whose values are not kept for a derivative around it, but computed again when that comes to
// them: its arguments and results are all that is kept. Gradients are the same bit for bit, its
// random draws too; derivatives of these are so but for the order of sums. Calls may be nested, and
// in bodies of loops. Without a derivative around it, it is f.
//
//   auto block = checkpoint([&](const Tensor& x) { return gelu(matmul(x, a)); });
//   auto of_blocks = grad([&](const Tensor& x) { return sum(block(block(x))); });
template <typename F>
auto checkpoint(F f, std::source_location w = std::source_location::current()) {
  return [ f = std::move(f), w ]<typename... Arguments>(
      const Arguments&... arguments) requires std::invocable<const F&, Arguments&...> {
    using Call = detail::StructuredCall<F, Arguments...>;
    if (!detail::is_recorded()) {
      std::tuple<Arguments...> copies(arguments...);  // as tensors that f takes to write
      return typename Call::Result(std::apply(f, copies));
    }
    const Call call("checkpoint", f, w, {}, arguments...);
    return call.result(call.function().checkpointed());
  };
}

// All derivatives of a function from a tensor to a tensor, both floating: a tensor of the result's
// shape and, behind it, the argument's. By a loop over the elements of the result, a reverse sweep
// each; the function itself runs once.
std::function<Tensor(const Tensor&)> jacobian(
    std::function<Tensor(const Tensor&)> f,
    std::source_location w = std::source_location::current());
// That of the gradient of a function to one element.
std::function<Tensor(const Tensor&)> hessian(
    std::function<Tensor(const Tensor&)> f,
    std::source_location w = std::source_location::current());

// The product of the second derivative of f, a function of one structure to one element, at x with
// `direction`, which is as x: without the matrix of all second derivatives.
template <typename F, typename T>
T hessian_vector_product(F f, const T& x, const T& direction,
                         std::source_location w = std::source_location::current()) {
  const auto slope = grad(std::move(f), w);
  const detail::StructuredCall<std::decay_t<decltype(slope)>, T> call("hessian_vector_product",
                                                                      slope, w, {}, x);
  const auto all = call.function().gradients(
      call.tensors_in({0}), detail::cotangents_of(call.function(), detail::tensors_of(direction)));
  std::size_t next = 0;
  return call.template argument<0>(all.gradients, next);
}

}  // namespace tilewright
