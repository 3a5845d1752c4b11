// Looking at tensors from inside a function: `print` and `log_callback`.
//
//   Compiled f = compile([](const Tensor& x) {
//     Tensor h = relu(x);
//     print(h, "h");
//     log_callback(sum(h), [](const Tensor& s) { history.push_back(s.item<float>()); });
//     return h * 2;
//   });
//
// Outside a compiled function both happen at once. Inside one they do not break the graph: the
// value becomes one more result of it, and its use waits until the call has run. Then all of them
// are done, in the order in which the function asked for them, each once a call, with values as
// they were at that place, also of a tensor that is written later. For this they are copied, and on
// a GPU waited for.
//
//   * `CompiledFunction::repeat` runs a function that logs time by time, and then does for each
//     time what it asked for, in order. `measure` counts as so many calls.
//   * Where a function is captured anew, as for other shapes or after a handle was assigned, it is
//     asked again, and later calls do what it asked for last.
//   * What runs op by op (Stance::force_eager, Backend::eager) does so at once; a function whose
//     graph breaks waits for the end of its call like any other.
//   * A compiled function that is called inside another one logs with the calls of that one.
//   * Several threads that call one function print each call's lines together, but call by call in
//     no order.
//
// A callback runs on the thread of the call, after the function has returned: it must refer to
// nothing that is gone then, such as locals of the function. It may call compiled functions, that
// one too. An exception that it throws reaches the caller of the compiled function, whose results
// are lost then and whose later callbacks are not called; tensors that it wrote in place stay
// written, and the next call is like any other.
#pragma once

#include <functional>
#include <iosfwd>
#include <source_location>
#include <string>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Calls `callback` with the tensor's value: a tensor of its own, on the host, row-major, which it
// may keep. Raises `Error` for an undefined tensor or an empty callback.
void log_callback(const Tensor& tensor, std::function<void(const Tensor&)> callback,
                  std::source_location w = std::source_location::current());

// Writes a line with the label, the dtype and the shape, and then the elements:
//
//   h: f32 2x3
//   [[0.5000, 0.0000, 1.2500],
//    [3.0000, 0.0000, 0.0000]]
//
// The format of the elements is chosen for all of them, as PyTorch does. With more than 1000
// elements only three at each end of an axis are shown, with "..." between them. To stdout
// (std::cout), or to a stream that must outlive the compiled function; each print is one write.
// Raises `Error` for an undefined tensor.
void print(const Tensor& tensor, std::string label = {},
           std::source_location w = std::source_location::current());
void print(const Tensor& tensor, std::ostream& stream,
           std::source_location w = std::source_location::current());
void print(const Tensor& tensor, std::string label, std::ostream& stream,
           std::source_location w = std::source_location::current());

}  // namespace tilewright
