#include "tools/bench/beside.h"

#include <unistd.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/peer.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

constexpr double least_sample_s = 2e-3;
constexpr double awake_s = 60e-3;     // a second processor that slept is slow for so long
constexpr double longest_case_s = 6;  // then rounds end, once there are some
constexpr int fewest_rounds = 3;
constexpr unsigned rest_us = 3'000;  // the threads of the system before wait for work for so long

// One of the systems that are timed.
struct Contender {
  std::string name;
  std::function<double()> sample;  // seconds of a call
  std::vector<double> seconds = {};
};

// The first runs are not counted, since they find the caches full of another program's data, and
// processors that slept; unless that does not matter.
double sample_of(const std::function<void()>& run) {
  finish_compiling();
  double start = now_s(), seconds = 0;
  do {
    run();
    seconds = now_s() - start;
    if (seconds > 100 * least_sample_s) return seconds;
  } while (seconds < awake_s);
  int count = 0;
  start = now_s(), seconds = 0;
  while (seconds < least_sample_s) {
    run();
    ++count;
    seconds = now_s() - start;
  }
  return seconds / count;
}

nlohmann::json as_json(const std::vector<double>& seconds) {
  Timing time = timing_of(seconds);
  return {{"seconds", time.median}, {"least", time.least}, {"p90", time.p90}};
}

double median_of(const std::vector<double>& values) { return timing_of(values).median; }

// Peers that have the case, from the adapters that run.
std::vector<Contender> open_peers(nlohmann::json& row, const Contest& contest,
                                  const BenchSettings& settings) {
  std::vector<Contender> found;
  if (contest.question.is_null()) return found;
  nlohmann::json question = contest.question;
  question["do"] = "open";
  question["threads"] = thread_count();
  for (const auto& peer : settings.peers) {
    nlohmann::json answer = peer->ask(question);
    if (!answer.value("notes", nlohmann::json()).empty()) row["peer_notes"].update(answer["notes"]);
    for (const auto& [system, facts] : answer["systems"].items()) {
      row["peers"][system] = facts;
      found.push_back({system, [peer, system = system] {
                         return peer
                             ->ask({{"do", "sample"},
                                    {"system", system},
                                    {"at_least_s", least_sample_s}})["seconds"]
                             .get<double>();
                       }});
    }
  }
  return found;
}

void add_ratio(nlohmann::json& row, const Contender& ours, const Contender& peer) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < ours.seconds.size(); ++i)
    ratios.push_back(peer.seconds[i] / ours.seconds[i]);
  std::ranges::sort(ratios);
  row["peer"] = peer.name;
  row["peer_seconds"] = median_of(peer.seconds);
  row["ratio"] = ratios[ratios.size() / 2];
  row["ratio_p10"] = ratios[ratios.size() / 10];
  row["ratio_p90"] = ratios[ratios.size() * 9 / 10];
}

}  // namespace

void time_beside(nlohmann::json& row, const Contest& contest, const BenchSettings& settings) {
  std::vector<Contender> all = {{"tilewright", [&] { return sample_of(contest.ours); }}};
  std::vector<LimitLoop> loops =
      settings.tiny ? std::vector<LimitLoop>() : limit_loops(contest.limit);
  for (const LimitLoop& loop : loops)
    all.push_back({loop.name, [&loop] { return sample_of(loop.run); }});
  for (Contender& peer : open_peers(row, contest, settings)) all.push_back(std::move(peer));

  double start = now_s();
  for (int round = 0; round < settings.rounds; ++round) {
    if (round >= fewest_rounds && now_s() - start > longest_case_s) break;
    for (Contender& c : all) {
      if (all.size() > 1) usleep(rest_us);
      c.seconds.push_back(c.sample());
    }
  }
  for (double& seconds : all.front().seconds) seconds /= contest.calls;
  row.update(as_json(all.front().seconds));
  row["rounds"] = all.front().seconds.size();
  double best_rate = 0;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    double rate = loops[i].work / median_of(all[1 + i].seconds);
    if (rate <= best_rate) continue;
    best_rate = rate;
    row["limit"] = loops[i].name;
    row["limit_rate"] = rate;
    row["of_limit"] = contest.work / row["seconds"].get<double>() / rate;
  }
  const Contender* best = nullptr;
  for (std::size_t i = 1 + loops.size(); i < all.size(); ++i) {
    row["peers"][all[i].name].update(as_json(all[i].seconds));
    if (best == nullptr || median_of(all[i].seconds) < median_of(best->seconds)) best = &all[i];
  }
  if (best != nullptr) add_ratio(row, all.front(), *best);
  for (const auto& peer : settings.peers)
    if (!contest.question.is_null()) peer->ask({{"do", "close"}});
}

}  // namespace tilewright::tools
