#include "runtime/cpu/system_memory.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max();

// The number behind `name` in a file of the system; nothing where there is none.
std::optional<std::int64_t> number_after(const char* path, std::string_view name) {
  std::ifstream file(path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  std::size_t at = text.find(name);
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_of("0123456789", at + name.size());
  std::int64_t number = 0;
  if (at == std::string::npos) return std::nullopt;
  std::from_chars(text.data() + at, text.data() + text.size(), number);
  return number;
}

// The unused part of a limit on the addresses of the process.
std::int64_t free_addresses() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return unlimited;
  std::int64_t used = number_after("/proc/self/statm", "").value_or(0) * sysconf(_SC_PAGESIZE);
  return std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
}

}  // namespace

std::int64_t available_bytes() {
  std::optional<std::int64_t> kibibytes = number_after("/proc/meminfo", "MemAvailable:");
  return std::min(kibibytes ? *kibibytes * 1024 : unlimited, free_addresses());
}

// The peak of getrusage is also that of the program that this process was before exec.
std::int64_t peak_memory_bytes() {
  if (auto kibibytes = number_after("/proc/self/status", "VmHWM:")) return *kibibytes * 1024;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

std::int64_t block_size_for(std::int64_t size_bytes) {
  check(size_bytes >= 0, "a size is negative");
  if (size_bytes > std::numeric_limits<std::int64_t>::max() / 4) return 0;
  std::uint64_t size = std::max<std::uint64_t>(static_cast<std::uint64_t>(size_bytes), 64);
  std::uint64_t step = std::max<std::uint64_t>(std::bit_floor(size) / 4, 64);
  if (size > static_cast<std::uint64_t>(huge_page_bytes))
    step = std::max<std::uint64_t>(step, static_cast<std::uint64_t>(huge_page_bytes));
  return static_cast<std::int64_t>((size + step - 1) / step * step);
}

void* allocate_block(std::int64_t size_bytes) {
  auto size = static_cast<std::size_t>(size_bytes);
  if (size_bytes < huge_page_bytes) return std::aligned_alloc(block_alignment, size);
  // One huge page more than asked for, so that an aligned block lies inside; the rest goes back.
  auto huge = static_cast<std::size_t>(huge_page_bytes);
  void* mapped =
      mmap(nullptr, size + huge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  std::size_t before = (huge - begin % huge) % huge;
  if (before > 0) munmap(mapped, before);
  if (before < huge) munmap(reinterpret_cast<void*>(begin + before + size), huge - before);
  void* block = reinterpret_cast<void*>(begin + before);
  madvise(block, size, MADV_HUGEPAGE);  // advice: where it fails small pages do
  return block;
}

void free_block(void* block, std::int64_t size_bytes) {
  if (size_bytes < huge_page_bytes)
    std::free(block);
  else
    munmap(block, static_cast<std::size_t>(size_bytes));
}

}  // namespace tilewright
