#include "tests/cuda/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <random>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright::cuda::fake {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t arena_bytes = std::size_t{4} << 40;

// Pages of the allocation and one more that is never there.
std::size_t mapped_bytes(std::size_t bytes) { return (bytes + page - 1) / page * page; }

// Addresses, handed out once.
std::byte* reserve(std::size_t bytes) {
  static std::byte* const arena = [] {
    void* begin =
        ::mmap(nullptr, arena_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(begin != MAP_FAILED, "[fake driver] the system has no addresses for device memory");
    return static_cast<std::byte*>(begin);
  }();
  static std::atomic<std::size_t> used = page;
  std::size_t at = used.fetch_add(bytes + page);
  return at + bytes + page > arena_bytes ? nullptr : arena + at;
}

void protect(std::byte* begin, std::size_t bytes, int rights) {
  check(::mprotect(begin, mapped_bytes(bytes), rights) == 0, "memory of the fake driver is mapped");
}

void poison(std::byte* begin, std::size_t bytes) {
  static const std::vector<std::uint64_t> noise = [] {
    std::vector<std::uint64_t> words(1 << 13);
    std::mt19937_64 random(20260501);
    std::generate(words.begin(), words.end(), random);
    return words;
  }();
  for (std::size_t at = 0; at < bytes; at += noise.size() * 8)
    std::memcpy(begin + at, noise.data(), std::min(bytes - at, noise.size() * 8));
}

}  // namespace

const std::shared_ptr<dsl::emulator::GlobalRanges>& ranges_of_kernels() {
  static const auto ranges = std::make_shared<dsl::emulator::GlobalRanges>();
  return ranges;
}

DeviceMemory::~DeviceMemory() {
  while (!live_.empty()) free(live_.begin()->first);
}

std::byte* DeviceMemory::allocate(std::size_t bytes, int device) {
  std::byte* begin = reserve(mapped_bytes(bytes));
  if (begin == nullptr) return nullptr;
  protect(begin, bytes, PROT_READ | PROT_WRITE);
  poison(begin, bytes);
  if (windows_ == 0) protect(begin, bytes, PROT_NONE);
  live_[begin] = {bytes, device};
  ranges_of_kernels()->register_range(begin, static_cast<std::int64_t>(bytes));
  return begin;
}

DeviceMemory::Allocation DeviceMemory::free(std::byte* begin) {
  auto found = live_.find(begin);
  if (found == live_.end()) return {};
  Allocation gone = found->second;
  live_.erase(found);
  ranges_of_kernels()->forget_range(begin);
  ::madvise(begin, mapped_bytes(gone.bytes), MADV_DONTNEED);
  protect(begin, gone.bytes, PROT_NONE);
  return gone;
}

bool DeviceMemory::contains(const std::byte* begin, std::size_t bytes) const {
  auto after = live_.upper_bound(const_cast<std::byte*>(begin));
  if (after == live_.begin()) return false;
  const auto& [first, allocation] = *std::prev(after);
  auto offset = static_cast<std::size_t>(begin - first);
  return offset <= allocation.bytes && bytes <= allocation.bytes - offset;
}

void DeviceMemory::open() {
  if (windows_++ > 0) return;
  for (const auto& [begin, allocation] : live_)
    protect(begin, allocation.bytes, PROT_READ | PROT_WRITE);
}

void DeviceMemory::close() {
  if (--windows_ > 0) return;
  for (const auto& [begin, allocation] : live_) protect(begin, allocation.bytes, PROT_NONE);
}

}  // namespace tilewright::cuda::fake
