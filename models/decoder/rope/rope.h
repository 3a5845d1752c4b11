// Rotary positions (Su et al. 2021): how fast each pair of a head's elements turns with the
// position, by the published ways to stretch a model to longer texts than it was trained on.
//
// Pair i of a rotary size R turns by p * frequency[i] at position p; without scaling the frequency
// is theta^(-2i / R). The scalings change frequencies only (and, two of them, the length of the
// rotated vectors), so that they are a table of numbers here and do not affect the attention's
// code.
//
// Two scalings depend on how long the text is.
// * dynamic: up to the model's positions (max_position_embeddings) it is no scaling, and a cache is
//   never longer than these, so this is exact; longer texts are refused by their length.
// * longrope: a text of more than `original_positions` rows has other factors, for all its rows.
//   The choice is made in each call, by the last row's position or by the announced length
//   (DecodingState::expect). A text that grows across the boundary must be read again
//   (LanguageModel::reread_beyond).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/files/config_fields.h"

namespace tilewright {

enum class RopeType : std::uint8_t {
  plain,     // no scaling
  linear,    // positions divided by `factor` (Chen et al. 2023)
  dynamic,   // as above
  yarn,      // fast pairs as they are, slow ones as linear (Peng et al. 2023)
  longrope,  // a factor for each pair (Ding et al. 2024)
  llama3     // as yarn by wavelengths (Llama 3.1)
};

// Which elements make a pair.
enum class RopePairs : std::uint8_t {
  halves,      // x[i] and x[i + R/2]: the order of most files
  neighbours,  // x[2i] and x[2i + 1]
};

struct RopeConfig {
  RopeType type = RopeType::plain;
  RopePairs pairs = RopePairs::halves;
  double theta = 10000;
  double rotary_share = 1;  // of a head's elements, the first; the others keep as they are
  double factor = 1;
  std::int64_t original_positions = 0;  // yarn, longrope, llama3
  // yarn, longrope: lengthens the rotated vectors
  std::optional<double> attention_factor;
  double beta_fast = 32, beta_slow = 1;              // yarn
  double mscale = 0, mscale_all_dim = 0;             // yarn; 0: absent
  bool truncate = true;                              // yarn
  double low_freq_factor = 1, high_freq_factor = 4;  // llama3
  std::vector<double> short_factors, long_factors;   // longrope, one a pair

  std::int64_t rotary_size(std::int64_t head_size) const;
  std::int64_t bytes_a_position(std::int64_t head_size) const;  // at the most, of a RotaryTable
};

// Raises `Error` beginning with "[operation] what:" for numbers that make no sense together.
void check_rope(const RopeConfig& config, std::int64_t head_size, std::string_view operation,
                std::string_view what);

struct RopeFrequencies {
  std::vector<double> values;  // radians a position, one a pair
  double length = 1;           // factor of cos and sin
};
// Frequencies for texts of `rows` rows, which matter to longrope only. The configuration must have
// been checked.
RopeFrequencies rope_frequencies(const RopeConfig& config, std::int64_t head_size,
                                 std::int64_t rows);

// A family's values for members that a config.json lacks.
struct RopeDefaults {
  double theta = 10000;
  double sliding_theta = 0;  // of sliding layers, where these have an object; 0: as the others
  double rotary_share = 1;
  RopePairs pairs = RopePairs::halves;
  std::string_view theta_name = "rope_theta";  // of the members outside the object
  std::string_view share_name = "partial_rotary_factor";
};
// From `rope_parameters` (transformers 5) or from `rope_theta` and `rope_scaling` (transformers 4).
// Objects by kind of layer {"full_attention": ..., "sliding_attention": ...} give two, in that
// order; one object gives one. Raises `Error` for unknown values.
std::vector<RopeConfig> read_ropes(const ConfigFields& fields, std::int64_t max_positions,
                                   const RopeDefaults& defaults);

// cos and sin of each position times each frequency.
struct RotaryTable {
  RotaryTable(std::int64_t positions, std::int64_t head_size, double theta);  // without scaling
  RotaryTable(std::int64_t positions, std::int64_t head_size, const RopeConfig& config);
  Tensor cos, sin;  // [positions, rotary size / 2]
  // Tables for texts of more than `short_rows` rows; undefined unless there are two kinds.
  Tensor long_cos, long_sin;
  std::int64_t short_rows = 0;
  RopePairs pairs = RopePairs::halves;
  bool has_long() const { return long_cos.defined(); }
};

}  // namespace tilewright
