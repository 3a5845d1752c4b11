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

std::string cpu_model();   // as the kernel reports it
std::string date_today();  // 2026-01-31
std::size_t peak_memory_bytes();

}  // namespace tilewright::tools
