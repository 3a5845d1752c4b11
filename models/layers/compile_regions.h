// compile_regions(): a model whose repeated blocks are each compiled once, and the rest apart.
//
//   auto fast = compile_regions(model);        // an object with `forward`, as for compile(model)
//   Tensor y = fast(x);
//
// Does for our modules what Accelerate's function of this name does for PyTorch's. Blocks are found
// in the lists of the model, by what its modules have registered (repeated_blocks.h): each call of
// one is a marked region (graph/compile/region.h), and blocks of equal structure, also of different
// classes, are computed by the same kernels. A model without repeated blocks is compiled as by
// compile(model). Unlike with Accelerate, the regions are parts of one graph: there is one plan,
// calls of blocks cost only their launches, and no block is called by way of the host. compile()
// finds layers by their structure where there are four or more of them; this finds the layers that
// the author of the model has named.
#pragma once

#include <concepts>
#include <utility>

#include "graph/compile/compile.h"
#include "models/layers/module.h"
#include "models/layers/repeated_blocks.h"

namespace tilewright {

namespace detail {

// A model's `forward`, with the calls of its blocks marked.
template <typename M>
struct RegionalForward {
  M* model;
  template <typename... Given>
  auto operator()(Given&&... given) const
      -> decltype(model->forward(std::forward<Given>(given)...)) {
    RepeatedBlocks blocks(*model);
    return model->forward(std::forward<Given>(given)...);
  }
};
template <typename M>
struct TypedAs<RegionalForward<M>> : TypedAs<decltype(&M::forward)> {};

}  // namespace detail

// Compiles `forward` of the model, which must outlive the result. Options, errors and thread safety
// are those of compile().
template <std::derived_from<Module> M>
requires requires(M& m) { &M::forward; }
auto compile_regions(M& model, Options options = {}) {
  return detail::following(model, compile(detail::RegionalForward<M>{&model}, std::move(options)));
}

}  // namespace tilewright
