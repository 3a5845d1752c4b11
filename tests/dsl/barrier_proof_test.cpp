// The proof that kernels have all their barriers: it holds for kernels as they are, and for none of
// them with a barrier, a wait, a fence or a hand-over less.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <utility>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/ir/rewrite.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "tests/errors.h"

namespace tilewright::dsl::barrier_proof_test {
namespace {

using testing::HasSubstr;
using testing::IsSupersetOf;

gpu::BarrierAudit audit_of(ir::Function function, const char* target) {
  run_passes(function, {.target = target_named("sm_90a")});
  return gpu::audit_barriers(function, target_named(target));
}

// The operations that a kernel's order hangs on; each of them is needed.
std::set<std::string> needed(const ir::Function& function, const char* target) {
  gpu::BarrierAudit audit = audit_of(function, target);
  EXPECT_EQ(audit.problem, "");
  std::set<std::string> operations;
  for (const auto& order : audit.orders) {
    EXPECT_NE(order.problem, "") << target << ": nothing needs " << order.operation << " of line "
                                 << order.line;
    operations.insert(
        order.operation.substr(0, order.operation.find_last_not_of("0123456789") + 1));
  }
  return operations;
}

// c = a b^T in steps along k, stored as `stored`.
ir::Function product(DType dtype, std::int64_t block, DType stored, bool is_shifted = false) {
  Tracer tracer("product");
  Tile a = tracer.pointer_param("a", dtype), b = tracer.pointer_param("b", dtype),
       c = tracer.pointer_param("c", stored);
  if (is_shifted) a = a + tracer.scalar_param("shift", i64) * 64;
  Desc da = make_desc(a, {512, 512}, {512, 1}), db = make_desc(b, {512, 512}, {512, 1});
  Tile row = program_id(0) * block, column = program_id(1) * block;
  Var sums = full({block, block}, 0, f32);
  for (Tile i : range(0, 512, 64))
    sums = dot(load(da, {row, i}, {block, 64}), trans(load(db, {column, i}, {block, 64})), sums);
  store(make_desc(c, {512, 512}, {512, 1}), {row, column}, cast(sums, stored));
  return tracer.finish();
}

// Two products a turn of one loop, of a block that stays.
ir::Function chained() {
  Tracer tracer("chained");
  Tile q = tracer.pointer_param("q", bf16), k = tracer.pointer_param("k", bf16),
       v = tracer.pointer_param("v", bf16), out = tracer.pointer_param("out", bf16);
  Desc dq = make_desc(q, {512, 64}, {64, 1}), dk = make_desc(k, {512, 64}, {64, 1}),
       dv = make_desc(v, {512, 64}, {64, 1});
  Tile row = program_id(0) * 128, rows = load(dq, {row, 0}, {128, 64});
  Var sums = full({128, 64}, 0, f32), most = full({128, 1}, -1e30, f32);
  for (Tile i : range(0, 512, 128)) {
    Tile scores = dot(rows, trans(load(dk, {i, 0}, {128, 64})), full({128, 128}, 0, f32));
    most = maximum(most, max(scores, 1, true));
    sums = dot(cast(exp(scores - most), bf16), load(dv, {i, 0}, {128, 64}), sums);
  }
  store(make_desc(out, {512, 64}, {64, 1}), {row, 0}, cast(sums, bf16));
  return tracer.finish();
}

// Sums between warps, a tile turned over through shared memory, and an array that is read again.
ir::Function exchanged() {
  Tracer tracer("exchanged");
  Tile x = tracer.pointer_param("x", f32);
  Desc d = make_desc(x, {64, 64}, {64, 1});
  Tile block = load(d, {0, 0}, {64, 64});
  store(d, {0, 0}, permute(block, {1, 0}));
  Tile again = load(d, {0, 0}, {64, 64});
  store(d, {0, 0}, again + sum(again, 1, true) + sum(again, 0, true));
  return tracer.finish();
}

TEST(BarrierProof, NoBarrierBetweenThreadsCanBeLeftOut) {
  for (const char* target : {"sm_80", "sm_90a"})
    EXPECT_THAT(needed(exchanged(), target), IsSupersetOf({"barrier"}));
}

// As if the pass had left it out, and the rules of its stage had not seen it.
TEST(BarrierProof, FindsEveryMarkThatIsMissing) {
  for (const char* name : {"sm_80", "sm_90a"}) {
    const Target target = target_named(name);
    ir::Function function = exchanged();
    run_passes(function, {.target = target});
    function = gpu::scheduled(function, target);
    EXPECT_NO_THROW(gpu::generate_ptx(function, target));
    int marks = 0;
    ir::for_each_inst(function.body, [&](ir::Inst& inst) {
      if (inst.schedule.barrier == ir::Barrier::none) return;
      const ir::Barrier mark = std::exchange(inst.schedule.barrier, ir::Barrier::none);
      EXPECT_THAT([&] { gpu::generate_ptx(function, target); },
                  testing::ThrowsMessage<InternalError>(
                      AllOf(HasSubstr("[barrier_proof]"), HasSubstr("has no barrier since"))))
          << ir::print(function);
      inst.schedule.barrier = mark;
      ++marks;
    });
    EXPECT_GT(marks, 0);
  }
}

TEST(BarrierProof, NoWaitForCopiesAheadCanBeLeftOut) {
  EXPECT_THAT(needed(product(bf16, 128, f32), "sm_80"),
              IsSupersetOf({"barrier", "cp_async_commit", "cp_async_wait_"}));
  EXPECT_THAT(needed(chained(), "sm_80"), IsSupersetOf({"cp_async_commit", "cp_async_wait_"}));
  EXPECT_THAT(needed(product(f32, 32, f32), "sm_80"), IsSupersetOf({"barrier"}));
}

TEST(BarrierProof, NoFenceBeforeProductsFromCopiesCanBeLeftOut) {
  auto operations = needed(product(bf16, 128, f32, true), "sm_90a");
  EXPECT_THAT(operations, IsSupersetOf({"barrier", "cp_async_wait_", "fence_proxy_async"}));
  EXPECT_TRUE(operations.contains("wgmma_commit"));
}

TEST(BarrierProof, NoHandOverBetweenRolesCanBeLeftOut) {
  for (const ir::Function& function :
       {product(bf16, 128, bf16), product(f16, 128, f32), product(bf16, 64, bf16), chained()})
    EXPECT_THAT(needed(function, "sm_90a"),
                IsSupersetOf({"barrier", "fence_mbarrier_init", "mbarrier_try_wait_parity",
                              "mbarrier_arrive_expect_tx", "wgmma_commit"}));
  EXPECT_THAT(
      needed(product(bf16, 128, bf16), "sm_90a"),
      IsSupersetOf({"named_barrier_sync", "fence_proxy_async", "bulk_commit", "bulk_wait_read_"}));
}

// Two products a program, stored in two boxes and in one: the next program's first waits for it.
TEST(BarrierProof, StoresOfAnOddNumberOfBoxesAreAwaitedByOthers) {
  Tracer tracer("two");
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16);
  Desc da = make_desc(a, {512, 512}, {512, 1}), db = make_desc(b, {64, 512}, {512, 1});
  Tile row = program_id(0) * 64;
  for (std::int64_t width : {64, 32}) {
    Tile c = tracer.pointer_param("c", f32);
    Var sums = full({64, width}, 0, f32);
    for (Tile i : range(0, 512, 64))
      sums = dot(load(da, {row, i}, {64, 64}), trans(load(db, {0, i}, {width, 64})), sums);
    store(make_desc(c, {512, width}, {width, 1}), {row, 0}, sums);
  }
  gpu::BarrierAudit audit = audit_of(tracer.finish(), "sm_90a");
  EXPECT_EQ(audit.problem, "");
  EXPECT_TRUE(std::ranges::any_of(audit.orders, [](const auto& order) {
    return order.operation == "bulk_wait_read_0" && !order.problem.empty();
  }));
}

// Every role waits for the kernel before, and a loop or an if that is not taken leaves none out.
TEST(BarrierProof, NoWaitForTheKernelBeforeCanBeLeftOut) {
  for (const ir::Function& function :
       {exchanged(), product(bf16, 128, bf16), product(f32, 32, f32), chained()})
    EXPECT_THAT(needed(function, "sm_90a"), testing::Contains("griddepcontrol_wait"));
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32), n = tracer.scalar_param("n", i64);
  if_(n > 3, [&] { store(x + arange(0, 64), full({64}, 1, f32)); });
  gpu::BarrierAudit audit = audit_of(tracer.finish(), "sm_90a");
  EXPECT_EQ(audit.problem, "");
  ASSERT_EQ(audit.orders.size(), 1U);
  EXPECT_THAT(audit.orders[0].problem,
              HasSubstr("touches global memory before griddepcontrol_wait"));
}

TEST(BarrierProof, NamesBothLinesAndTheirBytes) {
  int line = 0;
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  Tile block = load(make_desc(x, {64, 64}, {64, 1}), {0, 0}, {64, 64});
  line = __LINE__ + 1;
  store(make_desc(y, {64, 64}, {64, 1}), {0, 0}, permute(block, {1, 0}));
  gpu::BarrierAudit audit = audit_of(tracer.finish(), "sm_80");
  ASSERT_EQ(audit.orders.size(), 1U);
  EXPECT_EQ(audit.orders[0].line, line);
  std::string place = concat("barrier_proof_test.cpp:", line, " of shared bytes [0, 16384)");
  EXPECT_THAT(
      audit.orders[0].problem,
      testing::MatchesRegex("\\[barrier_proof\\] tw_f_[0-9a-f]*: read at .* is out of order: "
                            "write at .* has no barrier since"));
  EXPECT_THAT(audit.orders[0].problem, HasSubstr("read at " + place));
  EXPECT_THAT(audit.orders[0].problem, HasSubstr("write at " + place));
}

// In a ring that all threads fill, bytes are those of a stage so many turns ahead.
TEST(BarrierProof, NamesTheStageOfARing) {
  gpu::BarrierAudit audit = audit_of(product(bf16, 128, f32), "sm_80");
  auto barrier = std::ranges::find(audit.orders, "barrier", &gpu::BarrierAudit::Order::operation);
  ASSERT_NE(barrier, audit.orders.end());
  EXPECT_THAT(barrier->problem,
              testing::MatchesRegex(".*read at .* of shared bytes \\[16384, 32768\\) of the stage "
                                    "0 turns ahead .*write at .* of the stage 0 turns ahead has "
                                    "no barrier since"));
}

// The other operands of a load may pass a barrier; the load itself comes after that.
TEST(BarrierProof, ALoadBehindABarrierIsStillBeforeALaterStore) {
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  Tile across = arange(0, 64), places = reshape(across, {64, 1}) * 64 + across;
  Tile other = permute(load(make_desc(y, {64, 64}, {64, 1}), {0, 0}, {64, 64}), {1, 0});
  Tile block = load(x + places, places < 4000, other);
  store(x + permute(places, {1, 0}), block);
  needed(tracer.finish(), "sm_80");
}

TEST(BarrierProof, WhatIsExchangedAfterALoopAroundARingWaitsForIt) {
  Tracer tracer("f");
  Tile a = tracer.pointer_param("a", f16), b = tracer.pointer_param("b", f16),
       c = tracer.pointer_param("c", f32);
  Desc da = make_desc(a, {64, 256}, {256, 1}), db = make_desc(b, {256, 64}, {64, 1});
  Var sums = full({64, 64}, 0, f32);
  for ([[maybe_unused]] Tile turn : range(0, 3))
    for (Tile i : range(0, 256, 32))
      sums = dot(load(da, {0, i}, {64, 32}), load(db, {i, 0}, {32, 64}), sums);
  store(make_desc(c, {64, 64}, {64, 1}), {0, 0}, trans(sums));
  EXPECT_THAT(needed(tracer.finish(), "sm_80"), IsSupersetOf({"barrier", "cp_async_wait_"}));
}

TEST(BarrierProof, ALoopThatSharesNothingLeavesNothingToWaitFor) {
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  Desc d = make_desc(x, {1024, 32}, {32, 1});
  Var most = full({256, 32}, -1e30, f32);
  for (Tile i : range(0, 1024, 256)) most = maximum(most, load(d, {i, 0}, {256, 32}));
  store(make_desc(y, {32}, {1}), {0}, max(most, 0));
  needed(tracer.finish(), "sm_80");
}

}  // namespace
}  // namespace tilewright::dsl::barrier_proof_test
