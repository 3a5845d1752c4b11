// GPU code in the emulator against the interpreter, and what stands in its PTX.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/half.h"
#include "tests/dsl/arrays.h"
#include "tests/dsl/occurrences.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::dsl::gpu_code_test {
namespace {

using testing::HasSubstr;

void expect_same(const ir::Function& traced, const std::vector<Array>& arrays, Grid grid,
                 float tolerance, const std::vector<std::size_t>& compared = {}) {
  auto expected =
      arrays_after(arrays, [&](std::vector<Argument>& a) { ir::interpret(traced, grid, a); });
  std::vector<const char*> targets = {"sm_80", "sm_90a"};
  // Floats of 8 bits are multiplied in three ways.
  if (std::ranges::any_of(traced.types, [](const ir::Type& t) { return is_float8(t.dtype); }))
    targets.push_back("sm_89");
  for (const char* name : targets) {
    ir::Function function = traced;
    run_passes(function, {.target = target_named(name)});
    auto artifact = gpu::generate_emulated(function, target_named(name));
    auto actual = arrays_after(arrays, [&](std::vector<Argument>& a) {
      artifact->run(a.data(), grid.size, 0, grid.count(), nullptr);
    });
    std::vector<std::size_t> which = compared;
    for (std::size_t i = 0; compared.empty() && i < arrays.size(); ++i) which.push_back(i);
    for (std::size_t i : which)
      for (std::size_t j = 0; j < arrays[i].size(); ++j)
        ASSERT_NEAR(actual[i][j], expected[i][j], tolerance)
            << name << ", array " << i << ", element " << j;
  }
}

std::string ptx_of(ir::Function function, const char* target) {
  run_passes(function, {.target = target_named("sm_90a")});
  return gpu::generate_ptx(function, target_named(target)).text;
}

struct GemmCase {
  DType dtype;
  std::int64_t m, n, k, block_m, block_n, block_k;
  InputPrecision precision = InputPrecision::ieee;
  friend std::ostream& operator<<(std::ostream& out, const GemmCase& c) {
    return out << c.dtype << " " << c.m << "x" << c.n << "x" << c.k << " by " << c.block_m << "x"
               << c.block_n << "x" << c.block_k;
  }
};

// c = relu(a b), block by block along k.
ir::Function gemm(const GemmCase& c) {
  Tracer tracer("gemm");
  Tile a = tracer.pointer_param("a", f32), b = tracer.pointer_param("b", f32),
       out = tracer.pointer_param("c", f32);
  Desc da = make_desc(a, {c.m, c.k}, {c.k, 1}), db = make_desc(b, {c.k, c.n}, {c.n, 1}),
       dc = make_desc(out, {c.m, c.n}, {c.n, 1});
  Tile row = program_id(0) * c.block_m, column = program_id(1) * c.block_n;
  DType sum = c.dtype == i8 ? i32 : f32;
  double scale = c.dtype == i8 ? 100 : 1;
  Var acc = full({c.block_m, c.block_n}, 0, sum);
  for (Tile i : range(0, c.k, c.block_k)) {
    Tile x = cast(load(da, {row, i}, {c.block_m, c.block_k}) * scale, c.dtype);
    Tile y = cast(load(db, {i, column}, {c.block_k, c.block_n}) * scale, c.dtype);
    acc = dot(x, y, acc, c.precision);
  }
  store(dc, {row, column}, cast(maximum(acc, 0), f32));
  return tracer.finish();
}

class GpuGemm : public testing::TestWithParam<GemmCase> {};
INSTANTIATE_TEST_SUITE_P(
    Cases, GpuGemm,
    testing::Values(GemmCase{bf16, 64, 64, 64, 32, 32, 32}, GemmCase{bf16, 64, 64, 32, 64, 64, 16},
                    GemmCase{f16, 40, 24, 50, 16, 8, 16}, GemmCase{f16, 70, 90, 33, 64, 32, 32},
                    GemmCase{bf16, 128, 64, 48, 128, 64, 48},
                    GemmCase{bf16, 20, 100, 20, 20, 50, 20}, GemmCase{i8, 64, 32, 64, 64, 32, 32},
                    GemmCase{i8, 33, 17, 70, 32, 16, 64}, GemmCase{f32, 33, 40, 21, 32, 16, 8},
                    GemmCase{f32, 5, 3, 64, 5, 3, 64}, GemmCase{bf16, 4, 64, 64, 4, 64, 32},
                    GemmCase{f16, 16, 16, 128, 16, 16, 64},
                    GemmCase{f8e4m3, 64, 64, 64, 32, 32, 32},
                    GemmCase{f8e4m3, 70, 90, 99, 64, 32, 64},
                    GemmCase{f8e5m2, 40, 24, 64, 32, 16, 32}, GemmCase{f8e5m2, 5, 3, 40, 5, 3, 20},
                    GemmCase{f32, 64, 64, 64, 32, 32, 32, InputPrecision::tf32},
                    GemmCase{f32, 70, 90, 33, 64, 32, 16, InputPrecision::tf32},
                    GemmCase{f32, 20, 100, 20, 20, 50, 20, InputPrecision::tf32},
                    GemmCase{f32, 64, 64, 64, 32, 32, 32, InputPrecision::tf32x3},
                    GemmCase{f32, 70, 90, 33, 64, 32, 16, InputPrecision::tf32x3},
                    GemmCase{f32, 20, 100, 20, 20, 50, 20, InputPrecision::tf32x3}));

TEST_P(GpuGemm, EqualsTheInterpreter) {
  const GemmCase& c = GetParam();
  Grid grid((c.m + c.block_m - 1) / c.block_m, (c.n + c.block_n - 1) / c.block_n);
  auto count = [](std::int64_t a, std::int64_t b) { return static_cast<std::size_t>(a * b); };
  expect_same(gemm(c),
              {random_array(count(c.m, c.k), 1), random_array(count(c.k, c.n), 2),
               Array(count(c.m, c.n), NAN)},
              grid, c.dtype == i8 ? 0 : 1e-4F);
}

// Without the whole text in the message of a failure.
::testing::AssertionResult has(const std::string& text, const std::string& part) {
  if (text.find(part) != text.npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "there is no \"" << part << '"';
}

TEST(GpuCode, UsesTensorCoresAndSixteenByteAccesses) {
  std::string text = ptx_of(gemm({bf16, 256, 256, 256, 128, 128, 32}), "sm_80");
  EXPECT_TRUE(has(text, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"));
  EXPECT_TRUE(has(text, "ld.global.nc.v4.b32"));
  EXPECT_TRUE(has(text, "st.global.v4.b32"));
  EXPECT_FALSE(has(text, ".local"));
  EXPECT_TRUE(has(ptx_of(gemm({i8, 64, 64, 64, 64, 64, 64}), "sm_90a"),
                  "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"));
}

// Products whose operands come from memory as they are multiplied: their loads run ahead.
struct PipelineCase {
  DType dtype;  // f32 is multiplied as tf32
  bool a_transposed, b_transposed;
  std::int64_t m, n, k, block_m, block_n, block_k;
  friend std::ostream& operator<<(std::ostream& out, const PipelineCase& c) {
    return out << c.dtype << (c.a_transposed ? " a^T" : " a") << (c.b_transposed ? " b^T " : " b ")
               << c.m << "x" << c.n << "x" << c.k << " by " << c.block_m << "x" << c.block_n << "x"
               << c.block_k;
  }
};

// The left operand begins so many elements later as a last parameter says, if it is wanted.
ir::Function pipelined(const PipelineCase& c, bool shifted = false) {
  Tracer tracer("pipelined");
  Tile a = tracer.pointer_param("a", c.dtype), b = tracer.pointer_param("b", c.dtype),
       out = tracer.pointer_param("c", f32);
  if (shifted) a = a + tracer.scalar_param("shift", i64) * 64;
  Desc da =
      c.a_transposed ? make_desc(a, {c.k, c.m}, {c.m, 1}) : make_desc(a, {c.m, c.k}, {c.k, 1});
  Desc db =
      c.b_transposed ? make_desc(b, {c.n, c.k}, {c.k, 1}) : make_desc(b, {c.k, c.n}, {c.n, 1});
  Desc dc = make_desc(out, {c.m, c.n}, {c.n, 1});
  Tile row = program_id(0) * c.block_m, column = program_id(1) * c.block_n;
  Var acc = full({c.block_m, c.block_n}, 0, c.dtype == i8 ? i32 : f32);
  for (Tile i : range(0, c.k, c.block_k)) {
    Tile x = c.a_transposed ? trans(load(da, {i, row}, {c.block_k, c.block_m}))
                            : load(da, {row, i}, {c.block_m, c.block_k});
    Tile y = c.b_transposed ? trans(load(db, {column, i}, {c.block_n, c.block_k}))
                            : load(db, {i, column}, {c.block_k, c.block_n});
    acc = dot(x, y, acc, c.dtype == f32 ? InputPrecision::tf32 : InputPrecision::ieee);
  }
  store(dc, {row, column}, cast(acc, f32));
  return tracer.finish();
}

// The bytes of small whole numbers of a type, behind an array of f32 that is large enough.
Array small_numbers(std::int64_t count, DType dtype, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_int_distribution<int> numbers(-4, 4);
  Array array(static_cast<std::size_t>(count));
  auto* bytes = reinterpret_cast<char*>(array.data());
  for (std::int64_t i = 0; i < count; ++i) {
    auto x = static_cast<float>(numbers(generator));
    auto put = [&](auto element) {
      std::memcpy(bytes + i * static_cast<std::int64_t>(sizeof element), &element, sizeof element);
    };
    if (dtype == bf16) put(BFloat16(x).bits);
    if (dtype == f16) put(Half(x).bits);
    if (dtype == f8e4m3) put(Float8E4M3(x));
    if (dtype == f8e5m2) put(Float8E5M2(x));
    if (dtype == i8) put(static_cast<std::int8_t>(x));
    // tf32 rounds to x, where cutting off would go below it.
    if (dtype == f32) put(x * (x > 0 ? 1 + 0x1p-13F : 1 - 0x1p-13F));
  }
  return array;
}

class GpuPipeline : public testing::TestWithParam<PipelineCase> {};
INSTANTIATE_TEST_SUITE_P(
    Cases, GpuPipeline,
    testing::Values(PipelineCase{bf16, false, false, 64, 64, 128, 64, 64, 32},
                    PipelineCase{bf16, false, true, 64, 64, 256, 64, 64, 32},
                    PipelineCase{bf16, true, false, 64, 128, 96, 32, 64, 16},
                    PipelineCase{bf16, true, true, 128, 64, 64, 64, 32, 64},
                    PipelineCase{f16, false, false, 72, 40, 88, 32, 32, 32},
                    PipelineCase{f16, false, true, 24, 24, 40, 16, 8, 16},
                    PipelineCase{f16, true, true, 40, 56, 8, 64, 64, 32},
                    PipelineCase{bf16, false, false, 128, 128, 32, 128, 128, 32},
                    PipelineCase{bf16, false, true, 200, 264, 200, 128, 256, 64},
                    PipelineCase{f16, true, false, 136, 136, 72, 128, 64, 32},
                    PipelineCase{bf16, false, true, 64, 32, 700, 64, 32, 512},
                    PipelineCase{bf16, false, false, 300, 72, 16, 64, 64, 32},
                    PipelineCase{i8, false, true, 256, 64, 96, 128, 64, 32},
                    PipelineCase{i8, false, true, 64, 64, 128, 64, 64, 64},
                    PipelineCase{i8, false, false, 64, 64, 128, 32, 32, 64},
                    PipelineCase{i8, true, false, 64, 64, 128, 64, 64, 32},
                    PipelineCase{i8, true, true, 64, 32, 64, 32, 32, 32},
                    PipelineCase{i8, false, true, 128, 256, 256, 128, 256, 128},
                    PipelineCase{f8e4m3, false, true, 256, 64, 96, 128, 64, 32},
                    PipelineCase{f8e4m3, false, true, 200, 264, 288, 128, 128, 128},
                    PipelineCase{f8e5m2, false, true, 64, 64, 256, 64, 64, 64},
                    PipelineCase{f8e4m3, false, false, 64, 64, 128, 32, 32, 64},
                    PipelineCase{f8e5m2, true, true, 64, 32, 64, 32, 32, 32},
                    PipelineCase{f8e5m2, true, false, 64, 64, 64, 64, 64, 32},
                    PipelineCase{f32, false, false, 64, 64, 96, 64, 64, 32},
                    PipelineCase{f32, false, true, 64, 64, 160, 64, 64, 32},
                    PipelineCase{f32, false, true, 200, 264, 200, 128, 256, 32},
                    PipelineCase{f32, true, false, 136, 40, 72, 128, 32, 16},
                    PipelineCase{f32, true, true, 64, 64, 64, 32, 32, 32},
                    PipelineCase{f32, false, false, 72, 40, 88, 32, 32, 16}));

TEST_P(GpuPipeline, EqualsTheInterpreter) {
  const PipelineCase& c = GetParam();
  Grid grid((c.m + c.block_m - 1) / c.block_m, (c.n + c.block_n - 1) / c.block_n);
  Array out(static_cast<std::size_t>(c.m * c.n), NAN);
  expect_same(pipelined(c),
              {small_numbers(c.m * c.k, c.dtype, 1), small_numbers(c.k * c.n, c.dtype, 2), out},
              grid, 0, {2});
}

// Every code of 8 bits to f32, and numbers around all of them back.
TEST(GpuCode, ConvertsFloatsOf8BitsAsTheInterpreter) {
  for (DType dtype : all_dtypes()) {
    if (!is_float8(dtype)) continue;
    Tracer tracer("convert");
    Tile codes = tracer.pointer_param("codes", dtype), numbers = tracer.pointer_param("x", f32),
         values = tracer.pointer_param("values", f32), back = tracer.pointer_param("back", f32);
    Tile i = arange(0, 256), j = arange(0, 2048);
    Tile value = cast(load(codes + i), f32);
    store(values + i, where(value == value, minimum(maximum(value, -1e6), 1e6), 1e7));
    store(back + j, cast(bitcast(cast(load(numbers + j), dtype), u8), f32));
    Array bytes(64), wanted(2048);
    for (int c = 0; c < 256; ++c) {
      reinterpret_cast<unsigned char*>(bytes.data())[c] = static_cast<unsigned char>(c);
      auto x = static_cast<float>(value_of_bits(dtype, static_cast<std::uint64_t>(c)));
      if (std::isnan(x)) x = 500;
      // Itself, what is near it, what is halfway to the next, and what is just beside that.
      float ulp = std::ldexp(std::max(std::abs(x), 1e-6F), -digits(dtype));
      auto at = [&](int k) -> float& { return wanted[static_cast<std::size_t>(8 * c + k)]; };
      at(0) = x, at(1) = x + ulp, at(2) = x - ulp, at(3) = x * 1.03F, at(4) = x * 1.0625F;
      at(5) = x * 1.0626F, at(6) = x * 1e5F, at(7) = x * 1.1875F;
    }
    expect_same(tracer.finish(), {bytes, wanted, Array(256), Array(2048)}, {}, 0, {2, 3});
  }
}

TEST(GpuCode, LoadsOfAProductRunAheadOfIt) {
  std::string text = ptx_of(pipelined({bf16, false, false, 512, 512, 512, 128, 128, 32}), "sm_80");
  for (const char* part : {"cp.async.cg.shared.global", "cp.async.wait_group",
                           "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
                           "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16"})
    EXPECT_TRUE(has(text, part));
}

TEST(GpuCode, HopperCopiesByOneThreadAndMultipliesByWarpgroups) {
  PipelineCase whole{bf16, false, true, 512, 512, 512, 128, 256, 64};
  std::string text = ptx_of(pipelined(whole), "sm_90a");
  for (const char* part :
       {"wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16", "wgmma.fence.sync.aligned",
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier", "mbarrier.try_wait.parity",
        "setmaxnreg.dec.sync.aligned.u32", "setmaxnreg.inc.sync.aligned.u32", ".reqntid 384",
        "griddepcontrol.launch_dependents", "griddepcontrol.wait",
        "cp.async.bulk.tensor.2d.global.shared::cta"})
    EXPECT_TRUE(has(text, part));
  EXPECT_FALSE(has(text, "mma.sync"));
  EXPECT_FALSE(has(text, ".local"));
  EXPECT_FALSE(has(ptx_of(pipelined(whole), "sm_80"), "wgmma"));
}

// TMA takes the sizes from a tensor map, which is made of the arguments.
TEST(GpuCode, TensorMapsOfSizesBelowZeroHoldNothing) {
  Tracer tracer("product");
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16),
       out = tracer.pointer_param("c", f32), m = tracer.scalar_param("m", i64),
       n = tracer.scalar_param("n", i64);
  Desc da = make_desc(a, {m, 128}, {128, 1}), db = make_desc(b, {128, 128}, {128, 1});
  Var acc = full({128, 128}, 1, f32);
  for (Tile i : range(0, 128, 64))
    acc = dot(load(da, {0, i}, {128, 64}), trans(load(db, {0, i}, {128, 64})), acc);
  store(make_desc(out, {128, n}, {128, 1}), {0, 0}, acc);
  ir::Function function = tracer.finish();
  EXPECT_TRUE(has(ptx_of(function, "sm_90a"), "cp.async.bulk.tensor.2d.shared"));
  std::vector<Array> arrays{small_numbers(128 * 128, bf16, 1), small_numbers(128 * 128, bf16, 2),
                            Array(128 * 128, 5)};
  Grid grid;
  for (auto [rows, columns] : {std::pair{-3, 128}, {0, 128}, {100, 128}, {100, -8}}) {
    auto run = [&, size = std::pair<std::int64_t, std::int64_t>(rows, columns)](auto&& how) {
      return arrays_after(arrays, [&](std::vector<Argument>& all) {
        all.push_back({.integer = size.first});
        all.push_back({.integer = size.second});
        how(all);
      });
    };
    auto wanted = run([&](std::vector<Argument>& all) { ir::interpret(function, grid, all); });
    EXPECT_EQ(wanted[2][0] == 5, columns < 0);
    for (const char* target : {"sm_80", "sm_90a"}) {
      ir::Function prepared = function;
      run_passes(prepared, {.target = target_named("sm_90a")});
      auto artifact = gpu::generate_emulated(prepared, target_named(target));
      auto made = run([&](std::vector<Argument>& all) {
        artifact->run(all.data(), grid.size, 0, grid.count(), nullptr);
      });
      EXPECT_EQ(made[2], wanted[2]) << target << ", " << rows << ", " << columns;
    }
  }
}

// Where an operand begins at a number that may be negative, no tensor map can say it.
TEST(GpuCode, WarpgroupsMultiplyWhatAsynchronousCopiesBring) {
  PipelineCase c{bf16, false, true, 128, 128, 128, 128, 128, 64};
  ir::Function function = pipelined(c, true);
  std::string text = ptx_of(function, "sm_90a");
  EXPECT_TRUE(has(text, "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16"));
  EXPECT_TRUE(has(text, "cp.async.cg.shared.global"));
  EXPECT_FALSE(has(text, "cp.async.bulk.tensor"));
  Array out(static_cast<std::size_t>(c.m * c.n), NAN);
  std::vector<Array> arrays{small_numbers((c.m + 1) * c.k, bf16, 1),
                            small_numbers(c.n * c.k, bf16, 2), out};
  auto run = [&](auto&& how) {
    return arrays_after(arrays, [&](std::vector<Argument>& a) {
      a.push_back({.integer = 2});
      how(a);
    });
  };
  Grid grid;
  auto expected = run([&](std::vector<Argument>& a) { ir::interpret(function, grid, a); });
  run_passes(function, {.target = target_named("sm_90a")});
  auto artifact = gpu::generate_emulated(function, target_named("sm_90a"));
  auto actual = run([&](std::vector<Argument>& a) {
    artifact->run(a.data(), grid.size, 0, grid.count(), nullptr);
  });
  EXPECT_EQ(actual[2], expected[2]);
}

TEST(GpuCode, AccessesMemoryThatBeginsAnywhereElementByElement) {
  auto copy = [](int align_bytes) {
    Tracer tracer("copy");
    Tile from = tracer.pointer_param("from", DType::f32, align_bytes);
    Tile to = tracer.pointer_param("to", DType::f32, align_bytes);
    store(make_desc(to, {1024}, {1}), {0}, load(make_desc(from, {1024}, {1}), {0}, {1024}));
    return tracer.finish();
  };
  EXPECT_THAT(ptx_of(copy(64), "sm_80"), HasSubstr(".v4"));
  EXPECT_THAT(ptx_of(copy(4), "sm_80"), testing::Not(HasSubstr(".v4")));
}

TEST(GpuCode, NamesTheUsersLines) {
  int line = 0;
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32);
  line = __LINE__ + 1;
  store(make_desc(x, {64}, {1}), {0}, load(make_desc(x, {64}, {1}), {0}, {64}) + 1);
  std::string text = ptx_of(tracer.finish(), "sm_80");
  EXPECT_TRUE(has(text, "gpu_code_test.cpp\""));
  EXPECT_TRUE(has(text, "\t2 " + std::to_string(line) + " ")) << line;
  EXPECT_FALSE(has(text, ".debug_info"));
}

TEST(GpuCode, ComputesFunctionsOfF64) {
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32), y = tracer.pointer_param("y", f32);
  Desc in = make_desc(x, {64}, {1}), out = make_desc(y, {9, 64}, {64, 1});
  Tile wide = cast(load(in, {0}, {64}), f64) * 3.0, positive = wide * wide + 0.1;
  std::vector<Tile> results = {exp(wide),      exp2(wide), log(positive),
                               log2(positive), sin(wide),  cos(wide),
                               tanh(wide),     erf(wide),  rsqrt(positive) * sigmoid(wide)};
  for (std::size_t i = 0; i < results.size(); ++i)
    store(out, {static_cast<std::int64_t>(i), 0}, reshape(cast(results[i], f32), {1, 64}));
  expect_same(tracer.finish(), {random_array(64, 4), Array(9 * 64, NAN)}, {}, 1e-5F);
}

TEST(GpuCode, TwoRowsOfDifferentThreadsMeetBehindABarrier) {
  // The second load reads what other threads have stored.
  Tracer tracer("f");
  Tile x = tracer.pointer_param("x", f32);
  Desc d = make_desc(x, {64, 64}, {64, 1});
  Tile block = load(d, {0, 0}, {64, 64});
  store(d, {0, 0}, permute(block, {1, 0}));
  Tile again = load(d, {0, 0}, {64, 64});
  store(d, {0, 0}, again + sum(again, 1, true));
  expect_same(tracer.finish(), {random_array(4096, 3)}, {}, 1e-4F);
}

// Two halves of a register that a loop carries are one value, and are rounded by one instruction.
TEST(GpuCode, LoopsCarryHalvesOfRegistersInPairs) {
  for (std::int64_t count : {128, 64, 32}) {  // four, two and one for each of 32 threads
    Tracer tracer("f");
    Tile x = tracer.pointer_param("x", f32);
    Desc d = make_desc(x, {count}, {1});
    Var value = cast(load(d, {0}, {count}), bf16);
    for (Tile i : range(0, 3)) value = cast(cast(value, f32) * 1.7 + cast(i, f32), bf16);
    store(d, {0}, cast(value, f32));
    ir::Function function = tracer.finish();
    expect_same(function, {random_array(static_cast<std::size_t>(count), 5)}, {}, 0);
    std::string text = ptx_of(function, "sm_80");
    EXPECT_EQ(has(text, "cvt.rn.bf16.f32"), count == 32) << text;
  }
}

// A value that is stored through it is read from the parameter afterwards.
TEST(GpuCode, APointerThatALoopCarriesIsOfItsArray) {
  ir::Function function = ir::parse(R"(func @f(%x: ptr<f32>, %y: ptr<f32>) {
  %v = constant 7 : f32
  %zero = constant 0 : i64
  %one = constant 1 : i64
  %n = constant 9 : i64
  %e = loop %zero to %n step %one index %i with (%p = %x) {
    %l = load %p : f32
    %m = add %l, %v : f32
    %q = offset %p, %one : ptr<f32>
    store %q, %m
    yield %q
  } : ptr<f32>
  store %e, %v
  %last = offset %x, %n : ptr<f32>
  %c = load %last : f32
  store %y, %c
}
)");
  expect_same(function, {random_array(10, 3), Array(1, 0)}, Grid(1), 1e-4F);
}

TEST(GpuCode, ProductsStayWhereTheyAreThroughBranches) {
  auto attention = [](bool branches) {
    Tracer tracer("f");
    Tile x = tracer.pointer_param("x", f32), n = tracer.scalar_param("n", DType::i64);
    Desc d = make_desc(x, {64, 64}, {64, 1});
    Tile a = cast(load(d, {0, 0}, {64, 64}), f16);
    Tile column = reshape(arange(0, 64), {1, 64});
    Var highest = full({64, 1}, -1e30, f32), mixed = zeros({64, 64}, f32);
    for (Tile i : range(0, n)) {
      Var scores = dot(a, a);
      auto mask = [&] { scores = where(column > cast(i, DType::i32), scores, -1e30); };
      branches ? if_(n > i, mask) : mask();
      Tile top = maximum(highest, max(scores, 1, true));
      mixed = dot(cast(exp(scores - top), f16), a, mixed * exp(highest - top));
      highest = top;
    }
    store(d, {0, 0}, mixed);
    return tracer.finish();
  };
  for (const char* target : {"sm_80", "sm_90a"})
    EXPECT_EQ(count_of(ptx_of(attention(true), target), "bar.sync"),
              count_of(ptx_of(attention(false), target), "bar.sync"));
}

TEST(GpuCode, ProgramsAreKeptInTheFolderThatTheEnvironmentNames) {
  char folder[] = "/tmp/tilewright-XXXXXX";
  ASSERT_NE(::mkdtemp(folder), nullptr);
  Setting set("TILEWRIGHT_DUMP_PROGRAMS", folder);
  ir::Function function = gemm({f16, 16, 16, 16, 16, 16, 16});
  run_passes(function, {.target = target_named("sm_90a")});
  for (const char* target : {"sm_80", "sm_90a", "sm_80"})  // one program and GPU, one file
    gpu::generate_ptx(function, target_named(target));
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry);
  std::ranges::sort(files);
  ASSERT_EQ(files.size(), 2U);
  EXPECT_TRUE(files[0].string().ends_with(".sm_80.tile")) << files[0];
  EXPECT_TRUE(files[1].string().ends_with(".sm_90a.tile")) << files[1];
  std::stringstream text;
  text << std::ifstream(files[0]).rdbuf();
  EXPECT_EQ(ir::content_hash(ir::parse(text.str())), ir::content_hash(function));
  std::filesystem::remove_all(folder);
  Setting bad("TILEWRIGHT_DUMP_PROGRAMS", "/proc/none");
  EXPECT_THAT(error_of([&] { gpu::generate_ptx(function, target_named("sm_80")); }),
              HasSubstr("[TILEWRIGHT_DUMP_PROGRAMS] cannot write /proc/none/tw_gemm_"));
}

TEST(Target, ListsTheGpusItKnows) {
  EXPECT_THAT(
      error_of([] { target_named("sm_70"); }),
      HasSubstr("unknown processor \"sm_70\"; known are amx, avx512_bf16, avx512, avx2, sse, "
                "sm_80, sm_86"));
}

}  // namespace
}  // namespace tilewright::dsl::gpu_code_test
