// A part of a tensor that index tensors or masks pick, x[mask] or x[{rows, 0}], for use at once.
//
// It is read as the Tensor of x.index({...}), to which it converts, and has its common members. An
// assignment writes the part in place, as x.index_put_({...}, value) does, and reads nothing where
// it does not have to: x[mask] = 0 breaks no graph. To keep the elements, name their type: `Tensor
// y = x[mask]` copies them, while `auto y = x[mask]` is this part and would be read later, so that
// it does not convert.
#pragma once

#include <optional>
#include <source_location>
#include <utility>
#include <vector>

#include "graph/tensor/user/tensor_handle.h"

namespace tilewright {

class IndexedTensor {
 public:
  using Line = std::source_location;
  IndexedTensor(Tensor tensor, std::vector<TensorIndex> indices)
      : tensor_(std::move(tensor)), indices_(std::move(indices)) {}
  operator Tensor() && { return tensor_.index(indices_); }
  void operator=(const TensorOperand& value) &&;
  void operator=(IndexedTensor&& value) &&;
  void operator+=(const TensorOperand& value) &&;
  void operator-=(const TensorOperand& value) &&;
  void operator*=(const TensorOperand& value) &&;
  void operator/=(const TensorOperand& value) &&;
  void operator&=(const TensorOperand& value) &&;
  void operator|=(const TensorOperand& value) &&;
  void operator^=(const TensorOperand& value) &&;

#define TILEWRIGHT_MEMBER_UNARY(name) Tensor name(Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_BINARY(name) Tensor name(const TensorOperand& other) const;
#define TILEWRIGHT_MEMBER_AXIS(name) Tensor name(int axis, Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_AXES(name) \
  Tensor name(const Axes& axes = {}, bool keep_dims = false, Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_PLACE(name) \
  Tensor name(std::optional<int> axis = {}, bool keep_dims = false, Line w = Line::current()) const;
#define TILEWRIGHT_MEMBER_CHANGE(name)
#define TILEWRIGHT_MEMBER_CHANGE_BY(name)
#include "graph/tensor/user/members.def"
  Shape shape() const { return tensor_.index(indices_).shape(); }
  std::int64_t size(int axis) const { return tensor_.index(indices_).size(axis); }
  DType dtype() const { return tensor_.dtype(); }
  int rank() const { return shape().rank(); }
  std::int64_t count() const { return element_count(shape()); }
  Tensor reshape(const Sizes& shape, Line w = Line::current()) const;
  Tensor view(const Sizes& shape, Line w = Line::current()) const;
  Tensor permute(const std::vector<int>& axes, Line w = Line::current()) const;
  Tensor transpose(int a, int b, Line w = Line::current()) const;
  Tensor unsqueeze(int axis, Line w = Line::current()) const;
  Tensor squeeze(int axis, Line w = Line::current()) const;
  Tensor contiguous(Line w = Line::current()) const;
  Tensor operator[](const ViewIndex& index) const;
  Tensor index(const std::vector<TensorIndex>& indices) const {
    return tensor_.index(indices_).index(indices);
  }
  Tensor to(DType dtype, Line w = Line::current()) const;
  Tensor clone(Line w = Line::current()) const;
  template <typename T>
  T item(Line w = Line::current()) const {
    return tensor_.index(indices_).item<T>(w);
  }
  template <typename T>
  std::vector<T> to_vector(Line w = Line::current()) const {
    return tensor_.index(indices_).to_vector<T>(w);
  }

 private:
  Tensor tensor_;
  std::vector<TensorIndex> indices_;
};

}  // namespace tilewright
