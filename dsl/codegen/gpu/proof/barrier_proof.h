// Proves that no barrier, wait or fence is missing in a kernel.
//
// A pass marks where all threads meet because one may touch what another one has (insert_barriers),
// and the emitter knows what exchanges, rings and roles wait for. The emulator finds a missing wait
// by running the code. Here the LLVM IR of every kernel is analysed before device operations are
// expanded, along all paths at once, without knowing what pass and emitter believed.
//
// Proved: take two accesses by different threads that may touch the same byte of shared memory, or
// the same array of global memory, and one of which writes. On every path from the first to the
// second stands what orders them:
//
//   threads of the block    a barrier of all of them (of all consumers, where warps are
//                           specialised), which all threads reach; for a part that a warpgroup
//                           keeps to itself, a barrier of that warpgroup
//   copies by cp.async      commit, a wait for the group by all threads, then a barrier
//   boxes stored by TMA     before the store: a fence by each writer, then a barrier; before the
//                           box is written again: commit, a wait by the thread that stores, then
//                           a barrier
//   products from a ring    filled by threads' copies: a fence before that barrier; the stage may
//                           be filled again once the product's group is awaited and a barrier has
//                           come
//   rings of the producer   the protocol of warp_specialisation.h, with the same slot throughout:
//                           a wait for the empty barrier and the bytes expected before copies
//                           into the stage; a wait for the full barrier before products from it;
//                           the products awaited before the stage is released
//   barriers in shared      initialised, fenced, then a barrier before anybody uses them
//   memory
//
// and that no asynchronous work is left when a thread ends.
//
// How: a dataflow analysis. The state at a point is the set of accesses that may have happened and
// are not ordered before later ones (barrier_state.h). Each event (barrier_events.h) is checked
// against the state and changes it; where paths meet, states are united; loops are iterated to a
// fixed point. Accesses of the previous iteration of a loop are kept apart from those of the
// current one: two accesses of one tile step are to different bytes in different threads, those of
// two iterations need not be. In a ring that all threads fill, a stage is numbered relative to the
// iteration: at the end of one, every access moves a stage back. Threads that skip a piece of code
// because of their number made none of the accesses in it; so a wait by the thread that stores
// counts on all paths that this thread takes.
//
//   iteration:  cp_async_wait_2; barrier   the copies into stage +0 have landed, in order
//               cp.async to stage +3       of 4, the same as -1: its reads came before the barrier
//               ldmatrix from stage +0     may not be in order with what comes after
//   next one:   stage +0 of the last iteration is -1, and stage +3 is +2
//
// Assumed: the notes of accesses (shared_access.h), which the emulator compares with addresses;
// that branches without a note are taken by all threads alike, and that threads which wait at a
// barrier wait at the same (the emulator names those that do not); that slots of the producer's
// rings go round with their parities as take_turn does, that as many arrive as a barrier expects
// (else the emulator finds a deadlock or a race); that no other access touches memory that TMA
// loads from or stores to (plan_warp_specialisation looks at all accesses); that programs of a grid
// meet by atomic operations alone, also those that one block runs one after the other.
#pragma once

#include <llvm/IR/Function.h>

#include <optional>

#include "dsl/codegen/gpu/plan/warp_specialisation.h"

namespace tilewright::dsl::gpu {

// Raises `InternalError`, with the lines and the places of both accesses, if it does not hold.
void prove_barriers(const llvm::Function& kernel, const std::optional<WarpSpecialisation>& roles);

}  // namespace tilewright::dsl::gpu
