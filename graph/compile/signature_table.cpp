#include "graph/compile/signature_table.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "graph/tensor/handle_changes.h"

namespace tilewright::graph {

std::int64_t SignatureTable::count(bool sizes_vary) const {
  return std::ranges::count(entries_, sizes_vary, &Entry::sizes_vary);
}

void SignatureTable::look_at_changes() {
  std::uint64_t now = handle_changes().count();
  if (now != changes_) [[unlikely]] {
    changes_ = now;
    for (Entry& entry : entries_) entry.signature->look_at_changes();
  }
  now = graph::guarded_changes();
  if (now != guarded_changes_) [[unlikely]] {
    guarded_changes_ = now;
    for (Entry& entry : entries_) entry.signature->look_at_guards();
  }
}

SignatureTable::Entry* SignatureTable::find(const Call& call) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const std::size_t place = (latest_ + i) % entries_.size();
    CompiledSignature& signature = *entries_[place].signature;
    if (!signature.guards_hold() || signature.form().key != call.form ||
        !matches(signature.signature(), call.arguments))
      continue;
    latest_ = place;
    return &entries_[place];
  }
  return nullptr;
}

SignatureTable::Entry& SignatureTable::put(std::size_t place, Entry entry) {
  if (place == entries_.size()) entries_.emplace_back();
  entries_[place] = std::move(entry);
  latest_ = place;
  return entries_[place];
}

std::size_t SignatureTable::least_recent(bool sizes_vary) const {
  auto time_of = [&](const Entry& entry) {
    return entry.sizes_vary == sizes_vary ? entry.used : std::numeric_limits<std::uint64_t>::max();
  };
  return static_cast<std::size_t>(std::ranges::min_element(entries_, {}, time_of) -
                                  entries_.begin());
}

std::vector<Difference> SignatureTable::nearest(const Call& call, const Device& device,
                                                const DeclaredSizes& declared) const {
  std::vector<Difference> nearest;
  const Signature signature = signature_of(call.arguments, device);
  const ArgumentForm form = call.describe();
  auto distance = [](const std::vector<Difference>& differences) {
    return std::pair(!are_sizes_alone(differences), differences.size());
  };
  for (const Entry& entry : entries_) {
    std::vector<Difference> those = differences(*entry.signature, signature, form, declared);
    if (nearest.empty() || distance(those) < distance(nearest)) nearest = std::move(those);
  }
  return nearest;
}

// If the number of tensors differs, as in a longer list, they are not compared one by one.
std::vector<Difference> differences(const CompiledSignature& known, const Signature& call,
                                    const ArgumentForm& form, const DeclaredSizes& declared) {
  std::vector<Difference> result = differences(known.form(), form);
  if (result.empty() || known.signature().size() == call.size())
    std::ranges::move(differences(known.signature(), call, form.places, declared),
                      std::back_inserter(result));
  std::ranges::move(known.differences_of_guards(), std::back_inserter(result));
  return result;
}

bool are_sizes_alone(const std::vector<Difference>& differences) {
  return !differences.empty() && std::ranges::all_of(differences, [](const Difference& one) {
    return one.reason == RecompileReason::size;
  });
}

}  // namespace tilewright::graph
