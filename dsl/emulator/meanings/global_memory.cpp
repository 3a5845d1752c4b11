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

// Blocks run side by side on the threads of the host: what they add to must be added to atomically
// there too.
template <typename T>
void atomic_add(const Call& call) {
  call.results[0].u32 = 0;
  if (!call.operands[2].flag) return;
  std::byte* address = call.operands[0].pointer;
  call.block.check_global(call, address, 4, 4);
  T addend = std::bit_cast<T>(call.operands[1].u32);
  auto* word = reinterpret_cast<std::uint32_t*>(address);
  std::uint32_t before = __atomic_load_n(word, __ATOMIC_RELAXED), after = 0;
  do {
    after = std::bit_cast<std::uint32_t>(static_cast<T>(std::bit_cast<T>(before) + addend));
  } while (
      !__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  call.results[0].u32 = before;
}
template void atomic_add<float>(const Call&);
template void atomic_add<std::uint32_t>(const Call&);

}  // namespace tilewright::dsl::emulator
