// Which cases a randomised test runs, and the command that repeats one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

// 0 to count - 1, or the one of TILEWRIGHT_SEED.
std::vector<std::uint64_t> seeds_of_test(std::uint64_t count);
// So many that no other test has, or the one of TILEWRIGHT_SEED: where tests differ in how they
// compute one and the same kind of program, each has programs of its own, and all together meet the
// more of them. TILEWRIGHT_TEST_GRAPHS has each try more, in proportion to its 2,000.
std::vector<std::uint64_t> own_seeds_of_test(std::uint64_t count);
// The command that repeats the running test with this seed alone.
std::string reproduction(std::uint64_t seed);

}  // namespace tilewright
