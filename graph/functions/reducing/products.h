// Products of vectors, matrices and tensors, made of matmul, under PyTorch's names.
//
// Operands have one dtype, that of the result. Products of floats of 16 bits are summed in f32, and
// addends are added before the rounding. Those of integers wrap. Misuse raises `Error`; safe to
// call from several threads.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright {

Tensor mm(const TensorOperand& a, const Tensor& b);   // [M, K] x [K, N]
Tensor bmm(const TensorOperand& a, const Tensor& b);  // [B, M, K] x [B, K, N]
Tensor mv(const TensorOperand& a, const Tensor& x);   // [M, K] x [K]
Tensor dot(const TensorOperand& a, const Tensor& b);  // [K] x [K], the sum of products
Tensor vdot(const TensorOperand& a, const Tensor& b);
// [M] x [N] -> [M, N]; of any dtypes, which promote.
Tensor outer(const TensorOperand& a, const Tensor& b);
// [.., K] x [.., K]: sums of products over the last axes, all others in order; of a tensor without
// axes the product.
Tensor inner(const TensorOperand& a, const Tensor& b);

// Products of groups, as torch.nn.functional.grouped_mm: group g has rows offs[g - 1] (or 0) to
// offs[g] of those that all groups share; offs i32 or i64 [G], in ascending order.
//
//   a [R, K], b [G, K, N]   each row of a times its group's matrix, [R, N]
//   a [G, M, K], b [K, R]   each group's matrix times its columns of b, [M, R]
//   a [M, R], b [R, N]      of each group its columns of a times its rows of b, [G, M, N]
//   a [G, M, K], b [G, K, N]  bmm; offs is undefined
//
// Floats of 16 bits or more; a bias of their dtype, which broadcasts to the product, is added after
// the rounding. Rows behind the last end, which PyTorch leaves undefined, give 0, and a group
// without rows in the third form too. Ends beyond the last row are as that; a group that ends
// before the one in front of it has no rows. There is one group at least. Has derivatives of a and
// b.
Tensor grouped_mm(const TensorOperand& a, const Tensor& b, const Tensor& offs = {},
                  const Tensor& bias = {});

// beta x + alpha times a product. With beta 0 x is not looked at, not even for NaN. To integers
// both are whole.
struct AddedProduct {
  Number beta = 1, alpha = 1;
};
// x broadcasts to the product.
Tensor addmm(const TensorOperand& x, const Tensor& a, const Tensor& b,
             const AddedProduct& factors = {});
// alpha a b + beta c of matrices, or alpha a b where c is undefined. To integers both are cut off:
// ONNX's Gemm.
Tensor gemm(const TensorOperand& a, const Tensor& b, const Tensor& c = {},
            const AddedProduct& factors = {});
Tensor addmv(const TensorOperand& x, const Tensor& a, const Tensor& b,
             const AddedProduct& factors = {});
Tensor baddbmm(const TensorOperand& x, const Tensor& a, const Tensor& b,
               const AddedProduct& factors = {});
// The product of bmm, summed over B.
Tensor addbmm(const TensorOperand& x, const Tensor& a, const Tensor& b,
              const AddedProduct& factors = {});
// That of outer; sums and products of bool are `or` and `and`.
Tensor addr(const TensorOperand& x, const Tensor& a, const Tensor& b,
            const AddedProduct& factors = {});

// Over pairs of axes of a and b, or the last `axes` of a and the first of b; the others in order.
Tensor tensordot(const TensorOperand& a, const Tensor& b, std::vector<int> axes_of_a,
                 std::vector<int> axes_of_b);
Tensor tensordot(const TensorOperand& a, const Tensor& b, int axes = 2);
// Einstein's summation: "bij,bjk->bik". A letter names an axis; those that the result lacks are
// summed over, and one that an operand has twice goes along its diagonal. Without "->" the result
// has the letters that stand once, in the alphabet's order. "..." stands for axes that broadcast.
// Operands are multiplied from left to right.
Tensor einsum(std::string_view equation, const std::vector<Tensor>& operands,
              std::source_location w = std::source_location::current());
// x1 [.., I], x2 [.., J], weight [O, I, J], bias [O]: sums of products over I and J -> [.., O].
Tensor bilinear(const TensorOperand& a, const Tensor& b, const Tensor& weight,
                const Tensor& bias = {});

// aten::_trilinear: of three operands, each with axes of size 1 put in at the places that its list
// names, the product, summed over the axes `summed` of all.
struct TrilinearAxes {
  std::vector<int> expand_a, expand_b, expand_c, summed;
};
Tensor trilinear(const TensorOperand& a, const Tensor& b, const Tensor& c,
                 const TrilinearAxes& axes);

// Each element of a times all of b, in blocks; of any dtypes, which promote.
Tensor kron(const TensorOperand& a, const Tensor& b);
// The cross product along an axis of size 3; without one, the first of that size. Operands
// broadcast and promote.
Tensor cross(const TensorOperand& a, const Tensor& b, std::optional<int> axis = {});
// The sum of the diagonal of a matrix; of integers i64.
Tensor trace(const TensorOperand& x);
// The exponential of matrices [.., N, N], floating: the limit of sums of x^k / k!. Its relative
// error grows with the norm of x; PyTorch's linalg.matrix_exp.
Tensor matrix_exp(const TensorOperand& x);

// From the left, whatever the sizes: of two matrices or more.
Tensor linalg_multi_dot(const std::vector<Tensor>& matrices,
                        std::source_location w = std::source_location::current());
// The sum of products along an axis.
Tensor linalg_vecdot(const TensorOperand& a, const Tensor& b, int axis = -1);
// Powers of x from 0 on, so many along a new last axis; as many as the last axis of x has if none
// are named.
Tensor linalg_vander(const TensorOperand& x, std::optional<std::int64_t> count = {});

}  // namespace tilewright
