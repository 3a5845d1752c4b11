#include "dsl/emulator/access_counter.h"

#include <algorithm>
#include <set>

namespace tilewright::dsl::emulator {
namespace {

constexpr std::size_t lanes = 32, banks = 32;
constexpr std::uintptr_t word_bytes = 4, sector_bytes = 32;
constexpr std::size_t words_at_once = 32;  // shared memory serves 128 bytes at once

// The distinct units of `unit` bytes that lanes [first, last) touch.
std::set<std::uintptr_t> touched(const std::array<std::uintptr_t, lanes>& addresses, int bytes,
                                 std::uintptr_t unit, std::size_t first, std::size_t last) {
  std::set<std::uintptr_t> units;
  for (std::size_t lane = first; lane < last; ++lane) {
    if (addresses[lane] == 0) continue;
    std::uintptr_t end = addresses[lane] + static_cast<std::uintptr_t>(bytes);
    for (std::uintptr_t u = addresses[lane] / unit; u * unit < end; ++u) units.insert(u);
  }
  return units;
}

// How often the fullest bank must be asked.
std::int64_t fullest_bank(const std::set<std::uintptr_t>& words) {
  std::array<std::int64_t, banks> asked{};
  for (std::uintptr_t word : words) ++asked[word % banks];
  return *std::max_element(asked.begin(), asked.end());
}

}  // namespace

void AccessCounter::tally(const Request& request, AccessCount& count) {
  auto words = touched(request.addresses, request.bytes, word_bytes, 0, lanes);
  if (words.empty()) return;
  ++count.requests;
  if (request.memory == Memory::global) {
    count.sectors += static_cast<std::int64_t>(
        touched(request.addresses, request.bytes, sector_bytes, 0, lanes).size());
    count.ideal_sectors +=
        static_cast<std::int64_t>((words.size() * word_bytes + sector_bytes - 1) / sector_bytes);
    return;
  }
  // Wide accesses are served in parts of a warp: 8 lanes at a time where each has 16 bytes.
  std::size_t words_a_lane =
      (static_cast<std::size_t>(request.bytes) + word_bytes - 1) / word_bytes;
  std::size_t part = std::max<std::size_t>(1, lanes / words_a_lane);
  for (std::size_t first = 0; first < lanes; first += part)
    count.wavefronts +=
        fullest_bank(touched(request.addresses, request.bytes, word_bytes, first, first + part));
  count.ideal_wavefronts +=
      static_cast<std::int64_t>((words.size() + words_at_once - 1) / words_at_once);
}

void AccessCounter::note(const CallSite& site, int thread, Memory memory, const void* address,
                         int bytes) {
  auto lane = static_cast<std::size_t>(thread) % lanes;
  Sequence& sequence = sequences_[{&site, thread / static_cast<int>(lanes)}];
  auto index = static_cast<std::size_t>(sequence.next[lane]++ - sequence.closed);
  if (index >= sequence.open.size()) sequence.open.resize(index + 1);
  Request& request = sequence.open[index];
  request.memory = memory;
  request.bytes = bytes;
  request.addresses[lane] = reinterpret_cast<std::uintptr_t>(address);
  ++request.arrived;
  while (!sequence.open.empty() && sequence.open.front().arrived == static_cast<int>(lanes)) {
    tally(sequence.open.front(), counts_[&site]);
    sequence.open.pop_front();
    ++sequence.closed;
  }
}

void AccessCounter::finish(AccessReport& report) {
  for (auto& [place, sequence] : sequences_)
    for (const Request& request : sequence.open) tally(request, counts_[place.first]);
  for (auto& [site, count] : counts_) {
    count.place = site->location.empty() ? site->operation : site->operation + " " + site->location;
    report.add(count);
  }
  sequences_.clear();
  counts_.clear();
}

}  // namespace tilewright::dsl::emulator
