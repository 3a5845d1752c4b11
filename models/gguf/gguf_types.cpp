#include "models/gguf/gguf_types.h"

#include "graph/quant/gguf_blocks.h"
#include "runtime/base/error.h"

namespace tilewright::gguf {
namespace {

struct FloatType {
  std::uint32_t type;
  DType dtype;
};
constexpr FloatType float_types[] = {
    {0, DType::f32}, {1, DType::f16}, {28, DType::f64}, {30, DType::bf16}};

}  // namespace

std::optional<DType> float_type(std::uint32_t type) {
  for (const FloatType& known : float_types)
    if (known.type == type) return known.dtype;
  return std::nullopt;
}

std::optional<std::int64_t> size_of_tensor(std::uint32_t type, const Shape& shape) {
  const std::int64_t count = element_count(shape);
  if (auto dtype = float_type(type)) return count * size_bytes(*dtype);
  const quant::BlockLayout* layout = quant::find_block_layout(type);
  if (layout == nullptr || shape.rank() == 0 || shape[-1] % layout->elements != 0)
    return std::nullopt;
  return count / layout->elements * layout->bytes;
}

std::string known_types() {
  std::string names;
  auto add = [&](const auto& name, std::uint32_t type) {
    names += concat(names.empty() ? "" : ", ", name, " (", type, ")");
  };
  for (const FloatType& known : float_types) add(known.dtype, known.type);
  for (const quant::BlockLayout& known : quant::block_layouts()) add(known.format, known.type);
  return names;
}

}  // namespace tilewright::gguf
