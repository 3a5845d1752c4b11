// Keys and values that are kept in 8 bits, as caches of language models may have them: half the
// memory of 16 bits, and half of what a step reads.
//
//   RowCodes keys = quantize_rows(x, DType::i8), values = quantize_rows(x * 2, DType::i8);
//   Tensor y = scaled_dot_product_attention(x, keys, values, {.causal = true});
//
// Attention decodes them block by block: the decoded numbers never lie in memory.
#pragma once

#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// Rows along the last axis: an element stands for its code times the scale of its row.
struct RowCodes {
  Tensor codes;   // i8, f8e4m3, f8e5m2 or another float of 8 bits: [.., D]
  Tensor scales;  // f32, or f64 for numbers of f64: [..]
  // The numbers [.., D], rounded to a float `dtype` of 16 bits or more. Raises `Error` for another
  // dtype, and for codes and scales that do not fit each other.
  Tensor decoded(DType dtype, std::source_location where = std::source_location::current()) const;
};

// True for dtypes that codes may have.
bool is_row_code(DType dtype);

// Codes of `dtype` of floats x [.., D], rounded to the nearest, ties to even. The element of a row
// that is the largest in magnitude has the largest code that the dtype has (127 in i8); a row of
// zeros has the scale 0. A row with an infinity or a NaN is NaN where it is decoded. Where a scale
// is below the least normal number (rows below 1e-33 in f32), codes have fewer digits, or are 0.
// Raises `Error` for a dtype that is no code's, for an x of no axes, and for rows of no elements.
RowCodes quantize_rows(const TensorOperand& x, DType dtype);

// As scaled_dot_product_attention (tensor.h) of the decoded keys and values: k and v are codes
// [B, G, S, D] of one dtype with scales [B, G, S] in the dtype that scores are carried in, f32 or,
// for q of f64, f64. Gradients of q and of the scales are those of the decoded numbers. Values of
// rows below 1e-32 may lose digits where q is bf16: a weight has the scale of its value in it.
Tensor scaled_dot_product_attention(const TensorOperand& q, const RowCodes& k, const RowCodes& v,
                                    const AttentionOptions& options = {});

}  // namespace tilewright
