#include "models/decoder/cache/layer_groups.h"

#include <algorithm>
#include <map>

namespace tilewright {

LayerGroups LayerGroups::of(const std::vector<std::int64_t>& windows) {
  std::map<std::int64_t, std::size_t> counts;
  for (std::int64_t window : windows) ++counts[window];
  LayerGroups all;
  all.slots = windows.size();
  for (const auto& [window, count] : counts) all.slots = std::min(all.slots, count);
  // The group of each window that has room.
  std::map<std::int64_t, Layer> next;
  for (std::int64_t window : windows) {
    auto& layer = next.try_emplace(window, Layer{0, all.slots}).first->second;
    if (layer.slot == all.slots) {
      layer = {all.windows.size(), 0};
      all.windows.push_back(window);
    }
    all.layers.push_back(layer);
    ++layer.slot;
  }
  return all;
}

}  // namespace tilewright
