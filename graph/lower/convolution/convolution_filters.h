// The filters of a convolution in the order in which the host's products read them: packed panels
// of `width` outputs, each [rows of a window, depth, width], where the depth is channels * planes *
// columns of a window, and rows may be those of Winograd's products (regions/winograd.h). One that
// is frozen is packed once (packed_weights.h); the others by a program of the region at each call.
#pragma once

#include <vector>

#include "graph/lower/convolution/convolution_programs.h"

namespace tilewright::graph {

// True if the vectors of a product go along the outputs, not along windows, of which there are few.
bool vectors_go_along_outputs(const ConvolutionShape& shape, const dsl::Target& target);

class ConvolutionFilters {
 public:
  explicit ConvolutionFilters(const ConvolutionSite& site);

  bool vectors_go_along() const { return vectors_go_along_; }
  std::int64_t width() const { return width_; }
  // True if rows are transformed, and their number then.
  bool uses_winograd() const { return uses_winograd_; }
  std::int64_t rows() const;
  std::int64_t depth() const;  // of one product
  std::int64_t group_panels() const;
  std::int64_t panel_elements() const;
  // The task reads a packed copy.
  bool are_packed() const { return storage().kind == StorageKind::packed; }
  // Packs them into the region's scratch memory 1.
  Scratch scratch() const;
  LoweredProgram pack(const std::vector<Scratch>& scratch) const;

 private:
  const Storage& storage() const { return site_.list.storages[site_.task.operands[1].storage]; }

  const ConvolutionSite& site_;
  bool vectors_go_along_, uses_winograd_;
  std::int64_t width_;
};

// Has a convolution read a packed copy of its filters where they are a frozen input.
void use_packed_filters(TaskList& list, const Region& region, const dsl::Target& host);

}  // namespace tilewright::graph
