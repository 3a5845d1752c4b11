// One operator of exported programs, called without a program, for tests.
#pragma once

#include <string>
#include <vector>

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::testing {

// What the operator gives for these tensors, by the names of its arguments, and other arguments.
class OneCall {
 public:
  explicit OneCall(const std::string& target) { node_.target = target; }
  OneCall& with(const std::string& name, const Tensor& tensor) {
    node_.arguments.push_back({name, exported::TensorName{static_cast<int>(values_.size())}});
    values_.emplace_back(tensor);
    return *this;
  }
  OneCall& with(const std::string& name, const exported::ArgumentValue& value) {
    node_.arguments.push_back({name, value});
    return *this;
  }
  OneCall& with_list(const std::string& name, const std::vector<Tensor>& tensors) {
    exported::TensorNames names;
    for (const Tensor& tensor : tensors) {
      names.ids.emplace_back(static_cast<int>(values_.size()));
      values_.emplace_back(tensor);
    }
    node_.arguments.push_back({name, names});
    return *this;
  }
  std::vector<Tensor> all() const {
    exported::Call call(node_, values_, {});
    auto op = exported::find_operator(node_.target);
    require(op.has_value(), "no ", node_.target);
    std::vector<Tensor> tensors;
    for (const exported::Value& value : op->compute(call, false))
      tensors.push_back(std::get<Tensor>(value));
    call.refuse_unread();
    return tensors;
  }
  Tensor one() const { return all().front(); }

 private:
  exported::Node node_;
  std::vector<exported::Value> values_;
};

inline exported::ArgumentValue integers(const std::vector<std::int64_t>& values) {
  return std::vector<exported::Integer>(values.begin(), values.end());
}

}  // namespace tilewright::testing
