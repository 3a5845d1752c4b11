#include "dsl/emulator/options.h"

namespace tilewright::dsl::emulator {

void GlobalRanges::register_range(const void* begin, std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  auto address = reinterpret_cast<std::uintptr_t>(begin);
  ends_[address] = address + static_cast<std::uintptr_t>(bytes);
}

void GlobalRanges::forget_range(const void* begin) {
  std::lock_guard lock(mutex_);
  ends_.erase(reinterpret_cast<std::uintptr_t>(begin));
}

bool GlobalRanges::contains(const void* begin, std::int64_t bytes) const {
  std::lock_guard lock(mutex_);
  auto address = reinterpret_cast<std::uintptr_t>(begin);
  auto after = ends_.upper_bound(address);
  return after != ends_.begin() &&
         address + static_cast<std::uintptr_t>(bytes) <= std::prev(after)->second;
}

void AccessReport::add(const AccessCount& count) {
  std::lock_guard lock(mutex_);
  AccessCount& sum = counts_[count.place];
  sum.place = count.place;
  sum.requests += count.requests;
  sum.wavefronts += count.wavefronts;
  sum.ideal_wavefronts += count.ideal_wavefronts;
  sum.sectors += count.sectors;
  sum.ideal_sectors += count.ideal_sectors;
}

std::map<std::string, AccessCount> AccessReport::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace tilewright::dsl::emulator
