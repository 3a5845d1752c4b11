// Random numbers that are computed from where they are wanted: Philox 4x32-10 of Salmon, Moraes,
// Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011). Ten rounds of two products
// make four words of 32 bits of a counter of 128 bits and a key of 64, and neighbouring counters
// give words that pass the tests of TestU01. cuRAND, PyTorch on GPUs and Triton draw from it too.
//
// Under all layers, since the kernel language has it as an operation (`random_bits`) and its
// interpreter needs the definition.
#pragma once

#include <array>
#include <cstdint>

namespace tilewright {

struct PhiloxConstants {
  static constexpr int rounds = 10;
  static constexpr std::array<std::uint32_t, 2> factors = {0xD2511F53, 0xCD9E8D57};
  static constexpr std::array<std::uint32_t, 2> key_steps = {0x9E3779B9, 0xBB67AE85};
};

constexpr std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                              std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < PhiloxConstants::rounds; ++round) {
    const std::uint64_t first = std::uint64_t{PhiloxConstants::factors[0]} * counter[0];
    const std::uint64_t second = std::uint64_t{PhiloxConstants::factors[1]} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(first)};
    for (std::size_t i = 0; i < key.size(); ++i) key[i] += PhiloxConstants::key_steps[i];
  }
  return counter;
}

// Words 0 and 1, of which the first is in the lower half, where the key is `seed` and the lower
// half of the counter is `place`; the upper half is 0.
constexpr std::uint64_t random_bits(std::uint64_t seed, std::uint64_t place) {
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const auto words = philox({low(place), high(place), 0, 0}, {low(seed), high(seed)});
  return words[0] | std::uint64_t{words[1]} << 32;
}

}  // namespace tilewright
