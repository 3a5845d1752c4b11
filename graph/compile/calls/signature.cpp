#include "graph/compile/calls/signature.h"

#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

// Code for the host takes memory that begins anywhere.
Signature signature_of(const std::vector<Tensor>& arguments, const Device& device) {
  Signature result;
  for (const Tensor& argument : arguments) {
    const StridedView& place = argument.body()->view;
    DeviceMemory* memory = memory_of(argument);
    bool is_used = memory != nullptr || device.target().is_gpu();
    result.push_back({argument.dtype(), place.shape, place.strides,
                      is_used && begins_aligned(*argument.body()), memory});
  }
  return result;
}

bool matches(const Signature& signature, const std::vector<Tensor>& arguments) {
  if (signature.size() != arguments.size()) return false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const TensorBody& body = *arguments[i].body();
    if (signature[i].dtype != body.dtype || signature[i].shape != body.view.shape ||
        signature[i].strides != body.view.strides || signature[i].memory != body.buffer->memory() ||
        (signature[i].is_aligned && !begins_aligned(body)))
      return false;
  }
  return true;
}

std::string to_string(const Signature& signature) {
  std::string text;
  for (const ArgumentType& argument : signature) {
    text += concat(text.empty() ? "" : ", ", argument.dtype, " ", argument.shape);
    if (!is_row_major(argument.shape, argument.strides))
      text += concat(" strided ", argument.strides);
    if (argument.is_aligned) text += " aligned";
    if (argument.memory != nullptr) text += concat(" on ", argument.memory->name());
  }
  return text.empty() ? "no arguments" : text;
}

static void add_layout_differences(const ArgumentType& known, const ArgumentType& call,
                                   const ArgumentPlace& place, const DeclaredSizes& declared,
                                   std::vector<Difference>& result) {
  auto add = [&](RecompileReason reason, const auto& what, const auto& found, const auto& expected,
                 int axis = -1) {
    result.push_back(
        {reason, place.argument, axis, concat(place.text, ": ", what, found), concat(expected)});
  };
  using enum RecompileReason;
  if (known.dtype != call.dtype) add(dtype, "its dtype is ", call.dtype, known.dtype);
  if (known.shape.rank() != call.shape.rank())
    return add(rank, "its shape is ", call.shape, known.shape);
  for (int axis = 0; axis < call.shape.rank(); ++axis) {
    if (known.shape[axis] == call.shape[axis]) continue;
    const bool is_static = declared.is_static(place.text, axis);
    add(is_static ? static_size : size,
        concat("axis ", axis, is_static ? ", which is static, is " : " is "), call.shape[axis],
        known.shape[axis], axis);
    result.back().is_declared = declared.is_dynamic(place.text, axis);
  }
  bool is_resized = known.shape != call.shape;
  if (!is_resized && known.strides != call.strides)
    add(strides, "its strides are ", call.strides, known.strides);
  if (known.memory != call.memory)
    add(device, "it lies on ", Device::of(call.memory).text(), Device::of(known.memory).text());
  else if (known.is_aligned && !call.is_aligned)
    add(alignment, "its memory begins ", "anywhere", "a multiple of 64 bytes");
}

std::vector<Difference> differences(const Signature& known, const Signature& call,
                                    const std::vector<ArgumentPlace>& places,
                                    const DeclaredSizes& declared) {
  if (known.size() != call.size())
    return {{RecompileReason::argument_count, -1, -1,
             concat("the call has ", call.size(), call.size() == 1 ? " argument" : " arguments"),
             concat(known.size())}};
  std::vector<Difference> result;
  for (std::size_t i = 0; i < call.size(); ++i)
    add_layout_differences(known[i], call[i], places[i], declared, result);
  return result;
}

std::vector<std::string> names_of(const ArgumentForm& form) {
  std::vector<std::string> names;
  for (const ArgumentPlace& place : form.places) names.push_back(place.text);
  return names;
}

}  // namespace tilewright::graph
