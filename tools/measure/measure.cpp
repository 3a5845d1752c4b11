#include "tools/measure/measure.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <fstream>

namespace tilewright::tools {

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::vector<double> interleaved_medians(const std::vector<std::function<void()>>& actions,
                                        int rounds, double shortest_s) {
  std::vector<int> repeats;
  for (const auto& action : actions) {
    action();  // warm
    double start = now_s();
    action();
    double once = std::max(now_s() - start, 1e-9);
    repeats.push_back(static_cast<int>(std::clamp(shortest_s / once, 1.0, 1e6)));
  }
  std::vector<std::vector<double>> samples(actions.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < actions.size(); ++i) {
      double start = now_s();
      for (int r = 0; r < repeats[i]; ++r) actions[i]();
      samples[i].push_back((now_s() - start) / repeats[i]);
    }
  std::vector<double> medians;
  for (auto& list : samples) {
    std::ranges::sort(list);
    medians.push_back(list[list.size() / 2]);
  }
  return medians;
}

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("model name"))
      if (auto colon = line.find(": "); colon != line.npos) return line.substr(colon + 2);
  return "unknown";
}

std::string date_today() {
  std::time_t now = std::time(nullptr);
  char text[16];
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

std::size_t peak_memory_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::size_t>(usage.ru_maxrss) * 1024;
}

}  // namespace tilewright::tools
