// Arrays of f32 as arguments of a program, for tests that run one in several ways.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/base/half.h"
#include "tests/guarded.h"

namespace tilewright::dsl {

using Array = std::vector<float>;

inline Array random_array(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Array array(count);
  for (float& x : array) x = uniform(generator);
  return array;
}

// So many bf16 numbers from -5 to 5, in memory for as many words.
inline Array small_numbers(std::int64_t count, int step) {
  Array array(static_cast<std::size_t>(count));
  auto* to = reinterpret_cast<std::uint16_t*>(array.data());
  for (std::int64_t i = 0; i < count; ++i)
    to[i] = BFloat16(static_cast<float>(i * step % 11 - 5)).bits;
  return array;
}

// Two bf16 numbers in each word.
inline Array random_pairs(std::size_t words, unsigned seed) {
  Array low = random_array(words, seed), high = random_array(words, seed + 1);
  for (std::size_t i = 0; i < words; ++i) {
    std::uint32_t a, b;
    std::memcpy(&a, &low[i], 4);
    std::memcpy(&b, &high[i], 4);
    b = (b & 0xffff0000U) | a >> 16;
    std::memcpy(&high[i], &b, 4);
  }
  return high;
}

// Memory for a kernel argument.
class Aligned {
 public:
  explicit Aligned(const Array& values) : count_(values.size()), memory_(values.size() * 4) {
    std::copy(values.begin(), values.end(), data());
  }
  float* data() { return static_cast<float*>(memory_.data()); }
  // The contents, after a check that nothing was written beside it.
  Array values() {
    EXPECT_TRUE(memory_.is_whole()) << "memory outside of " << count_ << " words was written";
    return {data(), data() + count_};
  }

 private:
  std::size_t count_;
  GuardedMemory memory_;
};

// The contents of the arrays after `how(arguments)` has run on copies of them.
template <typename How>
std::vector<Array> arrays_after(const std::vector<Array>& arrays, How&& how) {
  std::vector<std::unique_ptr<Aligned>> memory;
  std::vector<Argument> arguments;
  for (const Array& array : arrays) {
    memory.push_back(std::make_unique<Aligned>(array));
    arguments.push_back({.pointer = memory.back()->data()});
  }
  how(arguments);
  std::vector<Array> results;
  for (auto& m : memory) results.push_back(m->values());
  return results;
}

}  // namespace tilewright::dsl
