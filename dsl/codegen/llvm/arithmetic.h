// Elementwise operations as LLVM IR, on single elements and on vectors alike: shared by the code of
// a host core and that of a GPU. Their meaning is ir/scalar.h's.
//
// Elements in registers: bool is i1, the upper half of an f32 (bf16) its bits as i16 (what LLVM
// does with its own type calls functions for each element), floats of 8 bits theirs as i8; in
// memory bool is a byte.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::dsl {

// Floats of 16 bits that are the upper half of an f32: its exponent, and fewer digits.
inline bool is_upper_half(DType dtype) {
  return is_float16(dtype) && exponent_bits(dtype) == exponent_bits(DType::f32);
}

// How an atomic operation is ordered, in LLVM's words; the scope is empty for that of the system.
struct AtomicWay {
  llvm::AtomicOrdering order = llvm::AtomicOrdering::Monotonic;
  const char* scope = "";
};
llvm::AtomicOrdering ordering_of(ir::MemoryOrder order);

// The type of the value with another element: a vector of as many, or the element alone.
inline llvm::Type* like(llvm::Value* value, llvm::Type* element) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector == nullptr ? element
                           : llvm::FixedVectorType::get(element, vector->getNumElements());
}

class Arithmetic {
 public:
  explicit Arithmetic(llvm::Module& module)
      : module_(module), context_(module.getContext()), b_(context_) {}
  virtual ~Arithmetic() = default;

 protected:
  llvm::Type* element_type(DType dtype) const;  // in registers
  llvm::Type* memory_type(DType dtype) const;
  llvm::Value* from_memory(llvm::Value* value, DType dtype);
  llvm::Value* to_memory(llvm::Value* value, DType dtype);
  llvm::Constant* constant(const ir::Scalar& scalar);

  // The result of an elementwise instruction, but for `offset`.
  llvm::Value* elementwise(const ir::Function& function, const ir::Inst& inst,
                           const std::vector<llvm::Value*>& operands);
  llvm::Value* floating_op(ir::Op op, const std::vector<llvm::Value*>& operands);
  llvm::Value* integer_op(ir::Op op, DType dtype, const std::vector<llvm::Value*>& operands);
  llvm::Value* compare(ir::Op op, DType dtype, llvm::Value* a, llvm::Value* b);
  llvm::Value* convert(llvm::Value* value, DType from, DType to);
  // The exact remainder of x divided by y towards zero; of f32 and f64.
  virtual llvm::Value* remainder(llvm::Value* x, llvm::Value* y) { return b_.CreateFRem(x, y); }
  // x 2^floor(n), rounded once; of f32 and f64.
  virtual llvm::Value* scale(llvm::Value* x, llvm::Value* n);
  // To and from f32 of a type that is its upper half; to the nearest, ties to even; NaN stays NaN.
  virtual llvm::Value* widen_upper_half(llvm::Value* value);
  virtual llvm::Value* narrow_to_upper_half(llvm::Value* value, DType to);
  // The bits of an f32 whose upper half is the one nearest to it, ties to even; the lower half is
  // left as it comes. A NaN that has digits there could be carried over into another number.
  llvm::Value* round_to_upper_half(llvm::Value* value, bool has_long_nans);

  // arithmetic_float8.cpp. The value of a float of 8 bits as f32; and the code of a magnitude (an
  // f32 that is not negative and does not overflow), to nearest, ties to even, as i32.
  virtual llvm::Value* widen_float8(llvm::Value* value, DType dtype);
  virtual llvm::Value* rounded_to_float8(llvm::Value* magnitude, DType dtype);

  // For reductions: combines two elements; for argmax and argmin the better of two and its index:
  // the first of equals, the first NaN before all. `other_is_later`: its index is greater for sure.
  llvm::Value* combine(ir::ReduceKind kind, DType dtype, llvm::Value* a, llvm::Value* b);
  void keep_better(ir::ReduceKind kind, DType dtype, llvm::Value*& best, llvm::Value*& best_index,
                   llvm::Value* other, llvm::Value* other_index, bool other_is_later = false);
  static bool is_arg(ir::ReduceKind kind) { return ir::gives_index(kind); }
  // The element that changes no other; of argmax and argmin that of their values.
  llvm::Constant* identity(ir::ReduceKind kind, DType dtype);
  // arithmetic_atomic.cpp. Each returns the old value in memory. The first is one instruction of
  // LLVM; the second a loop, which leaves the builder behind it; the third a function with that
  // loop, of a pointer and a value. The last stores the value where memory has the bits expected.
  llvm::Value* atomic(ir::AtomicKind kind, DType dtype, llvm::Value* pointer, llvm::Value* value,
                      const AtomicWay& way);
  llvm::Value* atomic_by_exchange(ir::AtomicKind kind, DType dtype, llvm::Value* pointer,
                                  llvm::Value* value, const AtomicWay& way);
  llvm::Function* function_by_exchange(ir::AtomicKind kind, DType dtype, const AtomicWay& way);
  llvm::Value* exchanged(ir::AtomicKind kind, DType dtype, llvm::Value* old, llvm::Value* value);
  llvm::Value* compare_exchange(DType dtype, llvm::Value* pointer, llvm::Value* expected,
                                llvm::Value* value, const AtomicWay& way);

  // The operands of `print`: its format, and its values as words of 64 bits on the stack.
  std::pair<llvm::Value*, llvm::Value*> message(const ir::Function& function, const ir::Inst& inst,
                                                const std::vector<llvm::Value*>& scalars);

  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;

 private:
  // Converts f32 or f64, in vectors, to integers of 8 or 16 bits: towards zero, saturated, NaN
  // gives 0. (LLVM's own operation takes such vectors apart.)
  llvm::Value* narrow_integers(llvm::Value* value, DType to);
  // Likewise to signed integers of 32 or 64 bits, of this type, also of single numbers.
  llvm::Value* signed_integers(llvm::Value* value, llvm::Type* type);
  llvm::Value* narrow_to_float8(llvm::Value* value, DType dtype);
  // An op on numbers of one type, of f32 or f64 if they are floating.
  llvm::Value* number_op(ir::Op op, DType dtype, const std::vector<llvm::Value*>& operands);
  llvm::Value* boolean_op(ir::Op op, const std::vector<llvm::Value*>& operands);
  llvm::Value* magnitude(DType dtype, llvm::Value* x);  // of integers, as the next two
  llvm::Value* upper_product(llvm::Value* x, llvm::Value* y);
  llvm::Value* division(ir::Op op, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* extremum(ir::Op op, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* shift(ir::Op op, DType dtype, llvm::Value* x, llvm::Value* y);
  llvm::Value* random_bits(llvm::Value* seed, llvm::Value* place);
  llvm::Value* call_libm(const char* name, llvm::Value* x);
};

}  // namespace tilewright::dsl
