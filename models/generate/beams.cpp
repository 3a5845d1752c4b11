#include "models/generate/beams.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "models/generate/log_probabilities.h"
#include "runtime/base/error.h"

namespace tilewright {

BeamSearch::BeamSearch(DecodingBatch& batch, std::int64_t beams, double length_penalty,
                       std::int64_t tokens, std::int64_t rows, std::int64_t limit,
                       std::span<const TokenId> stops)
    : batch_(batch),
      count_(static_cast<std::size_t>(beams)),
      length_penalty_(length_penalty),
      tokens_(tokens),
      rows_(rows),
      limit_(limit),
      stops_(stops),
      running_(1) {
  check(beams >= 1 && beams <= batch.size(), "more beams than places for them");
}

double BeamSearch::score_of(double total, std::size_t new_tokens) const {
  return total / std::pow(static_cast<double>(new_tokens), length_penalty_);
}

// The likeliest continuations by one token: twice as many as beams, so that as many remain where
// all others end. Between equals the earlier beam comes first, then the lower id.
std::vector<BeamSearch::Candidate> BeamSearch::best_candidates(
    std::span<const std::span<const float>> logits) const {
  const std::size_t wanted = 2 * count_;
  std::vector<Candidate> all;
  for (std::size_t beam = 0; beam < running_.size(); ++beam) {
    const double total = log_sum_exp(logits[beam]);
    require(!std::isnan(total), "[sample] a logit is NaN after ",
            rows_ + std::ssize(running_[beam].new_ids), " tokens");
    const auto own = static_cast<std::ptrdiff_t>(all.size());
    for (std::size_t id = 0; id < logits[beam].size(); ++id)
      all.push_back({beam, static_cast<TokenId>(id),
                     running_[beam].total + (double{logits[beam][id]} - total)});
    auto is_before = [](const Candidate& a, const Candidate& b) {
      return a.total != b.total ? a.total > b.total : a.id < b.id;
    };
    const auto kept = std::min(all.size() - static_cast<std::size_t>(own), wanted);
    std::partial_sort(all.begin() + own, all.begin() + own + static_cast<std::ptrdiff_t>(kept),
                      all.end(), is_before);
    all.resize(static_cast<std::size_t>(own) + kept);
  }
  std::ranges::stable_sort(all, [](const auto& a, const auto& b) { return a.total > b.total; });
  all.resize(std::min(all.size(), wanted));
  return all;
}

void BeamSearch::add(Hypothesis hypothesis) {
  const auto at = std::ranges::find_if(
      finished_, [&](const Hypothesis& other) { return other.score < hypothesis.score; });
  finished_.insert(at, std::move(hypothesis));
  if (finished_.size() > count_) finished_.pop_back();
}

void BeamSearch::take(const std::vector<Candidate>& candidates) {
  std::vector<Beam> next;
  std::vector<std::size_t> parents;
  for (std::size_t rank = 0; rank < candidates.size() && next.size() < count_; ++rank) {
    const Candidate& candidate = candidates[rank];
    const Beam& parent = running_[candidate.beam];
    if (std::ranges::find(stops_, candidate.id) != stops_.end()) {
      // One that would not be kept as a beam is no hypothesis either.
      if (rank < count_)
        add({parent.new_ids, score_of(candidate.total, parent.new_ids.size() + 1), true});
      continue;
    }
    next.push_back({parent.new_ids, candidate.total, 0});
    next.back().new_ids.push_back(candidate.id);
    parents.push_back(candidate.beam);
  }
  place_beams(next, parents);
  running_ = std::move(next);
}

// The first beam that comes of a parent stays in its place, others get a copy in a place whose beam
// is gone.
void BeamSearch::place_beams(std::vector<Beam>& next, const std::vector<std::size_t>& parents) {
  std::vector<bool> is_taken(count_, false), is_placed(next.size(), false),
      has_stayed(running_.size(), false);
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (has_stayed[parents[i]]) continue;
    has_stayed[parents[i]] = true;
    next[i].place = running_[parents[i]].place;
    is_placed[i] = true;
    is_taken[static_cast<std::size_t>(next[i].place)] = true;
  }
  const std::int64_t rows = rows_ + std::ssize(running_[0].new_ids);
  for (std::size_t i = 0; i < next.size(); ++i) {
    if (is_placed[i]) continue;
    next[i].place = std::ranges::find(is_taken, false) - is_taken.begin();
    is_taken[static_cast<std::size_t>(next[i].place)] = true;
    batch_.fork(next[i].place, running_[parents[i]].place, rows);
  }
}

bool BeamSearch::may_improve() const {
  if (finished_.size() < count_) return true;
  return score_of(running_[0].total, running_[0].new_ids.size()) > finished_.back().score;
}

std::vector<Hypothesis> BeamSearch::run(std::span<const float> logits, const Cancellation& cancel) {
  std::vector<std::span<const float>> all = {logits};
  for (;;) {
    take(best_candidates(all));
    if (running_.empty()) break;
    const std::int64_t rows = rows_ + std::ssize(running_[0].new_ids);
    if (rows >= limit_ || !may_improve() || cancel.stop_requested()) {
      for (const Beam& beam : running_)
        add({beam.new_ids, score_of(beam.total, beam.new_ids.size()), false});
      break;
    }
    for (const Beam& beam : running_) batch_.set(beam.place, beam.new_ids.back(), rows - 1);
    batch_.run();
    ++steps_;
    all.clear();
    for (const Beam& beam : running_) all.push_back(batch_.logits(beam.place, tokens_));
  }
  return finished_;
}

}  // namespace tilewright
