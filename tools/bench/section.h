// The benches of a device: sections of cases, and the log that their results go to.
//
// A GPU may be available only for minutes, and a kernel that faults destroys the context of the
// process. So a section writes each result at once, notes which case it begins, and, when it is run
// again with the same file, skips cases that are there and cases that it crashed in.
#pragma once

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "graph/compile/compile.h"

namespace tilewright::tools {

class Peer;  // tools/bench/peer.h

struct BenchSettings {
  Device device = default_device();
  Mode mode = Mode::reduce_overhead;
  bool tiny = false;               // sizes that the emulator can do: shows that the bench works
  int rounds = 15;                 // interleaved; medians are given
  double budget_s = 1e9;           // a case that would begin later than that is left out
  unsigned case_limit_s = 0;       // a case that takes longer ends the process; 0: none does
  std::vector<std::string> words;  // cases in whose names one of them stands; none: all
  std::string append;              // a file of JSON lines to add to; none: ""
  bool quiet = false;              // nothing is printed as it comes
  std::vector<std::shared_ptr<Peer>> peers;  // that time the cases of the host too
};

// Neither a GPU nor an emulated one.
inline bool is_host(const BenchSettings& settings) {
  return !settings.device.is_cuda() && !settings.device.is_emulated();
}

// One line for each case: {section, case, system, ok, seconds, ...}. Units: seconds, and `rate`
// with its `unit`. `note` names the problem, or the reason why a case was left out (`skipped`).
class BenchLog {
 public:
  BenchLog(std::string section, BenchSettings settings);
  const BenchSettings& settings() const { return settings_; }

  // Runs the case unless it is not wanted, is in the file already, or the time is up. An exception
  // becomes a line, except for a lost context, which is then rethrown.
  void run(const std::string& name, const std::function<nlohmann::json()>& measure);
  // The names of all cases of the device, and how many of them were wanted.
  const std::vector<std::string>& cases() const { return cases_; }
  std::size_t wanted() const { return wanted_; }
  // Lines of this run.
  const std::vector<nlohmann::json>& rows() const { return rows_; }
  bool all_ok() const { return all_ok_; }

 private:
  void read_former();
  void add(const std::string& name, nlohmann::json row);
  void write(const nlohmann::json& line);

  std::string section_;
  BenchSettings settings_;
  double start_;
  std::ofstream file_;
  std::set<std::string> begun_, done_;  // by earlier runs of the file
  std::vector<std::string> cases_;
  std::size_t wanted_ = 0;
  std::vector<nlohmann::json> rows_;
  bool all_ok_ = true;
};

struct Section {
  const char* name;
  const char* what;
  void (*run)(BenchLog& log);
};
std::span<const Section> bench_sections();

// The sections' functions, one file a subject.
void bench_limits(BenchLog& log);
void bench_gemm(BenchLog& log);
void bench_prefill(BenchLog& log);
void bench_decode(BenchLog& log);
void bench_attention(BenchLog& log);
void bench_scores(BenchLog& log);
void bench_experts(BenchLog& log);
void bench_backward(BenchLog& log);
void bench_convolutions(BenchLog& log);
void bench_device_rows(BenchLog& log);
void bench_models(BenchLog& log);
void bench_compile(BenchLog& log);
void bench_sizes(BenchLog& log);
void bench_new_sizes(BenchLog& log);
void bench_launch(BenchLog& log);
void bench_graphs(BenchLog& log);
void bench_optim(BenchLog& log);
void bench_training(BenchLog& log);
void bench_saving(BenchLog& log);
void bench_profile(BenchLog& log);
void bench_tune(BenchLog& log);
void bench_database(BenchLog& log);

}  // namespace tilewright::tools
