// Proofs about kernels before they run, on kernels that no emitter writes: each is a text in which
// one thing is out of order.
#include <gmock/gmock.h>

#include "dsl/codegen/gpu/emit/grid_wait.h"
#include "dsl/codegen/gpu/proof/barrier_proof.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::kernel_proofs_test {
namespace {

using testing::HasSubstr;

template <typename F>
std::string problem_of(F&& check) {
  try {
    check();
  } catch (const InternalError& error) {
    return error.what();
  }
  return "none";
}

std::string grid_wait_problem(const std::string& body) {
  ParsedModule parsed = parse_kernel(kernel_text(body));
  return problem_of([&] { gpu::check_grid_wait(*parsed.module->getFunction("k")); });
}

// The note of 16 bytes of shared memory, as shared_access.h writes it.
std::string note(int number, int group, int begin) {
  return concat("!", number, " = !{i32 ", group, ", i32 ", begin, ", i32 ", begin + 16,
                ", i32 -1, i32 1, i32 0, i32 0, i32 0, i32 0}\n");
}

std::string barrier_problem(const std::string& body, const std::string& notes,
                            const std::optional<gpu::WarpSpecialisation>& roles = {}) {
  ParsedModule parsed = parse_kernel(kernel_text(body) + notes);
  return problem_of([&] { gpu::prove_barriers(*parsed.module->getFunction("k"), roles); });
}

// The analysis may come to the path that waits before the one that does not, or after it.
TEST(KernelProofs, OneOfTwoPathsThatDoesNotWaitIsEnough) {
  const std::string paths = R"(
waits:
  call void @td.griddepcontrol_wait()
  br label %join
skips:
  br label %join
join:
  store i32 1, ptr addrspace(1) %a
  ret void
)";
  for (const char* successors : {"label %waits, label %skips", "label %skips, label %waits"})
    EXPECT_THAT(
        grid_wait_problem(concat("%go = icmp eq i32 %n, 0\nbr i1 %go, ", successors, paths)),
        HasSubstr("store of line 0 touches global memory before griddepcontrol_wait"))
        << successors;
}

TEST(KernelProofs, BothOfTwoPathsMayWait) {
  EXPECT_EQ(grid_wait_problem(R"(
  %go = icmp eq i32 %n, 0
  br i1 %go, label %left, label %right
left:
  call void @td.griddepcontrol_wait()
  br label %join
right:
  call void @td.griddepcontrol_wait()
  br label %join
join:
  store i32 1, ptr addrspace(1) %a
  ret void
)"),
            "none");
}

// A thread waits for its own copies only; those of the others may still be on their way.
TEST(KernelProofs, AWaitOfOneThreadIsForItsOwnCopies) {
  auto problem = [](const std::string& before, const std::string& inside) {
    return barrier_problem(R"(
  call void @td.cp_async_16(ptr addrspace(3) %shared, ptr addrspace(1) %a, i32 16), !tw.touch !0
  call void @td.cp_async_commit()
)" + before + R"(
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %one, label %all, !tw.divergent !2
one:
)" + inside + R"(
  %v = load i32, ptr addrspace(3) %shared, !tw.touch !1
  br label %all
all:
  call void @td.cp_async_wait_0()
  ret void
)",
                           note(0, 1, 0) + note(1, 2, 0) + "!2 = !{}\n");
  };
  const std::string wait = "  call void @td.cp_async_wait_0()\n";
  EXPECT_THAT(problem("", wait), HasSubstr("is not awaited since"));
  EXPECT_THAT(problem(wait, ""), HasSubstr("has no barrier since"));
  EXPECT_EQ(problem(wait + "  call void @td.barrier()\n", ""), "none");
}

// Two rings whose stages are of 1 KB and 2 KB: a product from the first of them, whose address
// counts stages of so many bytes.
TEST(KernelProofs, AProductTakesWholeStagesOfItsRing) {
  auto problem = [](int stage_bytes) {
    gpu::WarpSpecialisation roles;
    roles.rings = {{1024, 2, 0, 8192}, {2048, 2, 2048, 8224}};
    return barrier_problem(concat(R"(
  %slot_of = alloca i32
  %slot = load i32, ptr %slot_of
  %stage = mul i32 %slot, )",
                                  stage_bytes, R"(
  %wide = zext i32 %stage to i64
  %left = add i64 %wide, 0
  %sums = call {float, float, float, float} @td.wgmma_m64n8k16_bf16_ss(float 0.0, float 0.0,
      float 0.0, float 0.0, i64 %left, i64 %left, i32 1)
  ret void
)"),
                           "", roles);
  };
  EXPECT_THAT(problem(1024), HasSubstr("nobody waits for the barrier of this ring's stage"));
  EXPECT_THAT(problem(2048), HasSubstr("a stage outside every ring"));
}

}  // namespace
}  // namespace tilewright::dsl::kernel_proofs_test
