// Transposed convolutions as convolutions with stride 1.
//
// Element u of the result is at place u % stride of block u / stride, and comes from elements of x
// with numbers near that of the block, by those filter taps k for which u = i * stride + k *
// dilation. So all elements at one place of their blocks are a convolution of x with these taps, in
// the opposite order. The places can be outputs of one convolution, whose filters have zeros where
// the stride does not divide the kernel and whose results are put between each other after it; or
// each place has a convolution of its own, which has no zeros and writes its results in place.
#pragma once

#include <optional>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright::graph {

// The weight [C, O / groups, kernel..] with each place in a block as an output: [O * places, C /
// groups, blocks..], for a kernel that has so many blocks of `stride` taps, the last one filled up.
Tensor filters_by_place(const Tensor& weight, std::int64_t groups, const Shape& stride,
                        const Shape& blocks, std::source_location w);
// [N, O * places, blocks..] as [N, O, elements..].
Tensor joined_blocks(const Tensor& y, const Shape& stride, std::source_location w);

struct TransposedSite {
  Tensor x, weight, bias;                  // [N, C, ..], [C, O / groups, kernel..], [O] or none
  Shape stride, dilation, padding, sizes;  // `sizes`: of the result
  std::int64_t groups;
  std::source_location where;
};
// [N, O, sizes..] by convolutions of one op each; nothing where there would be too many of them.
std::optional<Tensor> transposed_in_parts(const TransposedSite& site);

}  // namespace tilewright::graph
