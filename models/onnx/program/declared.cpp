#include "models/onnx/program/declared.h"

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace {

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

void require_declared(const Declared& declared, const Value& value) {
  if (!value.is_tensor() || !declared.dtype || *declared.dtype == value.dtype()) [[likely]]
    return;
  raise_error(concat("[onnx] value \"", json::excerpt(declared.name), "\" is declared as ",
                     text_of(declared), " and is ", value.dtype(), " [", value.shape(),
                     "]; a model must declare the dtype that it computes"));
}

}  // namespace tilewright::onnx
