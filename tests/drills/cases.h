// Which cases of a drill run, and the line that repeats one. A drill is a list of cases by number,
// of which the ordinary tests run a tenth, spread over the list, and the nightly ones all.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace tilewright::drills {

// The numbers from 0 to count - 1 that run: a tenth, or one of so many (at least one); all where
// TILEWRIGHT_DRILLS is all; or the one that TILEWRIGHT_SEED names.
constexpr std::uint64_t usual_share = 10;
std::vector<std::uint64_t> cases_of_drill(std::uint64_t count, std::uint64_t share = usual_share);

// The command that repeats the running test with this case alone.
std::string repeat_line(std::uint64_t number);

// Runs the drill's cases, each under its line of repetition, and says how many were run. After
// fifty failed cases it stops: the next ones say the same.
void each_case(std::uint64_t count, const std::function<void(std::uint64_t)>& body,
               std::uint64_t share = usual_share);

// The random choices in a case, the same at every repetition.
class Chance {
 public:
  explicit Chance(std::uint64_t number) : state_(number) {}
  std::uint64_t below(std::uint64_t end) { return state_() % end; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[below(all.size())];
  }

 private:
  std::mt19937_64 state_;
};

}  // namespace tilewright::drills
