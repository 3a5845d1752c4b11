// Convolutions of 16 bits with channels as the innermost axis.
//
// The instructions that multiply 16 bits want runs of the depth in memory, GPUs' copies to shared
// memory 16 bytes of it at least. Where channels are last, what a window sees at a place is such a
// run, whatever the sizes of the image are; where they are second, as the caller has them, only
// images of some widths have runs at all. So x is looked at as [N, axes.., C], each place of a
// window takes a row of channels by its number, or zeros where it is outside of x, and the result
// is [N, windows.., O], looked at as [N, O, windows..]. These views cost nothing between two such
// convolutions: the pass keep_channels_last has what stands between them work on [N, axes.., C]
// too.
#pragma once

#include <optional>
#include <source_location>

#include "graph/functions/convolving/windows.h"

namespace tilewright::graph {

struct ChannelsLastSite {
  Tensor x, weight;  // [N, C, axes..], [O, C / groups, kernel..], of 16 bits
  Windows windows;
  Shape before;  // zeros in front of x
  Shape counts;  // of windows, an axis
  std::int64_t groups;
  std::source_location where;
};

// Whether this file is for such operands: floats of 16 bits, over two or three axes, and groups of
// one, or as many as there are channels and outputs.
bool is_convolved_channels_last(const ChannelsLastSite& site);
// f32 [N, windows.., O].
Tensor convolved_channels_last(const ChannelsLastSite& site);

// Of a transposed convolution by blocks: output o of place p in a block of these sizes is output
// o * places + p of the site. Gives [N, elements.., O] in the dtype of x, the bias [O] added, if
// there is one. One group.
Tensor convolved_blocks_channels_last(const ChannelsLastSite& site, const Shape& block,
                                      const Tensor& bias);

// x [N, C, axes..] with so many elements of this value around it, for a GPU; nothing where it is of
// another type, so that channels are best left where they are.
std::optional<Tensor> padded_channels_last(const Tensor& x, const Shape& before, const Shape& after,
                                           double value, std::source_location w);

// [N, C, axes..] <-> [N, axes.., C], views.
Tensor channels_to_last(const Tensor& x, std::source_location w);
Tensor channels_from_last(const Tensor& x, std::source_location w);

}  // namespace tilewright::graph
