// Random numbers that are the same on every platform: for initial weights and for sampling.
//
// The standard library fixes its engines but not its distributions; here both are fixed. A stream
// is SplitMix64 (Steele, Lea, Flood 2014) from a seed and a stream number, so that streams of one
// seed are independent and any of them can be made without the others.
#pragma once

#include <cstdint>

#include "graph/functions/random/generator.h"
#include "graph/tensor/tensor.h"

namespace tilewright {

class RandomStream {
 public:
  explicit RandomStream(std::uint64_t seed, std::uint64_t stream = 0);
  std::uint64_t next();
  double uniform();  // in [0, 1), 53 bits
  double normal();   // mean 0, deviation 1 (Box and Muller)

 private:
  std::uint64_t state_;
  double spare_ = 0;
  bool has_spare_ = false;
};

// Layers that initialise themselves take one stream after the other of the seed that `manual_seed`
// (graph/functions/random/generator.h) was given last, 0 at first. Thread safe; the streams' order
// is that of the calls.
RandomStream next_random_stream();

// Fill a contiguous floating tensor.
void fill_uniform(Tensor& tensor, double low, double high, RandomStream stream);
void fill_normal(Tensor& tensor, double mean, double deviation, RandomStream stream);
void fill_value(Tensor& tensor, double value);

}  // namespace tilewright
