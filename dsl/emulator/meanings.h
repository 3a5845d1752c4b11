// Implements each device operation in C++: the column `meaning` of its row in the table
// codegen/gpu/device/device_ops.def. A meaning is the definition that the expansion for a GPU is
// held against, so each is written the plain way, from the description of the instruction:
// registers are gathered into a matrix, the matrices multiplied, the result dealt out again.
#pragma once

#include <string_view>

#include "dsl/emulator/call_site.h"
#include "dsl/target/number_formats.h"

namespace tilewright::dsl::emulator {

// The meaning of an operation by its row's name (a family without its number: "cp_async_wait_N"),
// or null.
Meaning meaning_named(std::string_view row);

// Checked plain accesses; the first operand is the address.
void check_load(const Call& call);
void check_store(const Call& call);
void check_atomic(const Call& call);
void check_cluster_load(const Call& call);  // of the shared memory of any block of the cluster
void check_cluster_store(const Call& call);
void check_global_access(const Call& call);

// meanings/places.cpp
void thread_id(const Call& call);
template <int axis>
void block_id(const Call& call);
template <int axis>
void grid_size(const Call& call);
void shared_base(const Call& call);
void exp2_approx(const Call& call);
void rsqrt_approx(const Call& call);
template <Format format>
void to_half(const Call& call);
template <Format format>
void to_halves(const Call& call);
void to_tf32(const Call& call);
void byte_perm(const Call& call);
void no_operation(const Call& call);

// meanings/float8.cpp
void to_e4m3x2(const Call& call);
void to_e5m2x2(const Call& call);
void from_e4m3x2(const Call& call);
void from_e5m2x2(const Call& call);

// meanings/clusters.cpp
void cluster_rank(const Call& call);
void mapa(const Call& call);
void cluster_barrier_arrive(const Call& call);
void cluster_barrier_wait(const Call& call);

// meanings/lanes.cpp
void barrier(const Call& call);
void warp_barrier(const Call& call);
void named_barrier_sync(const Call& call);
void named_barrier_arrive(const Call& call);
void shuffle_xor(const Call& call);
void shuffle_idx(const Call& call);
void vote_any(const Call& call);
void vote_all(const Call& call);
void vote_ballot(const Call& call);
void redux_add(const Call& call);
void redux_min(const Call& call);
void redux_max(const Call& call);
void elect(const Call& call);

// meanings/global_memory.cpp
template <int words>
void load_global(const Call& call);
template <int words>
void store_global(const Call& call);
void fence(const Call& call);
template <typename T>
void atomic_add(const Call& call);
template <Format format>
void atomic_add_half(const Call& call);
template <int count>
void reduce_add_singles(const Call& call);
template <int words, Format format>
void reduce_add_pairs(const Call& call);

// meanings/matrices.cpp
template <int matrices, bool transposed>
void ldmatrix(const Call& call);
template <Format format>
void mma(const Call& call);
template <bool transposed>
void stmatrix(const Call& call);

// meanings/copies.cpp
template <int bytes>
void cp_async(const Call& call);
void cp_async_commit(const Call& call);
void cp_async_wait(const Call& call);

// meanings/memory_barriers.cpp
void mbarrier_init(const Call& call);
void mbarrier_inval(const Call& call);
void mbarrier_arrive(const Call& call);
void mbarrier_arrive_cluster(const Call& call);
void mbarrier_arrive_expect_tx(const Call& call);
void mbarrier_expect_tx(const Call& call);
void mbarrier_try_wait_parity(const Call& call);
void fence_async(const Call& call);

// meanings/tensor_copies.cpp
template <int rank, bool multicast>
void tma_load(const Call& call);
template <int rank>
void tma_store(const Call& call);
void bulk_commit(const Call& call);
void bulk_wait(const Call& call);
void prefetch_tensormap(const Call& call);

// meanings/products.cpp
void wgmma_fence(const Call& call);
void wgmma_commit(const Call& call);
void wgmma(const Call& call);
void wgmma_wait(const Call& call);

// meanings/messages.cpp
void print(const Call& call);

}  // namespace tilewright::dsl::emulator
