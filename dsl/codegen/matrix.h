// Matrices in memory, as products read and write them (emit_dot.cpp, emit_packed_dot.cpp).
#pragma once

#include "dsl/codegen/emitter.h"

namespace tilewright::dsl {

struct Emitter::Matrix {
  llvm::Value* data;
  DType dtype;
  std::int64_t rows, columns;
  llvm::Value *row_stride, *column_stride;  // in elements of dtype
  bool pairs = false;  // what counts as an element is two neighbours in memory, 32 bits

  bool rows_contiguous() const { return is_one(column_stride); }  // along columns
  bool columns_contiguous() const { return is_one(row_stride); }  // along rows
  Matrix transposed() const {
    return {data, dtype, columns, rows, column_stride, row_stride, pairs};
  }

 private:
  static bool is_one(llvm::Value* stride) {
    auto* number = llvm::dyn_cast<llvm::ConstantInt>(stride);
    return number != nullptr && number->isOne();
  }
};

}  // namespace tilewright::dsl
