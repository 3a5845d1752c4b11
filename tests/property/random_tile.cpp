#include "tests/property/random_tile.h"

#include <limits>
#include <random>

#include "dsl/ir/verify.h"
#include "tests/property/tile_generator.h"

namespace tilewright {
namespace {

ir::Scalar random_element(std::mt19937_64& random, DType dtype, bool special) {
  auto word = static_cast<std::int64_t>(random());
  if (is_boolean(dtype)) return ir::Scalar::of_integer(dtype, word & 1);
  if (!is_floating(dtype)) return ir::Scalar::of_integer(dtype, word % 3 == 0 ? word : word % 20);
  if (special && word % 11 == 0) {
    double infinity = std::numeric_limits<double>::infinity();
    double choices[] = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN(), -0.0};
    return ir::Scalar::of(dtype, choices[random() % 4]);
  }
  // Multiples of 2^-6 between -2 and 2, which every floating type holds.
  return ir::Scalar::of(dtype,
                        static_cast<double>(static_cast<std::int64_t>(random() % 257) - 128) / 64);
}

}  // namespace

RandomProgram random_tile_program(std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + 1);
  RandomProgram program;
  program.seed = seed;
  program.grid = {{static_cast<std::int64_t>(random() % 3 + 1),
                   static_cast<std::int64_t>(random() % 2 + 1),
                   static_cast<std::int64_t>(random() % 4 == 0 ? 2 : 1)}};
  program.function.name = "random";
  TileGenerator generator(program.function, program.grid, random);
  generator.run();
  ir::verify(program.function);
  for (const GeneratedParam& param : generator.params()) {
    HostArray array(param.dtype, param.count);
    for (std::int64_t i = 0; i < array.count(); ++i)
      array.set(i, param.value ? ir::Scalar::of_integer(param.dtype, *param.value)
                               : random_element(random, param.dtype, seed % 16 == 5));
    program.arguments.push_back(std::move(array));
    program.written.push_back(param.written);
  }
  return program;
}

}  // namespace tilewright
