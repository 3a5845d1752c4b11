#include "graph/ir/options/unkept_options.h"

#include <algorithm>
#include <utility>

namespace tilewright::graph {

namespace {
thread_local UnkeptOptions* innermost = nullptr;
}

UnkeptOptions::UnkeptOptions() : around_(std::exchange(innermost, this)) {}
UnkeptOptions::~UnkeptOptions() { innermost = around_; }

void UnkeptOptions::note(std::string_view option, std::string sentence) {
  if (innermost != nullptr) add(innermost->notes_, {{std::string(option), std::move(sentence)}});
}

void add(std::vector<UnkeptOption>& list, const std::vector<UnkeptOption>& more) {
  for (const UnkeptOption& each : more)
    if (std::ranges::find(list, each) == list.end()) list.push_back(each);
}

}  // namespace tilewright::graph
