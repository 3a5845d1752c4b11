// A matrix product as sm_90a does it: one thread loads tiles into two stages, a warpgroup
// multiplies them, and the result goes out through shared memory.
#pragma once

#include <string>
#include <vector>

#include "dsl/emulator/tensor_map.h"
#include "tests/emulator/emulated.h"

namespace tilewright::dsl::testing_pipeline {

using emulator::Swizzle;
using emulator::TensorMap;

constexpr int size = 64;          // rows of a and columns of b; k goes in steps of as many
constexpr int accumulators = 32;  // of a thread
constexpr int staging_at = 33792;
constexpr int shared_bytes = staging_at + size * size * 4;

inline std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size()))
    text.replace(at, what.size(), by);
  return text;
}

inline const char* const producer = R"(
  %map_a = addrspacecast ptr addrspace(1) %a to ptr
  %map_b = addrspacecast ptr addrspace(1) %b to ptr
  %map_c = addrspacecast ptr addrspace(1) %c to ptr
  %full = getelementptr i8, ptr addrspace(3) %shared, i32 32768
  %full1 = getelementptr i64, ptr addrspace(3) %full, i32 1
  %empty = getelementptr i64, ptr addrspace(3) %full, i32 2
  %empty1 = getelementptr i64, ptr addrspace(3) %full, i32 3
  %is_first = icmp eq i32 %tid, 0
  br i1 %is_first, label %init, label %start
init:
  call void @td.mbarrier_init(ptr addrspace(3) %full, i32 1)
  call void @td.mbarrier_init(ptr addrspace(3) %full1, i32 1)
  call void @td.mbarrier_init(ptr addrspace(3) %empty, i32 1)
  call void @td.mbarrier_init(ptr addrspace(3) %empty1, i32 1)
  call void @td.fence_mbarrier_init()
  br label %start
start:
  call void @td.barrier()
  %is_consumer = icmp uge i32 %tid, 128
  br i1 %is_consumer, label %consumer, label %producer
producer:
  br i1 %is_first, label %load, label %exit
load:
  %i = phi i32 [0, %producer], [%i1, %issue]
  %s = and i32 %i, 1
  %ph = lshr i32 %i, 1
  %parity = xor i32 %ph, 1
  %eb = getelementptr i64, ptr addrspace(3) %empty, i32 %s
  %fb = getelementptr i64, ptr addrspace(3) %full, i32 %s
  br label %spin
spin:
  %ok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %eb, i32 %parity)
  br i1 %ok, label %issue, label %spin
issue:
  call void @td.mbarrier_arrive_expect_tx(ptr addrspace(3) %fb, i32 16384)
  %off = mul i32 %s, 16384
  %pa = getelementptr i8, ptr addrspace(3) %shared, i32 %off
  %pb = getelementptr i8, ptr addrspace(3) %pa, i32 8192
  %k0 = mul i32 %i, 64
  call void @td.tma_load_2d(ptr addrspace(3) %pa, ptr addrspace(3) %fb, ptr %map_a, i32 %k0, i32 0)
  call void @td.tma_load_2d(ptr addrspace(3) %pb, ptr addrspace(3) %fb, ptr %map_b, i32 %k0, i32 0)
  %i1 = add i32 %i, 1
  %c1 = icmp ult i32 %i1, %n
  br i1 %c1, label %load, label %exit
)";

inline std::string floats() {
  std::string text = "{float";
  for (int i = 1; i < accumulators; ++i) text += ", float";
  return text + "}";
}

// Appends a call over all accumulators named `from`0, ..., and takes its results apart as `to`0,
// ...
inline std::string over_accumulators(const std::string& call, const std::string& from,
                                     const std::string& more, const std::string& to) {
  std::string text = "%" + to + " = call " + floats() + " @td." + call + "(";
  for (int i = 0; i < accumulators; ++i)
    text += (i ? ", float %" : "float %") + from + std::to_string(i);
  text += more + ")\n";
  for (int i = 0; i < accumulators; ++i)
    text += "%" + to + std::to_string(i) + " = extractvalue " + floats() + " %" + to + ", " +
            std::to_string(i) + "\n";
  return text;
}

inline std::string consumer_loop() {
  std::string text = R"(
consumer:
  %ctid = sub i32 %tid, 128
  %is_lead = icmp eq i32 %ctid, 0
  br label %multiply
multiply:
  %j = phi i32 [0, %consumer], [%j1, %next]
)";
  for (int i = 0; i < accumulators; ++i)
    text +=
        replaced("%accI = phi float [0.0, %consumer], [%doneI, %next]\n", "I", std::to_string(i));
  text += R"(
  %cs = and i32 %j, 1
  %cph = lshr i32 %j, 1
  %cfb = getelementptr i64, ptr addrspace(3) %full, i32 %cs
  %ceb = getelementptr i64, ptr addrspace(3) %empty, i32 %cs
  br label %cspin
cspin:
  %cok = call i1 @td.mbarrier_try_wait_parity(ptr addrspace(3) %cfb, i32 %cph)
  br i1 %cok, label %loaded, label %cspin
loaded:
  %coff = mul i32 %cs, 16384
  %base = ptrtoint ptr addrspace(3) %shared to i32
  %at = add i32 %base, %coff
  %low = and i32 %at, 262143
  %chunk = lshr i32 %low, 4
  %chunk64 = zext i32 %chunk to i64
  %da0 = or i64 %chunk64, 4611686293305360384
  %db0 = add i64 %da0, 512
  call void @td.wgmma_fence()
)";
  const std::string names[] = {"acc", "p", "q", "r", "sum"};
  for (int k = 0; k < 4; ++k) {
    std::string n = std::to_string(k);
    text += "%da" + n + "k = add i64 %da0, " + std::to_string(2 * k) + "\n%db" + n +
            "k = add i64 %db0, " + std::to_string(2 * k) + "\n";
    text += over_accumulators("wgmma_m64n64k16_bf16_ss", names[k],
                              ", i64 %da" + n + "k, i64 %db" + n + "k, i32 1", names[k + 1]);
  }
  text += "call void @td.wgmma_commit()\n";
  text += over_accumulators("wgmma_wait_0_f32", "sum", "", "done");
  return text + R"(
  br i1 %is_lead, label %release, label %next
release:
  call void @td.mbarrier_arrive(ptr addrspace(3) %ceb)
  br label %next
next:
  %j1 = add i32 %j, 1
  %c2 = icmp ult i32 %j1, %n
  br i1 %c2, label %multiply, label %store
)";
}

inline std::string epilogue() {
  std::string text = R"(
store:
  %staging = getelementptr i8, ptr addrspace(3) %shared, i32 33792
  %cwarp = lshr i32 %ctid, 5
  %warp_row = mul i32 %cwarp, 16
  %group = lshr i32 %lane, 2
  %row = add i32 %warp_row, %group
  %in_group = and i32 %lane, 3
  %pair = mul i32 %in_group, 2
  %first_word = mul i32 %row, 64
  %word = add i32 %first_word, %pair
)";
  for (int i = 0; i < accumulators; ++i) {
    int offset = (i / 2 % 2) * 8 * size + i / 4 * 8 + i % 2;
    text += replaced(replaced("%wI = add i32 %word, OFFSET\n"
                              "%eI = getelementptr float, ptr addrspace(3) %staging, i32 %wI\n"
                              "store float %doneI, ptr addrspace(3) %eI\n",
                              "OFFSET", std::to_string(offset)),
                     "I", std::to_string(i));
  }
  return text + R"(
  call void @td.fence_proxy_async()
  call void @td.named_barrier_sync(i32 1, i32 128)
  br i1 %is_lead, label %out, label %exit
out:
  call void @td.tma_store_2d(ptr addrspace(3) %staging, ptr %map_c, i32 0, i32 0)
  call void @td.bulk_commit()
  call void @td.bulk_wait_read_0()
  br label %exit
exit:
  ret void
)";
}

inline std::string gemm() { return kernel_text(producer + consumer_loop() + epilogue()); }

struct Problem {
  int rows, columns, depth;
  std::vector<std::uint16_t> a, b;
  std::vector<float> c;

  Problem(int rows, int columns, int depth)
      : rows(rows),
        columns(columns),
        depth(depth),
        a(at(rows * depth)),
        b(at(columns * depth)),
        c(at(rows * columns), -1.0F) {
    for (std::size_t i = 0; i < a.size(); ++i)
      a[i] = bfloat16_bits(static_cast<float>(static_cast<int>(i * 7919 % 13) - 6));
    for (std::size_t i = 0; i < b.size(); ++i)
      b[i] = bfloat16_bits(static_cast<float>(static_cast<int>(i * 104729 % 11) - 5));
  }
  static std::size_t at(int i) { return static_cast<std::size_t>(i); }

  template <typename T>
  static TensorMap map(std::vector<T>& data, int inner, int outer, int box, Swizzle swizzle) {
    TensorMap map;
    map.element_bytes = sizeof(T);
    map.swizzle = swizzle;
    map.base = reinterpret_cast<std::byte*>(data.data());
    map.sizes = {inner, outer};
    map.strides_bytes = {inner * static_cast<int>(sizeof(T))};
    map.box = {static_cast<std::uint16_t>(box), size};
    return map;
  }

  void run(const std::string& text, std::uint64_t seed = 1, std::int64_t shared = shared_bytes) {
    TensorMap map_a = map(a, depth, rows, 64, Swizzle::bytes128);
    TensorMap map_b = map(b, depth, columns, 64, Swizzle::bytes128);
    TensorMap map_c = map(c, columns, rows, 64, Swizzle::none);
    EmulatorOptions options;
    options.seed = seed;
    run_emulated(text, {256, shared},
                 {pointer_argument(&map_a), pointer_argument(&map_b), pointer_argument(&map_c),
                  integer_argument((depth + 63) / 64)},
                 1, options);
  }

  double wanted(int row, int column) const {
    double sum = 0;
    for (int k = 0; k < depth; ++k)
      sum += static_cast<double>(bfloat16_value(a[at(row * depth + k)])) *
             static_cast<double>(bfloat16_value(b[at(column * depth + k)]));
    return sum;
  }
  void expect_right() const {
    for (int i = 0; i < rows * columns; ++i)
      ASSERT_EQ(static_cast<double>(c[at(i)]), wanted(i / columns, i % columns)) << i;
  }
};

}  // namespace tilewright::dsl::testing_pipeline
