// MXFP4 (OCP Microscaling): floats of 4 bits in blocks of 32 with a power of two as the scale, as
// gpt-oss has its experts.
#include <cmath>

#include "models/formats/stored_parts.h"
#include "runtime/base/error.h"

namespace tilewright::formats {
namespace {

constexpr float values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.F, -0.5F, -1, -1.5F, -2, -3, -4, -6};
constexpr std::int64_t block = 32;

// [experts, out, in / 32, 16] as a matrix [experts * out, in].
quant::GroupedCodes codes_of(const Weights& stored, const std::string& stem) {
  const Tensor blocks = stored.tensor(stem + "_blocks"), scales = stored.tensor(stem + "_scales");
  quant::GroupedCodes w;
  w.format = quant::Format::mxfp4;
  w.rows = blocks.size(0) * blocks.size(1);
  w.columns = blocks.size(2) * block;
  w.shape = {w.rows, w.columns};
  w.group_columns = block;
  w.values = quant::table_of(values);
  for (std::uint8_t byte : blocks.to_vector<std::uint8_t>()) {
    w.codes.push_back(byte & 15);
    w.codes.push_back(byte >> 4);
  }
  for (std::uint8_t exponent : scales.to_vector<std::uint8_t>())
    w.scales.push_back(std::ldexp(1.0F, exponent - 127));
  return w;
}

// [experts, out, in] as [experts, in, out], which the model has.
Tensor turned(const Tensor& matrix, const Shape& shape) {
  return matrix.reshape({shape[0], shape[2], shape[1]}).permute({0, 2, 1}).contiguous();
}

}  // namespace

void add_mxfp4(const Folder& folder) {
  for (const std::string& stem : folder.stems("_blocks")) {
    expect_part(folder.stored, stem + "_blocks", {DType::u8});
    const Shape blocks = folder.stored.shape(stem + "_blocks");
    require(blocks.rank() == 4 && blocks[3] == block / 2 && element_count(blocks) > 0, "[",
            formats_operation, "] tensor \"", json::excerpt(stem + "_blocks"), "\" is ", blocks,
            "; [experts, out, in / 32, 16] is needed");
    expect_part(folder.stored, stem + "_scales", {DType::u8},
                Shape{blocks[0], blocks[1], blocks[2]});
    const Shape shape = {blocks[0], blocks[2] * block, blocks[1]};
    folder.consume(stem + "_blocks");
    folder.consume(stem + "_scales");
    folder.result.derive(stem, {shape,
                                DType::f32,
                                [stored = folder.stored, stem, shape] {
                                  return turned(decoded(codes_of(stored, stem)), shape);
                                },
                                [stored = folder.stored, stem] { return codes_of(stored, stem); },
                                quant::Format::mxfp4});
  }
}

}  // namespace tilewright::formats
