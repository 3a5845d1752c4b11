#include "models/programs/program_nodes.h"

#include <algorithm>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::programs {

void OperatorList::add(std::string_view name, bool is_known, std::string_view source) {
  auto place = std::ranges::lower_bound(
      places_, name, {}, [](const auto& each) { return std::string_view(each.first); });
  if (place == places_.end() || place->first != name) {
    place = places_.emplace(place, name, operators_.size());
    operators_.push_back({std::string(name), 0, is_known, std::string(source)});
  }
  ++operators_[place->second].count;
}

std::vector<ProgramOperator> OperatorList::take() {
  std::ranges::stable_sort(operators_, std::greater<>(), &ProgramOperator::count);
  places_.clear();
  return std::move(operators_);
}

void require_known(const std::vector<ProgramOperator>& operators, std::string_view operation,
                   std::string_view file, std::string_view where, SourceQuote quote) {
  std::string list;
  int missing = 0;
  for (const ProgramOperator& op : operators) {
    if (op.is_known) continue;
    ++missing;
    list +=
        concat("\n  ", json::excerpt(op.name), ", ", op.count, op.count == 1 ? " time" : " times");
    if (!op.source.empty())
      list += concat(", first at ", quote.before, json::excerpt(op.source), quote.after);
  }
  require(missing == 0, "[", operation, "] ", file, ": ", missing,
          missing == 1 ? " operator is" : " operators are", " not supported", where, ":", list);
}

void Lifetimes::settle(const std::vector<std::size_t>& last, std::span<const int> kept) {
  std::vector<bool> is_kept(count_);
  for (int id : kept) {
    is_used_[static_cast<std::size_t>(id)] = true;
    is_kept[static_cast<std::size_t>(id)] = true;
  }
  for (std::size_t id = 0; id < count_; ++id)
    if (!is_kept[id] && last[id] < dead_after_.size())
      dead_after_[last[id]].push_back(static_cast<int>(id));
}

}  // namespace tilewright::programs
