#include "models/optimizers/block_states.h"

#include <algorithm>
#include <cmath>

#include "graph/functions/creation.h"
#include "graph/functions/indexing/searching.h"
#include "graph/functions/shaping/joining.h"

namespace tilewright::detail {
namespace {

constexpr int powers = 7;

// The number of the code 0 of the dtype in the table.
constexpr std::int64_t first_code(DType codes) { return codes == i8 ? -128 : 0; }

std::int64_t place_of_zero(DType codes) {
  const std::vector<float> table = state_table(codes);
  return std::ranges::find(table, 0.0F) - table.begin();
}

// [blocks, elements of one], with zeros behind the last element.
Tensor in_blocks(const Tensor& value) {
  const std::int64_t count = value.count(), blocks = state_blocks(value.shape());
  Tensor flat = value.reshape({count});
  if (const std::int64_t rest = blocks * state_block - count; rest > 0)
    flat = cat({flat, zeros({rest}, value.dtype())}, 0);
  return flat.reshape({blocks, state_block});
}
Tensor out_of_blocks(const Tensor& blocks, const Shape& shape) {
  return blocks.reshape({blocks.count()}).slice(0, 0, element_count(shape)).reshape(shape);
}

}  // namespace

// Between 0.1 and 1 times each power of ten are the middles of equal parts, 2^k or 2^(k + 1) of
// them: 127 of each sign, or 254.
std::vector<float> state_table(DType codes) {
  const bool has_signs = codes == i8;
  std::vector<float> table = {0, 1};
  for (int power = 0; power < powers; ++power) {
    const int parts = 1 << (has_signs ? power : power + 1);
    const double scale = std::pow(10.0, power - (powers - 1)), step = 0.9 / parts;
    for (int i = 0; i < parts; ++i) {
      const double number = scale * (0.1 + step * (i + 0.5));
      table.push_back(static_cast<float>(number));
      if (has_signs) table.push_back(static_cast<float>(-number));
    }
  }
  std::ranges::sort(table);
  return table;
}

std::int64_t state_blocks(const Shape& shape) {
  return (element_count(shape) + state_block - 1) / state_block;
}

BlockCodes zero_state(const Shape& shape, DType codes) {
  const auto code = static_cast<double>(place_of_zero(codes) + first_code(codes));
  return {full(shape, code, codes).clone(), zeros({state_blocks(shape)}).clone()};
}

BlockCodes encode_state(const Tensor& value, DType codes) {
  const std::vector<float> table = state_table(codes);
  std::vector<float> middles;
  for (std::size_t i = 0; i + 1 < table.size(); ++i)
    middles.push_back((table[i] + table[i + 1]) / 2);
  const Tensor blocks = in_blocks(value.to(f32));
  const Tensor greatest = amax(abs(blocks), {1}, true);
  const Tensor scaled = blocks / where(greatest > 0.0, greatest, ones({}));
  const Tensor places = bucketize(scaled, Tensor::from(middles, {std::ssize(middles)}));
  const Tensor found = (places.to(i64) + first_code(codes)).to(codes);
  return {out_of_blocks(found, value.shape()), greatest.reshape({greatest.count()})};
}

Tensor decode_state(const BlockCodes& state) {
  const std::vector<float> table = state_table(state.codes.dtype());
  const Tensor places = in_blocks(state.codes.to(i64) - first_code(state.codes.dtype()));
  const Tensor numbers = embedding(places, Tensor::from(table, {std::ssize(table), 1}));
  const Tensor blocks = numbers.reshape(places.shape()) * state.greatest.clone().unsqueeze(1);
  return out_of_blocks(blocks, state.codes.shape());
}

}  // namespace tilewright::detail
