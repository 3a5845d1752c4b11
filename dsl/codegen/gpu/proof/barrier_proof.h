// Proves that no barrier, wait or fence is missing in a kernel.
//
// The emitter puts a barrier where it believes that a thread may read what another wrote. The
// emulator finds a missing one in what a run does. Here the LLVM IR of every kernel is looked at
// before device operations are expanded, along all paths at once, knowing nothing of what the
// emitter believed.
//
// Proved: of two accesses that may touch the same byte of shared memory, or the same array of
// global memory, one of which writes, and which different threads may make, on every path from the
// first to the second stands what puts them in order:
//
//   threads of the block     a barrier of all of them (of all consumers, where there are roles),
//                            where all threads come; of a part that a warpgroup keeps to itself,
//                            one of the warpgroup
//   copies by cp.async       commit, a wait for the group by all threads, then a barrier
//   boxes that are stored    what is written: a fence by each writer, then a barrier; what is
//   written
//                            next: commit, a wait by the thread that stores, then a barrier
//   products from a ring     of threads' copies: a fence before that barrier; the stage may be
//   filled
//                            once the product's group is awaited and a barrier has come
//   rings of the producer    the protocol of warp_roles.h, by the same slot throughout: a wait for
//   the
//                            empty barrier and the bytes expected before copies into the stage; a
//                            wait for the full one before products from it; the products awaited
//                            before it is given back
//   barriers in shared       initialised, fenced, then a barrier before anybody uses them
//   memory
//
// and that nothing is under way when a thread ends.
//
// How: the state at a point is the set of accesses that may have happened and are not in order with
// what comes next (barrier_state.h). Each event (barrier_events.h) is held against the state and
// changes it; where paths meet, states are united; loops are gone round until nothing is new. In a
// turn of a loop, accesses of the turn before are told from this one's: two accesses of one tile
// step are to different bytes in different threads, those of two turns need not be. In a ring that
// all threads fill a stage is said relative to the turn: at the end of one, every access is a stage
// further back. Threads that skip a piece of code because of their number made none of the accesses
// in it: so a wait by the thread which stores is one on all paths that it takes.
//
//   turn:  cp_async_wait_2; barrier        the copies into stage +0 have landed, in order
//          cp.async to stage +3            of 4, the same as -1: its reads came before the barrier
//          ldmatrix from stage +0          may not be in order with what comes after
//   next:  stage +0 of the last turn is -1, and stage +3 is +2
//
// Assumed: the notes of accesses (shared_touch.h), which the emulator holds against addresses;
// that branches without a note are taken by all threads alike, and that threads which wait at
// a barrier wait at the same (the emulator names those that do not); that slots of the producer's
// rings go round with their parities as take_turn does, that as many arrive as a barrier expects
// (else the emulator finds a deadlock or a race); that what the copy engine loads nobody writes and
// what it stores nobody else touches (plan_warp_roles looks at all accesses); that programs of a
// grid meet by atomic operations alone, also those that one block runs one after the other.
#pragma once

#include <llvm/IR/Function.h>

#include <optional>

#include "dsl/codegen/gpu/plan/warp_roles.h"

namespace tilewright::dsl::gpu {

// Raises `InternalError`, with the lines and the places of both accesses, if it does not hold.
void prove_barriers(const llvm::Function& kernel, const std::optional<WarpRoles>& roles);

}  // namespace tilewright::dsl::gpu
