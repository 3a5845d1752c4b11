// Atomic operations, by their definition, on the host and on emulated GPUs: what programs of a grid
// and elements of a tile do to one place of memory.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <tuple>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/tile.h"
#include "dsl/language/tracer.h"
#include "dsl/launch/compile.h"
#include "dsl/passes/pipeline.h"
#include "runtime/base/error.h"
#include "runtime/base/half.h"
#include "tests/errors.h"

namespace tilewright::dsl::atomic_test {
namespace {

using testing::Each;
using testing::HasSubstr;
using testing::Not;

enum class How : std::uint8_t { interpreter, host, sm_80, sm_90a };

// An array in memory that is aligned as kernels expect it; what they leave goes back.
template <typename T>
class Aligned {
 public:
  explicit Aligned(std::vector<T>& array) : array_(array) {
    data_ = static_cast<T*>(std::aligned_alloc(64, (array.size() * sizeof(T) + 127) / 64 * 64));
    std::ranges::copy(array, data_);
  }
  ~Aligned() {
    std::copy_n(data_, array_.size(), array_.begin());
    std::free(data_);
  }
  Aligned(const Aligned&) = delete;
  const void* data() const { return data_; }

 private:
  std::vector<T>& array_;
  T* data_;
};

class Atomic : public testing::TestWithParam<How> {
 protected:
  // Runs programs of a grid; their blocks are shared out among threads.
  template <typename... T>
  void run(const ir::Function& function, std::int64_t programs, std::vector<T>&... arrays) {
    std::tuple<Aligned<T>...> memory(arrays...);
    auto arguments = std::apply(
        [](const auto&... each) { return std::vector<Argument>{{.pointer = each.data()}...}; },
        memory);
    Grid grid{{programs, 1, 1}};
    if (GetParam() == How::interpreter) return ir::interpret(function, grid, arguments);
    Target target = GetParam() == How::host    ? host_target()
                    : GetParam() == How::sm_80 ? target_named("sm_80")
                                               : target_named("sm_90a");
    launch(*compile(function, target), grid, arguments.data());
  }
};

std::string device_name(const testing::TestParamInfo<How>& info) {
  constexpr const char* names[] = {"interpreter", "host", "sm_80", "sm_90a"};
  return names[static_cast<int>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Devices, Atomic,
                         testing::Values(How::interpreter, How::host, How::sm_80, How::sm_90a),
                         device_name);

TEST_P(Atomic, CountsIntoBinsThatElementsOfATileShare) {
  for (std::int64_t block : {7, 32, 100, 1024}) {
    Tracer tracer("histogram");
    Tile x = tracer.pointer_param("x", i32), bins = tracer.pointer_param("bins", i32);
    Tile at = program_id(0) * block + cast(arange(0, block), i64);
    atomic_add(bins + load(x + at), 1);
    ir::Function function = tracer.finish();

    std::vector<std::int32_t> numbers(static_cast<std::size_t>(24 * block)), counts(10),
        expected(10);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      numbers[i] = static_cast<std::int32_t>(i * i % 10);
      ++expected[static_cast<std::size_t>(numbers[i])];
    }
    run(function, 24, numbers, counts);
    EXPECT_EQ(counts, expected) << "block " << block;
  }
}

TEST_P(Atomic, AddsFloatsOfAllProgramsIntoOnePlace) {
  constexpr std::int64_t programs = 64, block = 50;
  Tracer tracer("total");
  Tile x = tracer.pointer_param("x", f32), out = tracer.pointer_param("out", f32);
  Tile at = program_id(0) * block + cast(arange(0, block), i64);
  atomic_add(out, sum(load(x + at), 0));
  atomic_add(splat(out + 1, {block}), load(x + at));
  ir::Function function = tracer.finish();

  std::vector<float> numbers(programs * block), totals(2);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = 0.37f * static_cast<float>(i % 17);
  run(function, programs, numbers, totals);
  double expected = std::accumulate(numbers.begin(), numbers.end(), 0.0);
  EXPECT_THAT(totals, Each(testing::FloatNear(static_cast<float>(expected),
                                              static_cast<float>(expected) * 1e-4f)));
}

TEST_P(Atomic, CombinesIntegersOfEveryKind) {
  constexpr std::int64_t programs = 16, block = 40;
  Tracer tracer("kinds");
  Tile x = tracer.pointer_param("x", i64), out = tracer.pointer_param("out", i64);
  Tile values = load(x + (program_id(0) * block + cast(arange(0, block), i64)));
  auto cell = [&](int i) { return splat(out + i, {block}); };
  atomic_max(cell(0), values);
  atomic_min(cell(1), values);
  atomic_and(cell(2), values);
  atomic_or(cell(3), values);
  atomic_xor(cell(4), values);
  ir::Function function = tracer.finish();

  std::vector<std::int64_t> numbers(programs * block), cells = {0, 0, -1, 0, 0};
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = (static_cast<std::int64_t>(i) - 320) * 0x1234567891;
  std::vector<std::int64_t> folded = {std::ranges::max(numbers), std::ranges::min(numbers), -1, 0,
                                      0};
  for (std::int64_t n : numbers) {
    folded[2] &= n;
    folded[3] |= n;
    folded[4] ^= n;
  }
  run(function, programs, numbers, cells);
  EXPECT_EQ(cells, folded);
}

TEST_P(Atomic, UnsignedMaximumComparesWithoutASign) {
  Tracer tracer("unsigned");
  Tile out = tracer.pointer_param("out", u32);
  atomic_max(out, constant(ir::Scalar::of_integer(u32, 0xF0000000)));
  ir::Function function = tracer.finish();
  std::vector<std::uint32_t> cell = {7};
  run(function, 3, cell);
  EXPECT_EQ(cell[0], 0xF0000000U);
}

// Sums of small integers are exact in any order. Rows of any length, so that groups of neighbours
// end anywhere; some programs ask what was there, which takes the other way.
template <typename T>
class AddedTo {
 public:
  static constexpr std::int64_t programs = 8;
  static ir::Function function(DType dtype, std::int64_t block, bool asks) {
    Tracer tracer("sums");
    Tile sums = tracer.pointer_param("sums", dtype), seen = tracer.pointer_param("seen", f32);
    Tile at = arange(0, block);
    Tile was = atomic_add(sums + at, cast(at % 7 + cast(program_id(0), i32), dtype), at != 5);
    if (asks) store(seen + (program_id(0) * block + cast(at, i64)), cast(was, f32));
    return tracer.finish();
  }
};

TEST_P(Atomic, AddsFloatsOfEveryWidthToNeighbours) {
  auto check_sums = [&]<typename T>(T, DType dtype) {
    constexpr std::int64_t programs = AddedTo<T>::programs;
    for (std::int64_t block : {1, 6, 40, 256, 1000})
      for (bool asks : {false, true}) {
        auto size = static_cast<std::size_t>(block);
        std::vector<T> sums(size, T(1.0F));
        std::vector<float> seen(size * programs, -1);
        run(AddedTo<T>::function(dtype, block, asks), programs, sums, seen);
        for (std::size_t i = 0; i < size; ++i) {
          float all = i == 5 ? 1 : 1 + programs * static_cast<float>(i % 7) + 28;
          ASSERT_EQ(static_cast<float>(sums[i]), all) << name_of(dtype) << " " << block << " " << i;
          float least = 1e9F;
          for (std::size_t p = 0; p < programs; ++p) least = std::min(least, seen[p * size + i]);
          ASSERT_EQ(least, asks ? (i == 5 ? 0 : 1) : -1) << name_of(dtype) << " " << block;
        }
      }
  };
  check_sums(Half(), f16);
  check_sums(BFloat16(), bf16);
  check_sums(float(), f32);
  check_sums(double(), f64);
}

TEST_P(Atomic, FindsTheGreatestAndLeastFloat) {
  auto check_bounds = [&]<typename T>(T, DType dtype) {
    constexpr std::int64_t programs = 12, block = 33;
    Tracer tracer("bounds");
    Tile x = tracer.pointer_param("x", dtype), out = tracer.pointer_param("out", dtype);
    Tile values = load(x + (program_id(0) * block + cast(arange(0, block), i64)));
    for (int i = 0; i < 3; ++i) {  // of all, of those below zero, of those with a NaN
      Tile on = i == 1 ? values < cast(constant(ir::Scalar::of(f32, 0)), dtype) : values == values;
      if (i == 2) on = values != cast(constant(ir::Scalar::of(f32, 2)), dtype);
      atomic_max(splat(out + 2 * i, {block}), values, on);
      atomic_min(splat(out + (2 * i + 1), {block}), values, on);
    }
    ir::Function function = tracer.finish();
    std::vector<T> numbers(programs * block);
    for (std::size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = T(static_cast<float>(i * 37 % 101) - 50.0F);
    numbers[77] = T(std::numeric_limits<float>::quiet_NaN());
    std::vector<T> bounds = {T(-60.0F), T(60.0F), T(-60.0F), T(60.0F), T(-60.0F), T(60.0F)};
    run(function, programs, numbers, bounds);
    auto is = [&](int i) { return static_cast<float>(bounds[static_cast<std::size_t>(i)]); };
    EXPECT_EQ(is(0), 50) << name_of(dtype);
    EXPECT_EQ(is(1), -50) << name_of(dtype);
    EXPECT_EQ(is(2), -1) << name_of(dtype);
    EXPECT_EQ(is(3), -50) << name_of(dtype);
    EXPECT_TRUE(std::isnan(is(4)) && std::isnan(is(5))) << name_of(dtype);
  };
  check_bounds(Half(), f16);
  check_bounds(BFloat16(), bf16);
  check_bounds(float(), f32);
  check_bounds(double(), f64);
}

// Each element that is kept takes a slot of its own and writes itself there.
TEST_P(Atomic, OldValuesGiveEachElementASlotOfItsOwn) {
  for (std::int64_t block : {1, 5, 64, 500}) {
    Tracer tracer("compact");
    Tile x = tracer.pointer_param("x", i32), next = tracer.pointer_param("next", i32),
         out = tracer.pointer_param("out", i32);
    Tile values = load(x + (program_id(0) * block + cast(arange(0, block), i64)));
    Tile kept = values % 3 == 0;
    Tile slots = atomic_add(splat(next, {block}), 1, kept);
    store(out + slots, values, kept);
    ir::Function function = tracer.finish();

    std::vector<std::int32_t> numbers(static_cast<std::size_t>(16 * block)), counter(1), expected;
    std::iota(numbers.begin(), numbers.end(), 0);
    std::ranges::copy_if(numbers, std::back_inserter(expected), [](int n) { return n % 3 == 0; });
    std::vector<std::int32_t> written(expected.size(), -1);
    run(function, 16, numbers, counter, written);
    EXPECT_EQ(counter[0], static_cast<std::int32_t>(expected.size()));
    std::ranges::sort(written);
    EXPECT_EQ(written, expected) << "block " << block;
  }
}

// One scalar for a whole program, in a loop, which all threads must come to know.
TEST_P(Atomic, AProgramTakesARangeByOneScalar) {
  constexpr std::int64_t programs = 20, turns = 3, block = 48;
  Tracer tracer("ranges");
  Tile next = tracer.pointer_param("next", i64), out = tracer.pointer_param("out", i64);
  for (Tile turn : range(0, turns)) {
    Tile start = atomic_add(next, block);
    store(out + (start + cast(arange(0, block), i64)),
          splat(program_id(0) * turns + turn, {block}));
  }
  ir::Function function = tracer.finish();
  std::vector<std::int64_t> counter(1), taken(programs * turns * block, -1);
  run(function, programs, counter, taken);
  EXPECT_EQ(counter[0], programs * turns * block);
  std::vector<int> seen(programs * turns);
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i], taken[i / block * block]);
    ++seen.at(static_cast<std::size_t>(taken[i]));
  }
  EXPECT_THAT(seen, Each(block));
}

TEST_P(Atomic, MaskedOffElementsTouchNothingAndGiveZero) {
  constexpr std::int64_t block = 37;
  Tracer tracer("masked");
  Tile cells = tracer.pointer_param("cells", f32), old = tracer.pointer_param("old", f32);
  Tile lane = arange(0, block);
  Tile was = atomic_exchange(cells + lane, full({block}, 9, f32), lane < 20);
  store(old + lane, was);
  store(old + block, atomic_add(cells, 1, program_id(0) > 0));
  ir::Function function = tracer.finish();
  std::vector<float> memory(20), before(block + 1, -1), expected(block + 1, 0);
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = expected[i] = 1 + static_cast<float>(i);
  run(function, 1, memory, before);
  EXPECT_THAT(memory, Each(9));
  EXPECT_EQ(before, expected);
}

// A later load sees the sum of all elements of the tile.
TEST_P(Atomic, LoadsThatFollowSeeWhatWasAdded) {
  constexpr std::int64_t rows = 24, columns = 20;
  Tracer tracer("columns");
  Tile sums = tracer.pointer_param("sums", i32), out = tracer.pointer_param("out", i32);
  Tile column = arange(0, columns);
  Tile cells = sums + program_id(0) * columns + column;
  atomic_add(broadcast_to(expand_dims(cells, 0), {rows, columns}),
             broadcast_to(expand_dims(arange(0, rows), 1), {rows, columns}));
  store(out + program_id(0) * columns + column, load(cells) * 2);
  ir::Function function = tracer.finish();
  std::vector<std::int32_t> memory(4 * columns), twice(4 * columns);
  run(function, 4, memory, twice);
  EXPECT_THAT(twice, Each(rows * (rows - 1)));
}

// Each program multiplies along its part of k and adds to what the others do.
TEST_P(Atomic, PartsOfAProductAddUp) {
  constexpr std::int64_t m = 64, n = 64, k = 256, part = 128, step = 64;
  Tracer tracer("split");
  Tile a = tracer.pointer_param("a", bf16), b = tracer.pointer_param("b", bf16),
       c = tracer.pointer_param("c", f32);
  Desc left = make_desc(a, {m, k}, {k, 1}), right = make_desc(b, {k, n}, {n, 1});
  Tile start = program_id(0) * part;
  Var acc = zeros({m, n}, f32);
  for (Tile i : range(0, part, step))
    acc = dot(load(left, {0, start + i}, {m, step}), load(right, {start + i, 0}, {step, n}), acc);
  Tile row = expand_dims(arange(0, m), 1), column = expand_dims(arange(0, n), 0);
  atomic_add(c + (row * n + column), acc);
  ir::Function function = tracer.finish();

  std::vector<BFloat16> x(m * k), y(k * n);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = BFloat16(static_cast<float>(i % 5) - 2);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = BFloat16(static_cast<float>(i % 7) - 3);
  std::vector<float> sums(m * n, 1), expected(m * n, 1);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l)
        expected[i * n + j] += static_cast<float>(x[i * k + l]) * static_cast<float>(y[l * n + j]);
  run(function, k / part, x, y, sums);
  EXPECT_EQ(sums, expected);  // small integers: every order of the sums gives the same
}

TEST(AtomicText, IsReadAsItIsWritten) {
  std::string text =
      "func @f(%p: ptr<i32>, %v: i32, %m: bool) {\n"
      "  %3 = atomic %p, %v, %m, xor : i32\n"
      "  %4 = atomic %p, %v, exchange : i32\n"
      "}\n";
  EXPECT_EQ(ir::print(ir::parse(text)), text);
  EXPECT_THAT(error_of([] {
                ir::parse("func @f(%p: ptr<i32>, %v: i32) {\n  %0 = atomic %p, %v, mul : i32\n}\n");
              }),
              HasSubstr("'mul' is not a kind of atomic operation"));
}

// Two equal ones are two, and stay in their loop though nothing in it changes for them.
TEST(AtomicPasses, NeitherDropNorMergeNorMoveThem) {
  Tracer tracer("f");
  Tile p = tracer.pointer_param("p", i32);
  for (Tile i : range(0, 10)) {
    static_cast<void>(i);
    atomic_add(p, 1);
    atomic_add(p, 1);
  }
  ir::Function function = tracer.finish();
  run_passes(function);
  int inside = 0;
  for (const ir::Inst& inst : function.body.insts)
    for (const ir::Block& body : inst.bodies)
      inside += static_cast<int>(std::ranges::count(body.insts, ir::Op::atomic_, &ir::Inst::op));
  EXPECT_EQ(inside, 2);
}

std::string ptx_of_add(bool used, DType dtype = f32, const char* target = "sm_90a") {
  Tracer tracer("add");
  Tile p = tracer.pointer_param("p", dtype), q = tracer.pointer_param("q", dtype);
  Tile lane = arange(0, 1024);
  Tile old = atomic_add(p + lane, full({1024}, 1, dtype));
  if (used) store(q + lane, old);
  ir::Function function = tracer.finish();
  run_passes(function, {.target = target_named("sm_90a")});
  return gpu::generate_ptx(function, target_named(target)).text;
}

TEST(AtomicPtx, IsAReductionWhereNobodyAsksForTheOldValue) {
  EXPECT_THAT(ptx_of_add(false), HasSubstr("red.relaxed.gpu.global.add.v4.f32"));
  EXPECT_THAT(ptx_of_add(false), HasSubstr(".version 8.1"));
  EXPECT_THAT(ptx_of_add(true), HasSubstr(".version 8.0"));
  EXPECT_THAT(ptx_of_add(false, f32, "sm_80"), HasSubstr("red.relaxed.gpu.global.add.f32"));
  EXPECT_THAT(ptx_of_add(false), Not(HasSubstr("atom.")));
  EXPECT_THAT(ptx_of_add(true), HasSubstr("atom.global.add.f32"));
  EXPECT_THAT(ptx_of_add(true), Not(HasSubstr("red.")));
}

TEST(AtomicPtx, HalvesAreAddedToTogether) {
  EXPECT_THAT(ptx_of_add(false, bf16), HasSubstr("red.relaxed.gpu.global.add.noftz.v4.bf16x2"));
  EXPECT_THAT(ptx_of_add(false, f16), HasSubstr("red.relaxed.gpu.global.add.noftz.v4.f16x2"));
  EXPECT_THAT(ptx_of_add(false, f16, "sm_80"), HasSubstr("red.relaxed.gpu.global.add.noftz.f16x2"));
  EXPECT_THAT(ptx_of_add(true, bf16), HasSubstr("atom.relaxed.gpu.global.add.noftz.bf16"));
  EXPECT_THAT(ptx_of_add(true, bf16, "sm_80"), HasSubstr("cas.b16"));
}

TEST(AtomicPtx, ReductionsSayHowIntegersCompare) {
  using Case =
      std::tuple<DType,
                 Tile (*)(const Operand&, const Operand&, const std::optional<Operand>&, Ordering),
                 const char*>;
  for (auto [dtype, update, expected] :
       {Case{i32, atomic_max, "max.s32"}, Case{u32, atomic_max, "max.u32"},
        Case{i64, atomic_min, "min.s64"}, Case{u64, atomic_min, "min.u64"},
        Case{i32, atomic_and, "and.b32"}, Case{i64, atomic_or, "or.b64"},
        Case{u32, atomic_xor, "xor.b32"}, Case{i64, atomic_add, "add.u64"},
        Case{f64, atomic_add, "add.f64"}}) {
    Tracer tracer("f");
    update(tracer.pointer_param("p", dtype), 3, std::nullopt, {});
    std::string ptx = gpu::generate_ptx(tracer.finish(), target_named("sm_80")).text;
    EXPECT_THAT(ptx, HasSubstr(concat("red.relaxed.gpu.global.", expected)));
  }
}

}  // namespace
}  // namespace tilewright::dsl::atomic_test
