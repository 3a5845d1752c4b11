// The instructions that multiply the elements of words of 4 bytes (dsl/target/word_products.def),
// as LLVM's intrinsics.
#pragma once

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {

struct WordInstructions {
  llvm::Intrinsic::ID of_4, of_8, of_16;  // words in a vector
  llvm::Intrinsic::ID of_tiles;           // of AMX
};

// By how many elements are in a word, which tells the types of the table apart.
inline WordInstructions word_instructions(std::int64_t in_word) {
  namespace id = llvm::Intrinsic;
#define TILEWRIGHT_WORD_PRODUCT(dtype, vectors, tiles)                                 \
  if (4 / size_bytes(DType::dtype) == in_word)                                         \
    return {id::x86_##vectors##_128, id::x86_##vectors##_256, id::x86_##vectors##_512, \
            id::x86_##tiles};
#include "dsl/target/word_products.def"
#undef TILEWRIGHT_WORD_PRODUCT
  throw InternalError(concat("no instruction multiplies words of ", in_word, " elements"));
}

}  // namespace tilewright::dsl
