// Copies of boxes of tensors between global and shared memory, which the engine makes by itself.
#include <algorithm>
#include <cstring>
#include <utility>

#include "dsl/emulator/cluster.h"
#include "dsl/emulator/known_memory.h"
#include "dsl/emulator/meanings.h"
#include "dsl/emulator/meanings/memory_barriers.h"
#include "runtime/base/tf32.h"

namespace tilewright::dsl::emulator {
namespace {

// Bytes of shared memory that the pattern of a swizzle repeats after.
int pattern_bytes(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 128 : 8 * static_cast<int>(swizzle);
}

TensorMap map_of(const Call& call, const std::byte* address, int rank) {
  TensorMap map;
  std::memcpy(static_cast<void*>(&map), address, sizeof map);
  if (map.mark != TensorMap::valid)
    call.block.fault(call.thread, call.site, "the tensor map is not one of the emulator's");
  if (map.rank != rank)
    call.block.fault(call.thread, call.site,
                     concat("the tensor map has ", int{map.rank}, " dimensions, not ", rank));
  std::int64_t row = std::int64_t{map.box[0]} * map.element_bytes;
  if (row % chunk_bytes != 0 || (map.swizzle != Swizzle::none && row > int(map.swizzle)))
    call.block.fault(call.thread, call.site,
                     concat("rows of the box have ", row,
                            " bytes, which is not a multiple of 16, or exceeds the swizzle's ",
                            int(map.swizzle)));
  return map;
}

// Where the row of a box that begins at `at` lies in global memory; null outside the tensor. The
// innermost coordinate is left out.
std::byte* row_address(const TensorMap& map, const Coordinates& place,
                       const std::array<int, 5>& at) {
  std::byte* row = map.base;
  for (std::size_t d = 1; d < map.rank; ++d) {
    std::int64_t coordinate = std::int64_t{place[d]} + at[d];
    if (coordinate < 0 || coordinate >= map.sizes[d]) return nullptr;
    row += coordinate * map.stride_bytes(static_cast<int>(d));
  }
  return row;
}

// Calls f(shared address, global address or null, bytes) for the parts of each chunk of the box;
// the global address is null outside the tensor.
template <typename F>
void for_each_run(const TensorMap& map, std::uintptr_t box, const Coordinates& place, F f) {
  const int chunk = chunk_bytes / map.element_bytes;
  std::array<int, 5> at{};  // in the box
  for (std::int64_t done = 0; done < map.box_bytes(); done += chunk_bytes) {
    std::uintptr_t shared = swizzled(box + static_cast<std::uintptr_t>(done), map.swizzle);
    std::byte* row = row_address(map, place, at);
    std::int64_t first = std::int64_t{place[0]} + at[0];
    auto low = static_cast<int>(std::clamp<std::int64_t>(-first, 0, chunk));
    auto high = static_cast<int>(std::clamp<std::int64_t>(map.sizes[0] - first, low, chunk));
    if (!row) low = high = chunk;
    auto emit = [&](int from, int to, bool is_inside) {
      if (from < to)
        f(shared + static_cast<std::uintptr_t>(from * map.element_bytes),
          is_inside ? row + (first + from) * map.element_bytes : nullptr,
          (to - from) * map.element_bytes);
    };
    emit(0, low, false);
    emit(low, high, true);
    emit(high, chunk, false);
    at[0] += chunk;
    for (std::size_t d = 0; d + 1 < map.rank && at[d] >= map.box[d]; ++d) {
      at[d] = 0;
      ++at[d + 1];
    }
  }
}

Coordinates coordinates_of(const Slot* operands, int rank) {
  Coordinates place{};
  for (int i = 0; i < rank; ++i) place[static_cast<std::size_t>(i)] = operands[i].i32;
  return place;
}

void check_in_ranges(const Thread& thread, const CallSite& site, const std::byte* address,
                     int bytes) {
  const KnownMemory* known = known_memory();
  if (known != nullptr && !known->contains(address, bytes))
    thread.block->fault(thread, site, known->fault(address));
  const auto& ranges = thread.block->kernel().options.ranges;
  if (ranges && !ranges->contains(address, bytes))
    thread.block->fault(thread, site, "out of bounds: the tensor is in no registered range");
}

void finish(ThreadBlock& block, const Thread& thread, const CallSite& site,
            const TensorStore& store) {
  for_each_run(store.map, reinterpret_cast<std::uintptr_t>(store.source), store.place,
               [&](std::uintptr_t shared, std::byte* global, int bytes) {
                 if (!global) return;
                 check_in_ranges(thread, site, global, bytes);
                 std::memcpy(global, reinterpret_cast<const void*>(shared),
                             static_cast<std::size_t>(bytes));
               });
  block.shared().end_read(store.source, static_cast<int>(store.map.box_bytes()));
}

void check_mask(const Call& call, unsigned mask) {
  int blocks = call.block.cluster().size();
  if (mask == 0 || mask >> blocks != 0)
    call.block.fault(
        call.thread, call.site,
        concat("the mask ", mask, " names no block, or one outside the cluster of ", blocks));
}

// From now on nobody may touch the bytes in the block that the load writes.
void begin(const Call& call, const TensorLoad& load) {
  ThreadBlock& block = *load.block;
  if (&block != &call.block) block.check_present(call);
  auto bytes = static_cast<int>(load.map.box_bytes());
  check_barrier_of_load(call, block, block.shared().base() + load.barrier);
  block.check_shared_place(call, load.target, bytes, pattern_bytes(load.map.swizzle));
  block.raise_if(block.shared().begin_write(load.target, bytes, call.thread.number, call.site.index,
                                            block.clocks()),
                 call, AccessMode::write, load.target);
  block.loads().push_back(load);
}

void round_to_tf32(void* floats, int bytes) {
  auto* begin = static_cast<float*>(floats);
  for (float* at = begin; at < begin + bytes / 4; ++at) *at = round_to_even_tf32(*at);
}

}  // namespace

template <int rank, bool multicast>
void tma_load(const Call& call) {
  TensorLoad load{map_of(call, call.operands[2].pointer, rank),
                  nullptr,
                  nullptr,
                  call.block.shared().offset(call.operands[1].pointer),
                  coordinates_of(call.operands + 3, rank),
                  &call.thread,
                  &call.site};
  std::int64_t target = call.block.shared().offset(call.operands[0].pointer);
  unsigned mask = multicast ? call.operands[3 + rank].u16 : 1U << call.block.rank();
  check_mask(call, mask);
  // Each block gets the bytes and their arrival at the barrier at the same offsets, and at a time
  // of its own.
  for (int rank_of_block = 0; rank_of_block < call.block.cluster().size(); ++rank_of_block) {
    if ((mask >> rank_of_block & 1) == 0) continue;
    load.block = &call.block.cluster().block(rank_of_block);
    load.target = load.block->shared().base() + target;
    begin(call, load);
  }
}
template void tma_load<2, false>(const Call&);
template void tma_load<3, false>(const Call&);
template void tma_load<4, false>(const Call&);
template void tma_load<5, false>(const Call&);
template void tma_load<2, true>(const Call&);
template void tma_load<3, true>(const Call&);
template void tma_load<4, true>(const Call&);
template void tma_load<5, true>(const Call&);

bool finish_a_load(ClusterState& cluster) {
  auto& loads = cluster.loads;
  if (loads.empty()) return false;
  std::swap(loads[cluster.scheduler.random_below(loads.size())], loads.back());
  TensorLoad load = loads.back();
  loads.pop_back();
  ThreadBlock& block = *load.block;
  for_each_run(load.map, reinterpret_cast<std::uintptr_t>(load.target), load.place,
               [&](std::uintptr_t shared, const std::byte* global, int bytes) {
                 auto* to = reinterpret_cast<void*>(shared);
                 if (!global) {
                   std::memset(to, 0, static_cast<std::size_t>(bytes));
                   return;
                 }
                 check_in_ranges(*load.issuer, *load.site, global, bytes);
                 std::memcpy(to, global, static_cast<std::size_t>(bytes));
                 if (load.map.rounds_to_tf32) round_to_tf32(to, bytes);
               });
  auto bytes = static_cast<int>(load.map.box_bytes());
  block.shared().end_write(load.target, bytes, block.clocks().engine(block.rank()),
                           load.site->index, block.clocks());
  bytes_came(block, load.barrier, bytes);
  return true;
}

template <int rank>
void tma_store(const Call& call) {
  TensorStore store{map_of(call, call.operands[1].pointer, rank), call.operands[0].pointer,
                    coordinates_of(call.operands + 2, rank)};
  auto bytes = static_cast<int>(store.map.box_bytes());
  call.block.check_shared_place(call, store.source, bytes, pattern_bytes(store.map.swizzle));
  call.block.raise_if(call.block.shared().begin_read(store.source, bytes, call.thread.number,
                                                     call.site.index, call.block.clocks()),
                      call, AccessMode::read, store.source);
  call.thread.stores.open.push_back(store);
}
template void tma_store<2>(const Call&);
template void tma_store<3>(const Call&);
template void tma_store<4>(const Call&);
template void tma_store<5>(const Call&);

void bulk_commit(const Call& call) {
  auto& stores = call.thread.stores;
  stores.committed.push_back(std::exchange(stores.open, {}));
}

// A store is finished at once when its source has been read: nothing here tells the two apart.
void bulk_wait(const Call& call) {
  auto& groups = call.thread.stores.committed;
  for (auto left = static_cast<std::size_t>(call.site.number); groups.size() > left;) {
    for (const TensorStore& store : groups.front())
      finish(call.block, call.thread, call.site, store);
    groups.pop_front();
  }
}

void prefetch_tensormap(const Call& call) {
  std::uint32_t mark = 0;
  std::memcpy(&mark, call.operands[0].pointer, sizeof mark);
  if (mark != TensorMap::valid)
    call.block.fault(call.thread, call.site, "the tensor map is not one of the emulator's");
}

}  // namespace tilewright::dsl::emulator
