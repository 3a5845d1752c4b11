// States of optimizers in 8 bits: blocks of 256 numbers, each a code in a table times the greatest
// magnitude of its block (Dettmers et al., 2022, 8-bit optimizers via block-wise quantization).
//
// The tables are denser near 0: numbers of seven powers of ten from 1e-6 to 1, of which each has
// twice as many as the one below. So small numbers beside a large one keep a digit or two. Codes
// of numbers of either sign are i8, those of numbers that are never negative u8; 0 is one of both.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::detail {

constexpr std::int64_t state_block = 256;
// Smaller states stay in f32: they are no memory, and biases and norms are sensitive.
constexpr std::int64_t least_blocked_state = 4096;

struct BlockCodes {
  Tensor codes;     // i8 or u8, of the state's shape
  Tensor greatest;  // f32 [blocks]; the last block may be part of one
};

// The name under which an optimizer keeps `greatest` of a state.
inline std::string name_of_greatest(std::string_view state) {
  return std::string(state) + "_absmax";
}

// 256 numbers, ascending, of which the greatest is 1.
std::vector<float> state_table(DType codes);
std::int64_t state_blocks(const Shape& shape);
// The codes of zeros.
BlockCodes zero_state(const Shape& shape, DType codes);
// Each number by the nearest entry of the table.
BlockCodes encode_state(const Tensor& value, DType codes);
Tensor decode_state(const BlockCodes& state);  // f32

}  // namespace tilewright::detail
