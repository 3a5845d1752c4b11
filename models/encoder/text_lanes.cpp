#include "models/encoder/text_lanes.h"

#include <algorithm>
#include <numeric>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

// Each text, the longest first, lies in the first lane that has room for it.
class FirstFit {
 public:
  explicit FirstFit(std::int64_t places) : places_(places) {}
  PlacedText place(std::size_t text, std::int64_t tokens) {
    std::size_t lane = 0;
    while (lane < used_.size() && used_[lane] + tokens > places_) ++lane;
    if (lane == used_.size()) used_.push_back(0);
    const PlacedText placed{text, static_cast<std::int64_t>(lane), used_[lane], tokens};
    used_[lane] += tokens;
    return placed;
  }
  std::int64_t lanes() const { return std::ssize(used_); }

 private:
  std::int64_t places_;
  std::vector<std::int64_t> used_;
};

class Placement {
 public:
  Placement(std::span<const std::int64_t> tokens, const LaneLimits& limits)
      : tokens_(tokens), limits_(limits), order_(tokens.size()) {
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, std::ranges::greater(),
                             [&](std::size_t text) { return tokens_[text]; });
  }

  std::vector<LaneCall> calls() const {
    const std::int64_t all = std::accumulate(tokens_.begin(), tokens_.end(), std::int64_t{0});
    const std::int64_t longest = tokens_[order_[0]];
    if (all <= limits_.call_tokens) return {placed(cheapest(longest, all))};
    constexpr std::int64_t usual = 128, step = 64;
    return split(placed(std::min(std::max(usual, rounded_up(longest, step)), limits_.max_places)));
  }

 private:
  LaneCall placed(std::int64_t places) const {
    FirstFit fit(places);
    LaneCall call;
    for (std::size_t text : order_) call.texts.push_back(fit.place(text, tokens_[text]));
    call.sizes = {fit.lanes(), places};
    return call;
  }

  // The length of lanes for one call that costs least.
  std::int64_t cheapest(std::int64_t longest, std::int64_t all) const {
    std::int64_t best = 0;
    double least = 0;
    const std::int64_t last = std::max(longest, std::min(all, limits_.max_places));
    for (std::int64_t wanted = longest;; wanted += limits_.step) {
      const std::int64_t places =
          std::min(rounded_up(std::min(wanted, last), limits_.step), limits_.max_places);
      const LaneSizes sizes = placed(places).sizes;
      const double cost = static_cast<double>(sizes.lanes * places) *
                          (1 + limits_.attention_cost * static_cast<double>(places));
      if (best == 0 || cost < least) {
        best = places;
        least = cost;
      }
      if (wanted >= last) return best;
    }
  }

  // As many lanes in each call as make up its tokens.
  std::vector<LaneCall> split(const LaneCall& whole) const {
    const std::int64_t lanes = std::max<std::int64_t>(limits_.call_tokens / whole.sizes.places, 1);
    std::vector<LaneCall> calls(static_cast<std::size_t>((whole.sizes.lanes + lanes - 1) / lanes));
    for (std::size_t i = 0; i < calls.size(); ++i)
      calls[i].sizes = {std::min(lanes, whole.sizes.lanes - static_cast<std::int64_t>(i) * lanes),
                        whole.sizes.places};
    for (PlacedText text : whole.texts) {
      LaneCall& call = calls[static_cast<std::size_t>(text.lane / lanes)];
      text.lane %= lanes;
      call.texts.push_back(text);
    }
    return calls;
  }

  std::span<const std::int64_t> tokens_;
  const LaneLimits& limits_;
  std::vector<std::size_t> order_;
};

}  // namespace

std::vector<LaneCall> place_texts(std::span<const std::int64_t> tokens, const LaneLimits& limits) {
  if (tokens.empty()) return {};
  for (std::int64_t count : tokens)
    check(count >= 1 && count <= limits.max_places, "a text has more tokens than a lane");
  return Placement(tokens, limits).calls();
}

}  // namespace tilewright
