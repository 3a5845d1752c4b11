#include "graph/compile/sizes/declared_sizes.h"

#include <algorithm>

#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace graph {

static const SizeMarks* marks_on(const Tensor& tensor) { return tensor.body()->size_marks.get(); }

static bool has_buckets(const SizeMarks& marks) {
  return std::ranges::any_of(
      marks.axes, [](const auto& one) { return one.second && !one.second->buckets.empty(); });
}
bool has_buckets(const std::vector<Tensor>& tensors) {
  return std::ranges::any_of(tensors, [](const Tensor& tensor) {
    const SizeMarks* marks = marks_on(tensor);
    return marks != nullptr && has_buckets(*marks);
  });
}

static bool includes(const SizeMarks& all, const SizeMarks& some) {
  return std::ranges::all_of(some.axes, [&](const auto& one) {
    auto known = all.axes.find(one.first);
    return known != all.axes.end() && known->second == one.second;
  });
}

bool DeclaredSizes::knows(const std::vector<Tensor>& tensors,
                          const SignatureSizes& signature) const {
  if (signature.version != version_) return false;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const SizeMarks* marks = marks_on(tensors[i]);
    if (marks != nullptr && !(i < signature.marks.size() && includes(signature.marks[i], *marks)))
      return false;
  }
  return true;
}

void DeclaredSizes::take(const std::string& argument, const Tensor& tensor) {
  const SizeMarks* marks = marks_on(tensor);
  if (marks == nullptr) return;
  SizeMarks& known = by_argument_[argument];
  if (includes(known, *marks)) return;
  for (const auto& [axis, sizes] : marks->axes) known.axes[axis] = sizes;
  ++version_;
  has_buckets_ = std::ranges::any_of(
      by_argument_, [](const auto& one) { return graph::has_buckets(one.second); });
}

void DeclaredSizes::take_all(const std::vector<std::string>& arguments,
                             const std::vector<Tensor>& tensors) {
  for (std::size_t i = 0; i < arguments.size(); ++i) take(arguments[i], tensors[i]);
}

SignatureSizes DeclaredSizes::looked_at(const std::vector<std::string>& arguments,
                                        const std::vector<Tensor>& tensors) const {
  SignatureSizes result{version_, {}};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    require_declared(arguments[i], tensors[i].shape());
    result.marks.push_back(of(arguments[i]));
  }
  return result;
}

const SizeMarks& DeclaredSizes::of(const std::string& argument) const {
  static const SizeMarks none;
  auto known = by_argument_.find(argument);
  return known == by_argument_.end() ? none : known->second;
}

void DeclaredSizes::require_declared(const std::string& argument, const Shape& shape) const {
  for (const auto& [axis, sizes] : of(argument).axes) {
    if (!sizes || axis >= shape.rank() || holds(*sizes, shape[axis])) continue;
    raise_error(concat("[compile] ", argument, ": axis ", axis, " is ", shape[axis],
                       " and was declared by mark_dynamic to have ", text_of(*sizes),
                       "; pass a tensor of such a size, or mark one with other sizes"));
  }
}

std::optional<bool> DeclaredSizes::change(const std::string& argument, const Shape& shape) const {
  int fixed = 0;
  for (const auto& [axis, sizes] : of(argument).axes) {
    if (axis >= shape.rank()) continue;
    if (sizes) return true;
    ++fixed;
  }
  return fixed == shape.rank() ? std::optional(false) : std::nullopt;
}

bool DeclaredSizes::is_static(const std::string& argument, int axis) const {
  const SizeMarks& marks = of(argument);
  auto known = marks.axes.find(axis);
  return known != marks.axes.end() && !known->second;
}

bool DeclaredSizes::is_dynamic(const std::string& argument, int axis) const {
  const SizeMarks& marks = of(argument);
  auto known = marks.axes.find(axis);
  return known != marks.axes.end() && known->second;
}

std::string DeclaredSizes::text(const std::string& argument, const Shape& shape) const {
  std::string text;
  for (const auto& [axis, sizes] : of(argument).axes)
    if (axis < shape.rank())
      text += concat(text.empty() ? "" : ", ", "axis ", axis,
                     sizes ? concat(" has ", text_of(*sizes)) : std::string(" is static"));
  return text;
}

}  // namespace graph
}  // namespace tilewright
