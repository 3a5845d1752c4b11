// The values of an ONNX program: a tensor, numbers that the host knows, a sequence of such values,
// or nothing, where a value may be absent.
//
// ONNX has sizes, axes and bounds as tensors: a reshape takes its shape from a tensor that other
// nodes have computed from sizes. Those are few numbers, and known when a program is run or
// captured, for a capture has sizes; kept on the host, they cost no kernels and break no graph.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "graph/functions/pointwise/host_constants.h"
#include "graph/tensor/tensor.h"
#include "graph/tensor/user/number.h"

namespace tilewright::onnx {

// Up to this many elements are kept on the host.
constexpr std::int64_t most_known = 4096;

// Row-major; integers and flags are integral numbers, in the range of the dtype.
struct Known {
  DType dtype;
  Shape shape;
  std::vector<Number> elements;
  bool is_zero() const;  // all of them
};
// `value` as the dtype has it: rounded, wrapped, or compared with 0.
Number as_element(const Number& value, DType dtype);
// True if numbers of this dtype are kept on the host: those whose arithmetic the host has too. It
// has none for u64, because integers are i64 there.
bool can_be_known(DType dtype);

// True if a program reads an initializer with these elements as numbers: sizes, flags, zero points.
// Weights stay tensors, since an application may replace them: floats with axes, and matrices of 8
// bits other than zeros, which are the zero points of a layer's directions.
bool are_numbers(const Tensor& initializer);

class Value;
using Sequence = std::vector<Value>;
// Inserting copies a sequence, which would take long for many.
constexpr std::int64_t most_in_a_sequence = 1 << 14;

class Value {
 public:
  Value() = default;
  Value(Tensor tensor) : tensor_(std::move(tensor)) {}
  Value(Known known) : known_(std::make_shared<const Known>(std::move(known))) {}
  // Both, of one content.
  Value(Tensor tensor, std::shared_ptr<const Known> known)
      : tensor_(std::move(tensor)), known_(std::move(known)) {}

  Value(Sequence sequence) : sequence_(std::make_shared<const Sequence>(std::move(sequence))) {}
  static Value absent();  // an absent optional value

  bool defined() const {
    return known_ != nullptr || tensor_.defined() || sequence_ != nullptr || is_absent_;
  }
  bool is_absent() const { return is_absent_; }
  bool is_tensor() const { return known_ != nullptr || tensor_.defined(); }
  const Known* known() const { return known_.get(); }
  // These raise `Error` where it is not a tensor, or not a sequence.
  DType dtype() const;
  const Shape& shape() const;
  Tensor tensor() const;  // made of the numbers if there is no tensor yet
  const Sequence& sequence() const;

 private:
  void require_tensor() const;

  Tensor tensor_;
  std::shared_ptr<const Known> known_;
  std::shared_ptr<const Sequence> sequence_;
  bool is_absent_ = false;
};

// Tensors, of one type, along a new first axis; numbers of the host stay such.
Value stacked(const std::vector<Value>& parts);

using graph::as_constant;
using graph::constant_of;

// The elements of a tensor that lies on the host, read.
Known known_of(const Tensor& tensor);

}  // namespace tilewright::onnx
