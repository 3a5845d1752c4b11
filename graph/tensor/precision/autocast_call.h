// The functions that autocast casts (graph/tensor/precision/autocast.h), by the rows of
// autocast.def, and a call of one. Apart from autocast.h, which users include.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

#include "graph/tensor/precision/autocast.h"
#include "graph/tensor/user/tensor_handle.h"

namespace tilewright {
namespace graph {

// The dtype to which the operands of a function are converted.
enum class AutocastKind : std::uint8_t {
  few_bits,
  f32,
  widest,    // few bits, or f32 if an operand has that
  as_is,     // and what the function is made of is not cast either
  by_parts,  // what the function is made of is cast, each part by its own row
};
// By PyTorch's name of the function; none: it is in no list.
std::optional<AutocastKind> autocast_kind(std::string_view function, AutocastLists lists);
// True for the dtypes that are converted.
bool is_cast(DType dtype);

// A call of a function that is in the table. While this object lives nothing else is cast.
//
//     Tensor linear(const TensorOperand& x, const Tensor& weight, const Tensor& bias) {
//       if (const AutocastCall cast("linear", x.where); cast.is_listed())
//         return linear(cast(x), cast(weight), cast(bias));
//       ..
//     }
class AutocastCall {
 public:
  // `all`: the operands among which the widest dtype is found.
  AutocastCall(std::string_view function, std::source_location where,
               std::span<const Tensor> all = {}) {
    if (is_active()) [[unlikely]]
      begin(function, where, all);
  }
  AutocastCall(std::string_view function, std::source_location where,
               std::initializer_list<Tensor> all)
      : AutocastCall(function, where, std::span(all.begin(), all.size())) {}
  ~AutocastCall();
  AutocastCall(const AutocastCall&) = delete;
  AutocastCall& operator=(const AutocastCall&) = delete;

  bool is_listed() const { return paused_.has_value(); }
  Tensor operator()(const Tensor& tensor) const;  // undefined ones stay so
  TensorOperand operator()(const TensorOperand& operand) const;
  std::vector<Tensor> operator()(const std::vector<Tensor>& tensors) const;

 private:
  static bool is_active();
  void begin(std::string_view function, std::source_location where, std::span<const Tensor> all);

  std::optional<AutocastState> paused_;  // of the scope; none: not listed
  std::optional<DType> dtype_;           // to convert to; none: as they are
  std::source_location where_;
};

// Nothing is cast as long as it lasts, since the library chooses the dtypes of its own graphs.
class AutocastPause {
 public:
  AutocastPause();
  ~AutocastPause();
  AutocastPause(const AutocastPause&) = delete;
  AutocastPause& operator=(const AutocastPause&) = delete;

 private:
  std::optional<AutocastState> paused_;
};

}  // namespace graph
}  // namespace tilewright
