// Where random numbers come from: a seed, and how many of its numbers were drawn.
//
// Numbers are computed from their place and not from the one before (runtime/base/random/philox.h),
// so a generator is two integers, and these lie in tensors. A compiled function that draws reads
// and writes them as it does its weights and its caches: each call, also a replayed one, gives new
// numbers, `manual_seed` needs no compilation, and the same state gives the same numbers at once
// and compiled, on every device.
//
//   Generator generator(42);
//   Tensor noise = randn({16, 16}, f32, generator);
//
// Apart from the functions that draw (graph/functions/random/random.h), since modules and loaders
// keep generators without drawing.
#pragma once

#include <cstdint>
#include <memory>
#include <source_location>

#include "graph/tensor/tensor.h"

namespace tilewright {

// The default generator's first seed, as PyTorch's.
inline constexpr std::uint64_t default_seed = 67280421310721;

struct GeneratorState;  // generator_state.h

// Copies stand for the same generator, as a tensor's handles do. Functions at once may draw from
// one in several threads; a compiled function must not run while somebody else draws from its
// generator: give each thread its own. One on a GPU spares functions there a wait in each call.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = default_seed, const Device& device = Device::cpu());

  // Restarts the generator. Later draws, inside a captured function too, start from that seed.
  void manual_seed(std::uint64_t seed, std::source_location w = std::source_location::current());
  // How many numbers were drawn since; to be set, for a state that was saved. Reading one inside a
  // captured function breaks its graph.
  void set_offset(std::uint64_t offset, std::source_location w = std::source_location::current());
  std::uint64_t initial_seed(std::source_location w = std::source_location::current()) const;
  std::uint64_t offset(std::source_location w = std::source_location::current()) const;

  GeneratorState& state() const { return *state_; }

 private:
  std::shared_ptr<GeneratorState> state_;
};

// Used by functions that are given no generator; on the host.
const Generator& default_generator();
// Seeds the default generator, and from then on the initial weights of layers.
void manual_seed(std::uint64_t seed);

namespace graph {

// The last call of the function above: its seed, and how many there were.
struct Seeding {
  std::uint64_t seed = 0, calls = 0;
};
Seeding last_seeding();

}  // namespace graph
}  // namespace tilewright
