// User-defined operations, which are called like others and are compiled by compile().
//
//   auto swish = custom_op("swish", elementwise([](dsl::Tile x, dsl::Tile by) {
//     return x * dsl::sigmoid(x * by);
//   }));
//   Tensor y = swish(x, by);
//
// An op is implemented in one of four ways:
//
//   elementwise(f)    a function of tiles that looks at one element of each operand, which are
//                     broadcast. It becomes pointwise operations and fuses with its neighbours; it
//                     needs no shape rule.
//   TileKernel        a kernel of the tile language (graph/custom/custom_call.h): one launch, that
//                     is scheduled, recorded, timed and tuned like those of other regions
//   BufferFunction    C++ on the host's memory: scheduled and recorded like a launch. For a GPU
//                     its operands are copied to the host and its results back; no recording.
//   GraphFunction     operations on tensors, which fuse as if they stood there
//
// The result of an op depends on its operands alone. Called outside compile() it runs at once. An
// error of a shape rule names the op, the types and the line of the call.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dsl/language/tile.h"
#include "graph/custom/custom_call.h"
#include "graph/functions/custom/custom_functions.h"
#include "graph/ir/custom_reference.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

namespace detail {
template <typename F, std::size_t... I>
dsl::Tile call_with_tiles(const F& function, std::span<const dsl::Tile> tiles,
                          std::index_sequence<I...>) {
  return function(tiles[I]...);
}
template <typename R, typename... P>
constexpr std::size_t arity(R (*)(P...)) {
  return sizeof...(P);
}
template <typename C, typename R, typename... P>
constexpr std::size_t arity(R (C::*)(P...) const) {
  return sizeof...(P);
}
}  // namespace detail

// For a function Tile(Tile, ...): a lambda that names its parameters' types, or a pointer.
template <typename F>
ElementwiseFunction elementwise(F function) {
  constexpr std::size_t count = [] {
    if constexpr (std::is_pointer_v<F>)
      return detail::arity(F{});
    else
      return detail::arity(&F::operator());
  }();
  return {count, [f = std::move(function)](std::span<const dsl::Tile> tiles) {
            return detail::call_with_tiles(f, tiles, std::make_index_sequence<count>());
          }};
}

struct CustomOptions {
  // Operands that the op changes: none, or {0}. The tensor has the new value after the call, like
  // those that operations ending in _ write. Such an op has no results of its own: its shape rule
  // gives none ({}), or the type of the tensor, and a call returns the tensor. Other operands keep
  // the values from before the call, even if they lie in the same memory.
  std::vector<int> writes = {};
  // The rule of its derivative (graph/differentiating/differentiate.h), a function of tensors, for
  // ops that write nothing: a cotangent for each operand, in its type, or an undefined tensor where
  // none flows. Cotangents of results are undefined where none flows. Without a rule a function of
  // tensors is differentiated by what it is made of, and a kernel or C++ is an Error.
  using Derivative = std::function<std::vector<Tensor>(std::span<const Tensor> operands,
                                                       std::span<const Tensor> results,
                                                       std::span<const Tensor> cotangents)>;
  Derivative derivative = {};
};

// A regular value; copies are one op.
class CustomOp {
 public:
  explicit CustomOp(graph::CustomReference definition) : definition_(std::move(definition)) {}
  const std::string& name() const { return definition_.name(); }

  // The one result; raises `Error` where there are several.
  Tensor operator()(const TensorOperand& a) const { return one({&a}); }
  Tensor operator()(const TensorOperand& a, const TensorOperand& b) const { return one({&a, &b}); }
  Tensor operator()(const TensorOperand& a, const TensorOperand& b, const TensorOperand& c) const {
    return one({&a, &b, &c});
  }
  Tensor operator()(const TensorOperand& a, const TensorOperand& b, const TensorOperand& c,
                    const TensorOperand& d) const {
    return one({&a, &b, &c, &d});
  }
  // Tensors and numbers, as many as there are; the line is that of the first.
  template <typename... More>
  requires(sizeof...(More) > 0 && (std::convertible_to<More, TensorOperand> && ...)) Tensor
  operator()(const TensorOperand& a, const TensorOperand& b, const TensorOperand& c,
             const TensorOperand& d, More&&... more) const {
    return of_many({a, b, c, d, TensorOperand(std::forward<More>(more))...});
  }
  // All results, of any number of operands. For an op that writes its first operand, that one.
  std::vector<Tensor> all(const std::vector<Tensor>& operands,
                          std::source_location where = std::source_location::current()) const;

 private:
  Tensor of_many(std::initializer_list<TensorOperand> operands) const;
  Tensor result_of(std::span<const TensorOperand* const> operands) const;
  Tensor one(std::initializer_list<const TensorOperand*> operands) const;
  graph::CustomReference definition_;
};

// `name` is a word: letters, digits and _. Raises `Error` where it is not, or the parts do not fit
// together.
CustomOp custom_op(const std::string& name, ElementwiseFunction function);
CustomOp custom_op(const std::string& name, ShapeRule rule, TileKernel kernel,
                   const CustomOptions& options = {});
CustomOp custom_op(const std::string& name, ShapeRule rule, BufferFunction function,
                   const CustomOptions& options = {});
CustomOp custom_op(const std::string& name, ShapeRule rule, GraphFunction function,
                   const CustomOptions& options = {});

}  // namespace tilewright
