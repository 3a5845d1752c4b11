// Loads, stores and atomics of global memory under a predicate.
#include <cstring>

#include "dsl/emulator/meanings.h"
#include "dsl/emulator/thread_block.h"

namespace tilewright::dsl::emulator {

template <int words>
void load_global(const Call& call) {
  for (int i = 0; i < words; ++i) call.results[i].u32 = 0;
  const std::byte* address = call.operands[1].flag ? call.operands[0].pointer : nullptr;
  call.block.count(call, AccessCounter::Memory::global, address, 4 * words);
  if (!address) return;
  call.block.check_global(call, address, 4 * words, 4 * words);
  for (int i = 0; i < words; ++i) std::memcpy(&call.results[i].u32, address + 4 * i, 4);
}
template void load_global<1>(const Call&);
template void load_global<2>(const Call&);
template void load_global<4>(const Call&);

template <int words>
void store_global(const Call& call) {
  std::byte* address = call.operands[words + 1].flag ? call.operands[0].pointer : nullptr;
  call.block.count(call, AccessCounter::Memory::global, address, 4 * words);
  if (!address) return;
  call.block.check_global(call, address, 4 * words, 4 * words);
  for (int i = 0; i < words; ++i) std::memcpy(address + 4 * i, &call.operands[i + 1].u32, 4);
}
template void store_global<1>(const Call&);
template void store_global<2>(const Call&);
template void store_global<4>(const Call&);

// Blocks run side by side on the threads of the host: additions to shared locations must be atomic
// there too.
template <typename Word, typename Change>
Word change_atomically(std::byte* address, Change change) {
  auto* word = reinterpret_cast<Word*>(address);
  Word before = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &before, change(before), true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED)) {
  }
  return before;
}

void fence(const Call&) { __atomic_thread_fence(__ATOMIC_ACQ_REL); }

template <typename T>
void atomic_add(const Call& call) {
  call.results[0].u32 = 0;
  if (!call.operands[2].flag) return;
  std::byte* address = call.operands[0].pointer;
  call.block.check_global(call, address, 4, 4);
  T addend = std::bit_cast<T>(call.operands[1].u32);
  call.results[0].u32 = change_atomically<std::uint32_t>(address, [&](std::uint32_t before) {
    return std::bit_cast<std::uint32_t>(static_cast<T>(std::bit_cast<T>(before) + addend));
  });
}
template void atomic_add<float>(const Call&);
template void atomic_add<std::uint32_t>(const Call&);

template <Format format>
std::uint16_t add_to_half(std::byte* address, std::uint32_t addend) {
  return change_atomically<std::uint16_t>(address, [&](std::uint16_t before) {
    return half_of(format, element_value(format, before) + element_value(format, addend));
  });
}

template <Format format>
void atomic_add_half(const Call& call) {
  std::byte* address = call.operands[0].pointer;
  call.block.check_global(call, address, 2, 2);
  call.results[0].u16 = add_to_half<format>(address, call.operands[1].u16);
}

template <int count>
void reduce_add_singles(const Call& call) {
  std::byte* address = call.operands[0].pointer;
  call.block.check_global(call, address, 4 * count, 4 * count);
  for (int i = 0; i < count; ++i)
    change_atomically<std::uint32_t>(address + 4 * i, [&](std::uint32_t before) {
      return std::bit_cast<std::uint32_t>(std::bit_cast<float>(before) + call.operands[i + 1].f32);
    });
}
template void reduce_add_singles<2>(const Call&);
template void reduce_add_singles<4>(const Call&);

template <int words, Format format>
void reduce_add_pairs(const Call& call) {
  std::byte* address = call.operands[0].pointer;
  call.block.check_global(call, address, 4 * words, 4 * words);
  for (int i = 0; i < words; ++i)
    for (int half = 0; half < 2; ++half)
      add_to_half<format>(address + 4 * i + 2 * half, call.operands[i + 1].u32 >> (16 * half));
}

#define TILEWRIGHT_NUMBER_FORMAT(...)
#define TILEWRIGHT_HALF_FORMAT(name, ...)                       \
  template void atomic_add_half<Format::name>(const Call&);     \
  template void reduce_add_pairs<1, Format::name>(const Call&); \
  template void reduce_add_pairs<2, Format::name>(const Call&); \
  template void reduce_add_pairs<4, Format::name>(const Call&);
#include "dsl/target/number_formats.def"

}  // namespace tilewright::dsl::emulator
