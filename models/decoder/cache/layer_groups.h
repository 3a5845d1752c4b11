// Which layers share a page. The rows of layers with a window are wanted until the window has
// passed them, those of other layers as long as the text lasts: such layers are in different
// groups, each with pages of its own. All groups have equally many layers, so that a page may be
// any group's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tilewright {

struct LayerGroups {
  // `windows`: keys that a row of each layer sees, its own among them; 0: all before it. The layers
  // with one window are one group, or several where another window has fewer layers.
  static LayerGroups of(const std::vector<std::int64_t>& windows);

  struct Layer {
    std::size_t group;
    std::size_t slot;  // among the layers of the group
    bool operator==(const Layer&) const = default;
  };
  std::vector<Layer> layers;
  std::vector<std::int64_t> windows;  // of each group
  std::size_t slots = 0;              // layers of a group at the most
  bool operator==(const LayerGroups&) const = default;
};

}  // namespace tilewright
