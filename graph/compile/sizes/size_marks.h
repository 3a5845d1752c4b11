// Declarations by the user of which sizes of a tensor change between calls of compiled functions.
//
//   mark_dynamic(ids, 1, {.min = 1, .max = 4096});  // [batch, length]
//   mark_static(ids, 0);
//   fast(ids);                                      // what holds for `ids` holds for argument 0
//
// Without a mark a function learns by its second size that there will be others, and what it has
// compiled for the first serves that one alone (`Options::dynamic`). A mark says so before:
//
//   * dynamic: plans are made for sizes that change, as by Dynamic::always, from the first call
//     that brings the mark on, and in all modes. Programs of the host then serve any size, up to
//     the limits below. A size that was not declared is an Error, which names the argument, its
//     axis, the size and what was declared.
//   * static: that its size differs is no reason to make such plans. A call with another size is a
//     signature of its own (`Options::max_signatures`), with programs for its sizes, unless another
//     axis is dynamic; if all axes of all arguments are static, under Dynamic::always too.
//
// Buckets bound how many plans there are, where sizes are many:
//
//   mark_dynamic(ids, 1, {.buckets = {64, 256, 1024}});
//
// A call of 100 is padded with zeros to 256, and its results are cut to 100. That is done only
// where it provably changes no result (padding_proof.h; but for the order of additions): rows,
// batches, and causal attention over a prompt do not mind what is behind them, a sum over the
// padded axis does. Where there is no proof the call is compiled for its own size, stderr says why
// once a function, and explain() does: so it often is for a size of 1, which is broadcast where
// others are not. A padded call costs copies of its arguments, and of results
// that are cut along another axis than their first.
//
// A mark is on the tensor that all copies of a handle share, and on no view, clone or result of it.
// A compiled function takes it over with the first call whose argument has it: from then on it is
// what was declared of that argument, for tensors without marks as well, in all copies of the
// function, and until a tensor with another mark for that axis is passed there. So it is enough to
// mark one example before the first call. What a function uses besides its arguments has no mark;
// functions called inside of another one are a part of that, and where nothing is compiled
// (Backend::eager, Stance::force_eager) nothing is checked.
//
// What a mark does not do: each size still has a plan, which is made at its first call, in some
// milliseconds and from programs that exist (the latest `Options::max_sizes` are kept). A program
// exists for a class of sizes: one row, up to 15, up to 47, more. Programs are for one size where
// the axis is reduced or strided along, where the function itself computes something else for
// another size, and on GPUs: report() and explain() say how many plans run each, and nothing is
// wrong then but the time that compiling takes. Their block sizes are not searched for. The range
// is checked, and decides nothing else.
//
// Not thread safe with other uses of the tensor. Raise `Error` for an undefined tensor, inside of
// captured functions, and for an axis outside the rank; negative axes count from the end. The
// latest mark of an axis counts.
#pragma once

#include <source_location>

#include "graph/compile/sizes/size_range.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

// Raises `Error`, too, for a range that holds no size, and where the tensor's own is none of it.
void mark_dynamic(const Tensor& tensor, int axis, const SizeRange& sizes = {},
                  std::source_location w = std::source_location::current());
void mark_static(const Tensor& tensor, int axis,
                 std::source_location w = std::source_location::current());

}  // namespace tilewright
