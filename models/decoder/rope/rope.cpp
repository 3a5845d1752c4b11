#include "models/decoder/rope/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr double turn = 2 * std::numbers::pi;

std::vector<double> plain_frequencies(double theta, std::int64_t size) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < size / 2; ++i)
    values.push_back(std::pow(theta, -2.0 * static_cast<double>(i) / static_cast<double>(size)));
  return values;
}

// The index of the pair, as a real number, that makes `turns` turns over the original positions.
double pair_of_turns(const RopeConfig& c, double turns, double size) {
  return size * std::log(static_cast<double>(c.original_positions) / (turns * turn)) /
         (2 * std::log(c.theta));
}

void scale_by_yarn(const RopeConfig& c, std::int64_t size, std::vector<double>& values) {
  auto whole = static_cast<double>(size);
  double low = pair_of_turns(c, c.beta_fast, whole), high = pair_of_turns(c, c.beta_slow, whole);
  if (c.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, whole - 1);
  if (low == high) high += 0.001;
  for (std::size_t i = 0; i < values.size(); ++i) {
    double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
    values[i] *= ramp / c.factor + (1 - ramp);
  }
}

double yarn_length(const RopeConfig& c) {
  auto length = [&](double scale) {
    return c.factor <= 1 ? 1 : 0.1 * scale * std::log(c.factor) + 1;
  };
  if (c.attention_factor) return *c.attention_factor;
  bool has_both = c.mscale != 0 && c.mscale_all_dim != 0;
  return has_both ? length(c.mscale) / length(c.mscale_all_dim) : length(1);
}

double longrope_length(const RopeConfig& c) {
  if (c.attention_factor) return *c.attention_factor;
  if (c.factor <= 1) return 1;
  return std::sqrt(1 + std::log(c.factor) / std::log(static_cast<double>(c.original_positions)));
}

// Wavelengths above the original positions / low factor are stretched, those below / high factor
// are not, and between them is a ramp.
void scale_by_llama3(const RopeConfig& c, std::vector<double>& values) {
  auto original = static_cast<double>(c.original_positions);
  for (double& value : values) {
    double turns = original * value / turn;
    double kept = (turns - c.low_freq_factor) / (c.high_freq_factor - c.low_freq_factor);
    kept = std::clamp(kept, 0.0, 1.0);
    value *= (1 - kept) / c.factor + kept;
  }
}

struct AngleTables {
  Tensor cos, sin;
};

AngleTables angle_tables(std::int64_t positions, const RopeFrequencies& frequencies) {
  Shape shape{positions, std::ssize(frequencies.values)};
  AngleTables tables{Tensor::empty(shape), Tensor::empty(shape)};
  auto* cosine = static_cast<float*>(tables.cos.data());
  auto* sine = static_cast<float*>(tables.sin.data());
  for (std::int64_t p = 0; p < positions; ++p)
    for (double frequency : frequencies.values) {
      double angle = static_cast<double>(p) * frequency;
      *cosine++ = static_cast<float>(frequencies.length * std::cos(angle));
      *sine++ = static_cast<float>(frequencies.length * std::sin(angle));
    }
  return tables;
}

}  // namespace

std::int64_t RopeConfig::rotary_size(std::int64_t head_size) const {
  return static_cast<std::int64_t>(static_cast<double>(head_size) * rotary_share);
}

std::int64_t RopeConfig::bytes_a_position(std::int64_t head_size) const {
  std::int64_t tables = type == RopeType::longrope ? 4 : 2;  // cos and sin, once or twice
  return tables * (rotary_size(head_size) / 2) * size_bytes(f32);
}

void check_rope(const RopeConfig& c, std::int64_t head_size, std::string_view operation,
                std::string_view what) {
  auto check = [&](bool fits, std::string_view name, auto value, std::string_view right) {
    require(fits, "[", operation, "] ", what, ": ", name, " is ", value, "; ", right);
  };
  auto positive = [&](std::string_view name, double value) {
    check(std::isfinite(value) && value > 0, name, value, "above 0 is allowed");
  };
  check(std::isfinite(c.theta) && c.theta >= 1, "rope_theta", c.theta, "1 or more is allowed");
  check(c.rotary_share > 0 && c.rotary_share <= 1, "partial_rotary_factor", c.rotary_share,
        "above 0 and up to 1 is allowed");
  std::int64_t size = c.rotary_size(head_size);
  require(size >= 2 && size % 2 == 0, "[", operation, "] ", what, ": head_dim is ", head_size,
          c.rotary_share == 1 ? "" : concat(", of which ", size, " elements are turned"),
          "; rotary embedding needs an even one");
  positive("factor", c.factor);
  bool has_original =
      c.type == RopeType::yarn || c.type == RopeType::longrope || c.type == RopeType::llama3;
  if (has_original)
    check(c.original_positions >= 2, "original_max_position_embeddings", c.original_positions,
          "2 or more is allowed");
  if (c.attention_factor) positive("attention_factor", *c.attention_factor);
  if (c.type == RopeType::yarn) {
    positive("beta_fast", c.beta_fast);
    positive("beta_slow", c.beta_slow);
    check(c.theta > 1, "rope_theta", c.theta, "yarn needs more than 1");
  }
  if (c.type == RopeType::llama3)
    require(c.low_freq_factor > 0 && c.high_freq_factor > c.low_freq_factor, "[", operation, "] ",
            what, ": low_freq_factor is ", c.low_freq_factor, ", high_freq_factor ",
            c.high_freq_factor, "; both must be above 0 and the second greater");
  if (c.type != RopeType::longrope) return;
  for (const auto* factors : {&c.short_factors, &c.long_factors}) {
    std::string_view name = factors == &c.short_factors ? "short_factor" : "long_factor";
    require(std::ssize(*factors) == size / 2, "[", operation, "] ", what, ": ", name, " has ",
            factors->size(), " numbers; ", size / 2, " are needed, one for a pair of ", size,
            " elements");
    for (double factor : *factors) positive(name, factor);
  }
}

RopeFrequencies rope_frequencies(const RopeConfig& c, std::int64_t head_size, std::int64_t rows) {
  std::int64_t size = c.rotary_size(head_size);
  RopeFrequencies result{plain_frequencies(c.theta, size)};
  switch (c.type) {
    case RopeType::plain:
    case RopeType::dynamic: break;
    case RopeType::linear:
      for (double& value : result.values) value /= c.factor;
      break;
    case RopeType::yarn:
      scale_by_yarn(c, size, result.values);
      result.length = yarn_length(c);
      break;
    case RopeType::longrope: {
      const auto& factors = rows > c.original_positions ? c.long_factors : c.short_factors;
      for (std::size_t i = 0; i < result.values.size(); ++i) result.values[i] /= factors[i];
      result.length = longrope_length(c);
      break;
    }
    case RopeType::llama3: scale_by_llama3(c, result.values); break;
  }
  return result;
}

RotaryTable::RotaryTable(std::int64_t positions, std::int64_t head_size, double theta)
    : RotaryTable(positions, head_size, RopeConfig{.theta = theta}) {}

RotaryTable::RotaryTable(std::int64_t positions, std::int64_t head_size, const RopeConfig& config)
    : pairs(config.pairs) {
  AngleTables tables = angle_tables(positions, rope_frequencies(config, head_size, 1));
  cos = tables.cos;
  sin = tables.sin;
  if (config.type != RopeType::longrope || positions <= config.original_positions) return;
  AngleTables others = angle_tables(positions, rope_frequencies(config, head_size, positions));
  long_cos = others.cos;
  long_sin = others.sin;
  short_rows = config.original_positions;
}

}  // namespace tilewright
