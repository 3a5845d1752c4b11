// Kernels with one mistake each, and what the emulator says of it.
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::faults_test {
namespace {

// %mine and %next: the shared words of this thread and of the one after it.
const std::string words = R"(
  %mine = getelementptr i32, ptr addrspace(3) %shared, i32 %tid
  %after = add i32 %tid, 1
  %around = urem i32 %after, 64
  %next = getelementptr i32, ptr addrspace(3) %shared, i32 %around
)";

TEST(EmulationFaults, NameKernelBlockThreadAndOperation) {
  std::string fault = fault_of("%v = load i32, ptr addrspace(3) %shared\n ret void");
  expect_contains(fault, "[emulator] kernel k, block (0, 0, 0), thread ");
  expect_contains(fault, ", load: ");
}

TEST(EmulationFaults, NameTheLine) {
  std::string text = kernel_text("%v = load i32, ptr addrspace(3) %shared, !dbg !9\n ret void");
  text.replace(text.find(") {"), 3, ") !dbg !5 {");
  text += R"(
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!2 = !DIFile(filename: "folder/kernel.cpp", directory: "/")
!5 = distinct !DISubprogram(name: "k", file: !2, unit: !1, type: !6, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !{null})
!9 = !DILocation(line: 42, scope: !5)
)";
  expect_contains(error_of([&] {
                    run_emulated(text, {32, 64}, {{}, {}, {}, {}});
                  }),
                  "load (kernel.cpp:42): ");
}

TEST(EmulationFaults, SharedMemoryOutOfBounds) {
  expect_contains(fault_of(R"(
  %far = getelementptr i8, ptr addrspace(3) %shared, i32 4094
  store i32 1, ptr addrspace(3) %far, align 2
  ret void)"),
                  "store: out of bounds: bytes 4094 to 4098 of a shared memory of 4096 bytes");
}

TEST(EmulationFaults, MisalignedSharedAccess) {
  expect_contains(fault_of(R"(
  %odd = getelementptr i8, ptr addrspace(3) %shared, i32 2
  store i32 1, ptr addrspace(3) %odd, align 4
  ret void)"),
                  "misaligned: shared address 2 must be a multiple of 4");
}

TEST(EmulationFaults, UninitialisedSharedMemory) {
  expect_contains(fault_of("%v = load i32, ptr addrspace(3) %shared\n ret void"),
                  "reads shared address 0: it was never written (uninitialised shared memory)");
}

TEST(EmulationFaults, ReadBeforeABarrierRacesWithAWrite) {
  std::string fault = fault_of(words + R"(
  store i32 0, ptr addrspace(3) %mine
  call void @td.barrier()
  store i32 1, ptr addrspace(3) %mine
  %v = load i32, ptr addrspace(3) %next
  ret void)",
                               64);
  expect_contains(fault, "race with a ");
  expect_contains(fault, " by thread ");
}

TEST(EmulationFaults, WriteRacesWithAnEarlierRead) {
  std::string fault = fault_of(words + R"(
  store i32 0, ptr addrspace(3) %mine
  call void @td.barrier()
  %v = load i32, ptr addrspace(3) %next
  store i32 1, ptr addrspace(3) %mine
  ret void)",
                               64);
  expect_contains(fault, "race with a ");
}

TEST(EmulationFaults, TwoWritesRace) {
  expect_contains(fault_of("store i32 1, ptr addrspace(3) %shared\n ret void"),
                  "writes shared address 0: race with a write by thread ");
}

TEST(EmulationFaults, AWarpBarrierOrdersOneWarpAlone) {
  std::string body = R"(
  %mine = getelementptr i32, ptr addrspace(3) %shared, i32 %tid
  %other = xor i32 %tid, MASK
  %theirs = getelementptr i32, ptr addrspace(3) %shared, i32 %other
  store i32 1, ptr addrspace(3) %mine
  call void @td.warp_barrier()
  %v = load i32, ptr addrspace(3) %theirs
  ret void)";
  std::string near = body, far = body;
  near.replace(near.find("MASK"), 4, "1");
  far.replace(far.find("MASK"), 4, "32");
  EXPECT_EQ(fault_of(near, 64), "no fault");
  EXPECT_NE(fault_of(far, 64), "no fault");
}

TEST(EmulationFaults, GlobalMemoryOutsideItsRanges) {
  EmulatorOptions options;
  options.ranges = std::make_shared<GlobalRanges>();
  expect_contains(fault_of("%v = load i32, ptr addrspace(1) %a\n ret void", 32, options),
                  "load: out of bounds: 4 bytes of global memory at ");
  expect_contains(
      fault_of("%v = call i32 @td.load_global_v1(ptr addrspace(1) %a, i1 true)\n ret void", 32,
               options),
      "load_global_v1: out of bounds: 4 bytes of global memory at ");
  EXPECT_EQ(fault_of("%v = load i32, ptr addrspace(1) %a\n ret void"), "no fault");
}

TEST(EmulationFaults, MisalignedGlobalVector) {
  expect_contains(fault_of(R"(
  %odd = getelementptr i8, ptr addrspace(1) %a, i32 8
  %v = call {i32, i32, i32, i32} @td.load_global_v4(ptr addrspace(1) %odd, i1 true)
  ret void)"),
                  "misaligned: global address ");
}

// One thread copies 16 bytes and reads them; WAIT stands for what should be between.
std::string copy_and_read(const std::string& wait) {
  return R"(
  %first = icmp eq i32 %tid, 0
  br i1 %first, label %copy, label %join
copy:
  call void @td.cp_async_16(ptr addrspace(3) %shared, ptr addrspace(1) %a, i32 16)
  call void @td.cp_async_commit()
  br label %join
join:
)" + wait +
         R"(
  %v = load i32, ptr addrspace(3) %shared
  ret void)";
}

TEST(EmulationFaults, CopyThatIsNotAwaited) {
  expect_contains(fault_of(copy_and_read("call void @td.barrier()")),
                  "an asynchronous write of it is not finished");
  expect_contains(
      fault_of(copy_and_read("call void @td.cp_async_wait_1()\n call void @td.barrier()")),
      "an asynchronous write of it is not finished");
}

TEST(EmulationFaults, CopyThatIsAwaitedByItsThreadAlone) {
  EXPECT_NE(fault_of(copy_and_read("call void @td.cp_async_wait_0()")), "no fault");
  EXPECT_EQ(fault_of(copy_and_read("call void @td.cp_async_wait_0()\n call void @td.barrier()")),
            "no fault");
}

TEST(EmulationFaults, CopyOverBytesThatOthersStillRead) {
  expect_contains(fault_of(R"(
  %mine = getelementptr i32, ptr addrspace(3) %shared, i32 %tid
  store i32 0, ptr addrspace(3) %mine
  call void @td.barrier()
  %v = load i32, ptr addrspace(3) %shared
  %last = icmp eq i32 %tid, 9
  br i1 %last, label %copy, label %join
copy:
  call void @td.cp_async_16(ptr addrspace(3) %shared, ptr addrspace(1) %a, i32 16)
  br label %join
join:
  call void @td.barrier()
  %w = load i32, ptr addrspace(3) %shared
  ret void)"),
                  "shared address 0: ");
}

TEST(EmulationFaults, AreWordedWithoutChecksToo) {
  EmulatorOptions options;
  options.check_shared = false;
  EXPECT_EQ(fault_of("%v = load i32, ptr addrspace(3) %shared\n ret void", 32, options),
            "no fault");
}

// A note says group, bytes of stage 0, ring, stages, where the ring begins and how far stages are
// apart.
TEST(Faults, AnAccessOutsideTheBytesThatItsNoteNamesIsNamed) {
  auto run = [](int at) {
    std::string text =
        kernel_text(concat("%p = getelementptr i8, ptr addrspace(3) %shared, i32 ", at,
                           "\n store i32 7, ptr addrspace(3) %p, !tw.touch !0\n"
                           "ret void")) +
        "!0 = !{i32 1, i32 64, i32 128, i32 0, i32 2, i32 0, i32 256, i32 0, i32 0}\n";
    run_emulated(text, {32, 4096}, {{}, {}, {}, {}});
  };
  for (int at : {60, 128, 192, 376 + 8})
    expect_contains(error_of([&] { run(at); }), concat("touches shared address ", at,
                                                       "; it was noted to touch 64 to 128, in one "
                                                       "of 2 stages of 256 bytes"));
}

TEST(LinkEmulated, RefusesWhatOnlyAGpuHas) {
  std::string text = "declare i32 @llvm.nvvm.read.ptx.sreg.laneid()\n" +
                     kernel_text("%l = call i32 @llvm.nvvm.read.ptx.sreg.laneid()\n ret void");
  expect_contains(error_of([&] {
                    run_emulated(text, {32, 0}, {{}, {}, {}, {}});
                  }),
                  "kernel k calls llvm.nvvm.read.ptx.sreg.laneid, which only a GPU has");
}

TEST(LinkEmulated, RefusesShapesThatNoGpuHas) {
  std::string text = kernel_text("ret void");
  expect_contains(error_of([&] { run_emulated(text, {33, 0}, {}); }), "blocks of 33 threads");
  expect_contains(error_of([&] {
                    run_emulated(text, {32, 1 << 20}, {});
                  }),
                  "asks for 1048576 bytes of shared memory");
}

}  // namespace
}  // namespace tilewright::dsl::faults_test
