#include <algorithm>
#include <limits>

#include "models/tokenizer/model.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
constexpr Merge no_merge{none, -1};

Merge merge_of(const Merges& merges, Id left, Id right) {
  return merges.find(left, right).value_or(no_merge);
}

// For pieces of a few characters, as words are: looks at all pairs for each merge.
void merge_few(const Merges& merges, std::vector<Id>& ids) {
  std::vector<Merge> pairs;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i)
    pairs.push_back(merge_of(merges, ids[i], ids[i + 1]));
  while (!pairs.empty()) {
    auto best = std::min_element(pairs.begin(), pairs.end(),
                                 [](Merge a, Merge b) { return a.rank < b.rank; });
    if (best->rank == none) return;
    auto at = best - pairs.begin();
    ids[static_cast<std::size_t>(at)] = best->result;
    ids.erase(ids.begin() + at + 1);
    pairs.erase(best);
    auto i = static_cast<std::size_t>(at);
    if (i > 0) pairs[i - 1] = merge_of(merges, ids[i - 1], ids[i]);
    if (i + 1 < ids.size()) pairs[i] = merge_of(merges, ids[i], ids[i + 1]);
  }
}

// For long pieces: the text as a doubly linked list of symbols, and a heap of the pairs that may be
// merged. An entry whose pair has meanwhile changed is recognised by its rank and dropped.
class Merger {
 public:
  Merger(const Merges& merges, std::vector<Id>& ids)
      : merges_(merges), ids_(ids), links_(ids.size()) {
    auto count = static_cast<std::int32_t>(ids.size());
    heap_.reserve(ids.size());
    for (std::int32_t i = 0; i < count; ++i)
      links_[at(i)] = {i - 1, i + 1 < count ? i + 1 : -1, none};
    for (std::int32_t i = 0; i + 1 < count; ++i) offer(i, false);
    std::make_heap(heap_.begin(), heap_.end());
  }

  void run() {
    while (!heap_.empty()) {
      std::pop_heap(heap_.begin(), heap_.end());
      Candidate candidate = heap_.back();
      heap_.pop_back();
      if (links_[at(candidate.left)].rank == candidate.rank) merge(candidate);
    }
    std::erase(ids_, gone);
  }

 private:
  static constexpr Id gone = -1;
  struct Link {
    std::int32_t previous, next;
    std::uint32_t rank;  // of the pair with the next; `none`: no such pair
  };
  struct Candidate {
    std::uint32_t rank;
    std::int32_t left;
    Id result;
    bool operator<(const Candidate& other) const {  // the heap's top is its greatest
      return rank != other.rank ? rank > other.rank : left > other.left;
    }
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  void offer(std::int32_t left, bool keeps_heap) {
    if (left < 0) return;
    Link& link = links_[at(left)];
    Merge merge = link.next < 0 ? no_merge : merge_of(merges_, ids_[at(left)], ids_[at(link.next)]);
    link.rank = merge.rank;
    if (merge.rank == none) return;
    heap_.push_back({merge.rank, left, merge.result});
    if (keeps_heap) std::push_heap(heap_.begin(), heap_.end());
  }

  void merge(Candidate candidate) {
    Link& link = links_[at(candidate.left)];
    Link& right = links_[at(link.next)];
    ids_[at(candidate.left)] = candidate.result;
    ids_[at(link.next)] = gone;
    right.rank = none;
    link.next = right.next;
    if (link.next >= 0) links_[at(link.next)].previous = candidate.left;
    offer(link.previous, true);
    offer(candidate.left, true);
  }

  const Merges& merges_;
  std::vector<Id>& ids_;
  std::vector<Link> links_;
  std::vector<Candidate> heap_;
};

}  // namespace

void merge_pairs(const Merges& merges, std::vector<Id>& ids) {
  constexpr std::size_t few = 32;
  if (ids.size() <= few)
    merge_few(merges, ids);
  else
    Merger(merges, ids).run();
}

}  // namespace tilewright::tokenizer
