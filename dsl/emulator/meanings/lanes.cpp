// Barriers, and the exchange of registers between the lanes of a warp.
#include <algorithm>

#include "dsl/emulator/cluster.h"
#include "dsl/emulator/meanings.h"

namespace tilewright::dsl::emulator {
namespace {

using Lanes = std::span<const Call* const>;

void give_all(Lanes lanes, std::int32_t value) {
  for (const Call* lane : lanes) lane->results[0].i32 = value;
}

// Folds the lanes' first operands.
template <typename Fold>
std::int32_t folded(Lanes lanes, Fold fold) {
  std::int32_t value = lanes[0]->operands[0].i32;
  for (const Call* lane : lanes.subspan(1)) value = fold(value, lane->operands[0].i32);
  return value;
}

std::uint32_t ballot(Lanes lanes) {
  std::uint32_t votes = 0;
  for (std::size_t l = 0; l < lanes.size(); ++l)
    votes |= static_cast<std::uint32_t>(lanes[l]->operands[0].flag & 1) << l;
  return votes;
}

}  // namespace

void barrier(const Call& call) { call.block.barrier(call, 0, call.block.kernel().threads, true); }

void warp_barrier(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock& block, Lanes lanes) {
    Clocks::Knowledge knowledge;
    for (const Call* lane : lanes) block.clocks().release(lane->thread.number, knowledge);
    for (const Call* lane : lanes) block.clocks().acquire(lane->thread.number, knowledge);
  });
}

void named_barrier_sync(const Call& call) {
  call.block.barrier(call, call.operands[0].i32, call.operands[1].i32, true);
}

void named_barrier_arrive(const Call& call) {
  call.block.barrier(call, call.operands[0].i32, call.operands[1].i32, false);
}

void shuffle_xor(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      // A source outside the warp leaves the lane its own value.
      std::size_t source = l ^ (lanes[l]->operands[1].u32 & 31);
      lanes[l]->results[0].u32 = lanes[source]->operands[0].u32;
    }
  });
}

void shuffle_idx(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    for (const Call* lane : lanes)
      lane->results[0].u32 = lanes[lane->operands[1].u32 & 31]->operands[0].u32;
  });
}

void vote_any(const Call& call) {
  call.block.gather(call, warp_lanes,
                    [](ThreadBlock&, Lanes lanes) { give_all(lanes, ballot(lanes) != 0); });
}

void vote_all(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    give_all(lanes, ballot(lanes) == 0xFFFFFFFFU);
  });
}

void vote_ballot(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    give_all(lanes, static_cast<std::int32_t>(ballot(lanes)));
  });
}

void redux_add(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    std::uint32_t sum = 0;
    for (const Call* lane : lanes) sum += lane->operands[0].u32;
    give_all(lanes, static_cast<std::int32_t>(sum));
  });
}

void redux_min(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    give_all(lanes, folded(lanes, [](auto a, auto b) { return std::min(a, b); }));
  });
}

void redux_max(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    give_all(lanes, folded(lanes, [](auto a, auto b) { return std::max(a, b); }));
  });
}

void elect(const Call& call) {
  call.block.gather(call, warp_lanes, [](ThreadBlock&, Lanes lanes) {
    for (const Call* lane : lanes) {
      lane->results[0].i32 = 0;
      lane->results[1].flag = lane == lanes[0];
    }
  });
}

}  // namespace tilewright::dsl::emulator
