#include "models/onnx/program/declared.h"

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

bool fits(const std::vector<std::int64_t>& sizes, const Shape& shape) {
  if (std::ssize(sizes) != shape.rank()) return false;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t size = sizes[static_cast<std::size_t>(axis)];
    if (size != Declared::any_size && size != shape[axis]) return false;
  }
  return true;
}

// As shapes are shown: "f32 [2x?]".
std::string text_of(const Declared& declared) {
  std::string text = declared.dtype ? concat(*declared.dtype) : "";
  if (!declared.sizes) return text;
  std::string sizes;
  for (std::int64_t size : *declared.sizes)
    sizes += concat(sizes.empty() ? "" : "x", size == Declared::any_size ? "?" : concat(size));
  return concat(text, text.empty() ? "[" : " [", sizes.empty() ? "scalar" : sizes, "]");
}

}  // namespace

bool has_declared_sizes(const Declared& declared, const Value& value) {
  return !value.is_tensor() || !declared.sizes || fits(*declared.sizes, value.shape());
}

void require_declared(const Declared& declared, const Value& value, bool any_sizes) {
  if (!value.is_tensor()) return;
  const bool is_of_dtype = !declared.dtype || *declared.dtype == value.dtype();
  const bool has_sizes = any_sizes || !declared.is_output || has_declared_sizes(declared, value);
  if (is_of_dtype && has_sizes) [[likely]]
    return;
  raise_error(concat(
      "[onnx] value \"", json::excerpt(declared.name), "\" is declared as ", text_of(declared),
      " and is ", value.dtype(), " [", value.shape(),
      "]; a model must declare what it computes, an axis of several sizes by a "
      "name",
      is_of_dtype
          ? ", or nothing; OnnxOptions::any_sizes, --any-sizes of the command, passes over sizes"
          : ""));
}

}  // namespace tilewright::onnx
