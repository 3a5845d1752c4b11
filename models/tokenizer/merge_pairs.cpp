#include <queue>

#include "models/tokenizer/tables.h"

namespace tilewright::tokenizer {
namespace {

// The text as a doubly linked list of symbols, and a queue of the pairs that may be merged. A queue
// entry whose pair has meanwhile changed is recognised by its rank and dropped.
class Merger {
 public:
  Merger(const Tables& tables, std::vector<Id>& ids)
      : tables_(tables), ids_(ids), next_(ids.size()), previous_(ids.size()) {
    auto count = static_cast<std::int32_t>(ids.size());
    for (std::int32_t i = 0; i < count; ++i) {
      next_[at(i)] = i + 1 < count ? i + 1 : -1;
      previous_[at(i)] = i - 1;
    }
    for (std::int32_t i = 0; i < count; ++i) offer(i);
  }

  void run() {
    while (!queue_.empty()) {
      Candidate candidate = queue_.top();
      queue_.pop();
      if (rank_at(candidate.left) == candidate.rank) merge(candidate);
    }
    std::size_t kept = 0;
    for (Id id : ids_)
      if (id != gone) ids_[kept++] = id;
    ids_.resize(kept);
  }

 private:
  static constexpr Id gone = -1;
  static constexpr std::uint32_t none = ~0U;
  struct Candidate {
    std::uint32_t rank;
    std::int32_t left;
    bool operator<(const Candidate& other) const {  // the queue's top is its greatest
      return std::pair(rank, left) > std::pair(other.rank, other.left);
    }
  };
  static std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

  std::uint32_t rank_at(std::int32_t left) const {
    if (left < 0 || ids_[at(left)] == gone || next_[at(left)] < 0) return none;
    auto found = tables_.rank.find(pair_key(ids_[at(left)], ids_[at(next_[at(left)])]));
    return found == tables_.rank.end() ? none : found->second;
  }
  void offer(std::int32_t left) {
    if (std::uint32_t rank = rank_at(left); rank != none) queue_.push({rank, left});
  }
  void merge(Candidate candidate) {
    std::int32_t left = candidate.left, right = next_[at(left)], after = next_[at(right)];
    ids_[at(left)] = tables_.merges[candidate.rank].result;
    ids_[at(right)] = gone;
    next_[at(left)] = after;
    if (after >= 0) previous_[at(after)] = left;
    offer(previous_[at(left)]);
    offer(left);
  }

  const Tables& tables_;
  std::vector<Id>& ids_;
  std::vector<std::int32_t> next_, previous_;
  std::priority_queue<Candidate> queue_;
};

}  // namespace

void merge_pairs(const Tables& tables, std::vector<Id>& ids) { Merger(tables, ids).run(); }

}  // namespace tilewright::tokenizer
