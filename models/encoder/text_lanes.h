// Where the tokens of many texts lie in calls of an encoder.
//
// A call has lanes of equal length, and texts lie in them one behind the other. Padding each text
// to the longest, as batches usually do, would compute up to half of all rows for nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tilewright {

struct LaneSizes {
  std::int64_t lanes = 0, places = 0;
  friend bool operator==(const LaneSizes&, const LaneSizes&) = default;
};

// The next multiple of `step`.
inline std::int64_t rounded_up(std::int64_t value, std::int64_t step) {
  return (value + step - 1) / step * step;
}

// A text of a call: its number, and where it begins.
struct PlacedText {
  std::size_t text;
  std::int64_t lane, begin, tokens;
};

struct LaneCall {
  LaneSizes sizes;
  std::vector<PlacedText> texts;
};

struct LaneLimits {
  std::int64_t max_places;       // of a lane; no text is longer
  std::int64_t call_tokens;      // a call of several texts has about so many places at most
  std::int64_t step = 8;         // lanes are multiples of this, but for the longest ones
  double attention_cost = 5e-4;  // of a place for each other place of its lane; of the rest: 1
};

// Calls that read all texts, of which each has at least one token: few, of few different sizes.
std::vector<LaneCall> place_texts(std::span<const std::int64_t> tokens, const LaneLimits& limits);

}  // namespace tilewright
