#include "graph/run/batches.h"

#include <algorithm>
#include <unordered_map>

namespace tilewright::graph {

std::vector<std::vector<std::uint32_t>> make_batches(std::span<const BatchCandidate> launches,
                                                     std::size_t storages,
                                                     const BatchLimits& limits) {
  struct LastUse {
    std::int64_t read = -1, write = -1;  // steps
  };
  std::vector<LastUse> uses(storages);
  std::vector<std::vector<std::uint32_t>> steps;
  std::vector<std::int64_t> new_bytes;                        // of each step
  std::unordered_map<std::uint32_t, std::int64_t> last_step;  // of each program
  for (std::uint32_t i = 0; i < launches.size(); ++i) {
    const BatchCandidate& launch = launches[i];
    std::int64_t after = -1;
    for (std::uint32_t id : launch.reads) after = std::max(after, uses[id].write);
    for (std::uint32_t id : launch.writes) after = std::max({after, uses[id].write, uses[id].read});
    std::int64_t& last = last_step.try_emplace(launch.program, -1).first->second;
    std::int64_t step = last;
    auto at = static_cast<std::size_t>(step);
    bool joins = step > after && steps[at].size() < launch.most &&
                 new_bytes[at] + launch.new_bytes <= limits.new_bytes;
    if (!joins) {
      step = last = static_cast<std::int64_t>(steps.size());
      at = static_cast<std::size_t>(step);
      steps.emplace_back();
      new_bytes.push_back(0);
    }
    steps[at].push_back(i);
    new_bytes[at] += launch.new_bytes;
    for (std::uint32_t id : launch.reads) uses[id].read = std::max(uses[id].read, step);
    for (std::uint32_t id : launch.writes) uses[id].write = std::max(uses[id].write, step);
  }
  return steps;
}

}  // namespace tilewright::graph
