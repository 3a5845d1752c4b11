// Timing for people and reports: medians of repeated runs, interleaved where things are compared.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tilewright::tools {

double now_s();  // steady clock

// Runs each action in turn, round after round, and gives each one's median seconds a run. An action
// is run several times within a round if it is shorter than `shortest_s`. At least `rounds` rounds.
std::vector<double> interleaved_medians(const std::vector<std::function<void()>>& actions,
                                        int rounds = 9, double shortest_s = 0.005);

struct CopyRate {
  double bytes_per_s;  // read and written, both counted
  std::string how;     // which loop was fastest
};
// The fastest copy this machine is known to do: all threads, ordinary and non-temporal stores, the
// better of them, over `bytes` in all (half read, half written).
class CopyLimit {
 public:
  explicit CopyLimit(std::size_t bytes);
  ~CopyLimit();
  CopyLimit(const CopyLimit&) = delete;
  std::vector<std::function<void()>> loops();  // for interleaving; in the order of `names`
  static std::vector<std::string> names();

 private:
  std::size_t half_;
  char *from_, *to_;
};

std::string cpu_model();   // as the kernel reports it
std::string date_today();  // 2026-01-31
std::size_t peak_memory_bytes();

}  // namespace tilewright::tools
