// Blocks of a cluster: which one this is, another one's shared memory, the barrier of all of them.
#include "dsl/emulator/cluster.h"
#include "dsl/emulator/meanings.h"

namespace tilewright::dsl::emulator {

void cluster_rank(const Call& call) { call.results[0].i32 = call.block.rank(); }

void mapa(const Call& call) {
  Cluster& cluster = call.block.cluster();
  int rank = call.operands[1].i32;
  if (rank < 0 || rank >= cluster.size())
    call.block.fault(
        call.thread, call.site,
        concat("there is no block of rank ", rank, " in a cluster of ", cluster.size()));
  call.results[0].pointer =
      cluster.block(rank).shared().base() + call.block.shared().offset(call.operands[0].pointer);
}

void cluster_barrier_arrive(const Call& call) { call.block.cluster().arrive_at_barrier(call); }

void cluster_barrier_wait(const Call& call) { call.block.cluster().await_barrier(call); }

}  // namespace tilewright::dsl::emulator
