// The epilogue of a convolution (regions/opaque_region.h) in its programs: pointwise tasks over a
// block of results that has not left the registers, or the first cache, yet.
//
// Programs differ in how a block lies in memory, and say so by two functions: one loads the block
// of an operand, one stores the block of a value.
#pragma once

#include <functional>
#include <vector>

#include "graph/lower/convolution/convolution_programs.h"

namespace tilewright::graph {

// Adds to a program's parameters the memory that the epilogue reads, and that the region writes.
void add_epilogue_memory(const ConvolutionSite& site, Parameters& parameters);

using LoadBlock = std::function<dsl::Tile(StorageId, const StridedView&)>;
using StoreBlock = std::function<void(const Task&, const dsl::Tile&)>;
// `results`: the convolution's, of its dtype.
void finish_block(const ConvolutionSite& site, const dsl::Tile& results, const LoadBlock& load,
                  const StoreBlock& store);

// A block of a value of shape [images, channels, windows..] with one to three axes of windows, as
// programs over planes have it: part of one image, from one channel on.
struct PlaneBlock {
  static constexpr int channels = -1;  // as an axis; those of windows are 0 to 2, the last always 2
  // One that the tile has: of `size` elements, of which the tile begins at `first`.
  // Where only every `step`-th from `begin` on is meant, these are counted.
  struct Axis {
    int of;
    dsl::Operand first;
    std::int64_t size, block;
    std::int64_t begin = 0, step = 1;
  };
  dsl::Tile image, channel;  // `channel`: of which the axes begin
  dsl::Tile plane = {};      // where the tile lies within one: its number, along `plane_axis`
  int plane_axis = 0;
  std::vector<Axis> axes;

  dsl::Tile load(const dsl::Tile& memory, const StridedView& view) const;
  void store(const dsl::Tile& memory, const StridedView& view, const dsl::Tile& tile) const;

 private:
  static std::int64_t stride(const StridedView& view, int of);
  dsl::Tile base(const dsl::Tile& memory, const StridedView& view) const;
};

// `finish_block` for such a block.
void finish_plane_block(const ConvolutionSite& site, const Parameters& parameters,
                        const PlaneBlock& block, const dsl::Tile& results);

}  // namespace tilewright::graph
