// A case on the host beside other systems and beside the limits of the host. Samples of all of them
// are taken alternately, so that whatever else the machine does affects them alike.
#pragma once

#include "runtime/cpu/parallel.h"
#include "tools/bench/host_limits.h"
#include "tools/bench/section.h"

namespace tilewright::tools {

// So many threads while it lives; 0: as many as there are.
class Threads {
 public:
  explicit Threads(int count) : before_(thread_count()) {
    if (count > 0) set_thread_count(count);
  }
  ~Threads() { set_thread_count(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

struct Contest {
  std::function<void()> ours;
  double calls = 1;         // that one run of `ours` makes
  double work = 0;          // of one call, in the units of `limit`
  nlohmann::json question;  // an "open" for adapters (peer.h); null: no peer has the case
  HostLimit limit = HostLimit::none;
};

// Adds to the row the seconds of a call (`seconds`, `least`, `p90`) and, where there are any:
//   peers: {system: {seconds, least, p90, first_call_s}}, peer: the fastest one, peer_seconds
//   ratio: the peer's seconds over ours, the median of the rounds; ratio_p10, ratio_p90
//   limit: the fastest loop's name, limit_rate: work a second, of_limit: our share of it
//   peer_notes: what systems did not do, and why
void time_beside(nlohmann::json& row, const Contest& contest, const BenchSettings& settings);

}  // namespace tilewright::tools
