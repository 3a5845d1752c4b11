// The body that a Tensor handle points to. Separate from tensor.h so that users of tensors see no
// buffers and no node ids.
//
// A body is concrete (it has a buffer, and a strided view within it) or symbolic (it stands for a
// node of the capture whose serial it carries). In-place operations change what a body stands for,
// so that all handles on it follow.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>
#include <string_view>
#include <utility>

#include "graph/ir/ir.h"
#include "graph/ir/strided_view.h"
#include "graph/tensor/memory/step.h"
#include "runtime/buffer.h"

namespace tilewright {

class Tensor;      // graph/tensor/tensor.h
struct SizeMarks;  // graph/compile/sizes/size_range.h

struct TensorBody;
// A chain of bases ends one after the other, since it may be longer than a stack is deep.
struct BaseBody : std::shared_ptr<TensorBody> {
  using std::shared_ptr<TensorBody>::shared_ptr;
  BaseBody(const BaseBody&) = default;
  BaseBody(BaseBody&&) = default;
  BaseBody& operator=(const BaseBody&) = default;
  BaseBody& operator=(BaseBody&&) = default;
  BaseBody(std::shared_ptr<TensorBody> body) : std::shared_ptr<TensorBody>(std::move(body)) {}
  ~BaseBody();
};

struct TensorBody {
  DType dtype = DType::f32;
  graph::StridedView view;         // a symbolic body uses its shape only
  std::shared_ptr<Buffer> buffer;  // null: symbolic
  // Made from nothing (zeros, arange, ...) on the host: operations bring it to where the other
  // operands lie.
  bool is_constant = false;
  bool is_setting = false;      // set between calls, whatever is promised of weights (mark_setting)
  bool is_made_inside = false;  // of a captured tensor: the function made it of the host's numbers
  graph::StepToken token;       // of a tensor over memory that a function uses again
  std::shared_ptr<const SizeMarks> size_marks;  // of a concrete body; null: there are none

  std::uint64_t capture = 0;  // serial of the capture that a symbolic body belongs to
  graph::NodeId node = 0;
  int version = 0;  // how often it was written in place during captures
  // For a symbolic view: the body that it was taken from, and that body's version then.
  BaseBody base;
  int base_version = 0;
  std::uint64_t compared = 0;  // the newest write (latest_write) when it was found to be current
  int views = 0;               // of a symbolic body: how many were taken from it
  // True if `view` made it, which promises to share the base's elements. A concrete body has it
  // where it is a copy instead, because the function was captured.
  bool must_share = false;
};

namespace graph {

// The number of writes to symbolic tensors in this process so far, from 1 on.
std::uint64_t latest_write();
void count_write();

// A concrete tensor over `buffer`.
Tensor make_tensor(DType dtype, StridedView view, std::shared_ptr<Buffer> buffer);
// The body, which must exist; `operation` begins the message otherwise.
TensorBody& body_of(const Tensor& tensor, std::string_view operation, std::source_location where);
// Raises `Error` for a copy that stands in for a view: a write would not reach the viewed tensor.
void require_shared(const TensorBody& concrete, std::string_view operation,
                    std::source_location where);
// The same, and where functions hold copies of the memory, which would not follow a write.
void require_writable(const TensorBody& concrete, std::string_view operation,
                      std::source_location where);
// Raises `Error` where elements of a concrete tensor share a place in memory, so that it cannot be
// written.
void require_own_elements(const TensorBody& concrete, std::string_view operation,
                          std::source_location where);
// The address of the first element.
void* address_of(const TensorBody& body);
bool begins_aligned(const TensorBody& body);    // there, at a multiple of 64 bytes
DeviceMemory* memory_of(const Tensor& tensor);  // that a concrete tensor lies in; null: the host's

}  // namespace graph
}  // namespace tilewright
