// One operator of exported programs, called without a program, for tests.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "models/exported/aten/operators.h"
#include "runtime/base/error.h"

namespace tilewright::testing {

// One call of an operator with these tensors, by the names of its arguments, and other arguments.
class OneCall {
 public:
  explicit OneCall(const std::string& target) { node_.target = target; }
  OneCall& with(const std::string& name, const Tensor& tensor) {
    node_.arguments.push_back({name, exported::TensorName{static_cast<int>(values_.size())}});
    values_.emplace_back(tensor);
    return *this;
  }
  OneCall& with_value(const std::string& name, const exported::Value& value) {
    node_.arguments.push_back({name, exported::TensorName{static_cast<int>(values_.size())}});
    values_.push_back(value);
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
    std::vector<Tensor> tensors;
    for (const exported::Value& value : computed(exported::Call(node_, values_, {})))
      tensors.push_back(std::get<Tensor>(value));
    return tensors;
  }
  // An operator with up to nine results, of which a program reads the first `used`.
  exported::Results results(std::size_t used) const {
    exported::Node node = node_;
    std::array<bool, 9> is_used{};
    for (std::size_t i = 0; i < is_used.size(); ++i) {
      node.results.push_back(static_cast<int>(i));
      is_used[i] = i < used;
    }
    return computed(exported::Call(node, values_, is_used));
  }
  Tensor one() const { return all().front(); }
  exported::Value value() const { return computed(exported::Call(node_, values_, {})).front(); }

 private:
  static exported::Results computed(const exported::Call& call) {
    auto op = exported::find_operator(call.node().target);
    require(op.has_value(), "no ", call.node().target);
    exported::Results results = op->compute(call, false);
    call.refuse_unread();
    return results;
  }

  exported::Node node_;
  std::vector<exported::Value> values_;
};

inline exported::ArgumentValue integers(const std::vector<std::int64_t>& values) {
  return std::vector<exported::Integer>(values.begin(), values.end());
}

}  // namespace tilewright::testing
