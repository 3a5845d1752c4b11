// Which cases a randomised test runs, and the command that repeats one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

// 0 to count - 1, or the one of TILEWRIGHT_SEED.
std::vector<std::uint64_t> seeds_of_test(std::uint64_t count);
// The command that repeats the running test with this seed alone.
std::string reproduction(std::uint64_t seed);

}  // namespace tilewright
