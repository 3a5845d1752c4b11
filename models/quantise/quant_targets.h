// Dense weights as the tensors in which a format stores them: the other direction of what
// bitsandbytes.cpp and scaled.cpp read.
//
// A target is a row of a table, and its functions see a piece of a weight at a time, since a weight
// may be larger than memory should be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/weights/safetensors_writer.h"

namespace tilewright::quantising {

// A weight [rows, columns] that is being made.
struct EncodedWeight {
  Shape shape;
  DType dtype;                   // of the dense weight
  std::vector<std::byte> codes;  // of the last piece
  std::vector<float> scales;     // of all pieces
};

struct QuantTarget {
  std::string_view name;  // as the command and the user name it
  // The tensors that stand for a weight called `name`. The first has the codes.
  std::vector<NewTensor> (*tensors)(const std::string& name, const Shape& shape, DType dtype);
  // How many elements a piece has, but for the last one: all groups end within a piece.
  std::int64_t (*piece)(const Shape& shape);
  // Codes and scales of the next piece.
  void (*encode)(std::span<const float> values, EncodedWeight& weight);
  // The bytes of the tensors behind the first, in their order.
  std::vector<std::vector<std::byte>> (*rest)(const EncodedWeight& weight);
  // The quantization_config of a model whose other weights have the dtype, under torch's name.
  // `kept`: a JSON array of the ends of names of linear layers that stay as they are.
  std::string (*config)(std::string_view dtype, std::string_view kept);
};

// nf4, nf4-double, fp4, int8, fp8.
std::span<const QuantTarget> quant_targets();

}  // namespace tilewright::quantising
