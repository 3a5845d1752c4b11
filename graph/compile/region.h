// region(): a named stretch of a function that is compiled as a unit of its own.
//
//   auto block = region("block", [&](const Tensor& x) { return relu(linear(x, w)) + x; });
//   Tensor y = block(x);                                                  // as compile(f)
//   Compiled fast = compile([&](const Tensor& x) { return block(block(x)); });  // two units
//
// By itself it is what compile() makes of the function. Called inside another compiled function it
// is a part of that one's graph, and its place stays a border there: no kernel reaches over it, and
// what it computes that is also computed outside is computed by itself. So calls of equal structure
// are computed by the same kernels, which are compiled once, whatever stands around them; reports
// name them (`PlanReport::marked`, `explain()`). Results are those of the function without marks,
// but for the order of additions.
//
// Layers that repeat need no mark: compile() finds four or more of them by their structure. A mark
// says so of fewer, or where layers are no unit by themselves. A region called within a region is
// a unit of its own, and the one around it the rest. Keep the object: one that is made at each call
// compiles at each call.
#pragma once

#include <string>
#include <type_traits>
#include <utility>

#include "graph/compile/compile.h"

namespace tilewright {

namespace detail {
template <typename Face>
Face marked(Face compiled, std::string name) {
  compiled.mark_as_region(std::move(name));
  return compiled;
}
}  // namespace detail

// Takes and returns the same as compile(). `name` is not empty; other regions may have it, too.
template <typename F>
requires(!requires(F & f) { &F::forward; }) auto region(std::string name, F function,
                                                        Options options = {}) {
  return detail::marked(compile(std::move(function), std::move(options)), std::move(name));
}
template <typename M>
requires requires(M& m) { &M::forward; }
auto region(std::string name, M& module, Options options = {}) {
  return detail::marked(compile(module, std::move(options)), std::move(name));
}
template <typename M, typename Member>
requires std::is_member_function_pointer_v<Member>
auto region(std::string name, M& module, Member member, Options options = {}) {
  return detail::marked(compile(module, member, std::move(options)), std::move(name));
}

}  // namespace tilewright
