// Atomic operations that compare, and those that order what stands around them: by their
// definition, on the host and on emulated GPUs, whose blocks run on several threads.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "dsl/codegen/gpu/gpu_code.h"
#include "dsl/interpret/interpret.h"
#include "dsl/ir/text/text.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/compile.h"
#include "dsl/passes/pipeline.h"
#include "tests/dsl/words/every_way.h"
#include "tests/errors.h"

namespace tilewright::dsl::atomic_order_test {
namespace {

using testing::HasSubstr;
using testing::Not;
using Whole = std::vector<std::int32_t>;

// Runs programs of a grid in every way and gives the last array of each.
template <typename... T>
std::vector<std::tuple<std::vector<T>...>> results(const ir::Function& function,
                                                   std::int64_t programs,
                                                   const std::vector<T>&... arrays) {
  std::vector<std::tuple<std::vector<T>...>> all;
  for (const char* way : {"interpreter", "host", "sm_80", "sm_90a"}) {
    all.emplace_back(arrays...);
    std::apply(
        [&](auto&... copy) {
          std::tuple<KernelArray<T>...> memory(copy...);
          auto arguments = std::apply(
              [](auto&... each) { return std::vector<Argument>{{.pointer = each.data()}...}; },
              memory);
          const Grid grid{{programs, 1, 1}};
          if (way == std::string("interpreter"))
            ir::interpret(function, grid, arguments);
          else
            launch(
                *compile(function, way == std::string("host") ? host_target() : target_named(way)),
                grid, arguments.data());
        },
        all.back());
  }
  return all;
}

TEST(AtomicCas, StoresOnlyWhereMemoryHoldsWhatIsExpected) {
  in_every_way(
      [](Pointer x, Pointer expected, Pointer out) {
        Tile at = arange(0, 100);
        put(out, atomic_cas(x + at, load(expected + at), at + 1000, at < 90));
      },
      [](const Whole& x, const Whole& expected, const Whole& out) {
        for (std::int32_t i = 0; i < 100; ++i) {
          const auto at = static_cast<std::size_t>(i);
          ASSERT_EQ(out[at], i < 90 ? i : 0);
          ASSERT_EQ(x[at], i < 90 && expected[at] == i ? i + 1000 : i);
        }
      },
      [] {
        Whole x(100);
        std::iota(x.begin(), x.end(), 0);
        return x;
      }(),
      [] {
        Whole x(100);
        for (std::int32_t i = 0; i < 100; ++i) x[static_cast<std::size_t>(i)] = i % 3 == 0 ? i : -1;
        return x;
      }(),
      Whole(100));
}

TEST(AtomicCas, OfFloatsComparesTheirBits) {
  in_every_way(
      [](Pointer x, Pointer out) {
        store(out, atomic_cas(x, 0.0, 5.0));  // -0 is not 0
        store(out + 1, atomic_cas(x + 1, -0.0, 5.0));
        Tile nan = full({}, NAN, f64);
        store(out + 2, atomic_cas(x + 2, nan, 5.0));
      },
      [](const std::vector<double>& x, const std::vector<double>& out) {
        EXPECT_TRUE(std::signbit(x[0]) && x[0] == 0);
        EXPECT_EQ(x[1], 5);
        EXPECT_EQ(x[2], 5);
        EXPECT_TRUE(std::isnan(out[2]));
      },
      std::vector<double>{-0.0, -0.0, NAN}, std::vector<double>(3));
}

// The work of one program at a time: adds one to a counter that is not atomic, under a lock.
ir::Function counting_under_a_lock() {
  return Kernel("count",
                [](Pointer lock, Pointer counter, Pointer table) {
                  while_([&] { return atomic_cas(lock, 0, 1, {}, MemoryOrder::acquire) != 0; },
                         [] {});
                  Tile at = arange(0, 64);
                  Tile before = load(counter), row = load(table + at);
                  store(counter, before + 1);
                  store(table + at, row + at);
                  atomic_exchange(lock, 0, {}, MemoryOrder::release);
                })
      .trace({i32, i32, i32});
}

TEST(AtomicOrder, ALockLetsOneProgramInAtATime) {
  constexpr std::int64_t programs = 64;
  for (const auto& [lock, counter, table] :
       results(counting_under_a_lock(), programs, Whole(1), Whole(1), Whole(64))) {
    EXPECT_EQ(lock[0], 0);
    EXPECT_EQ(counter[0], programs);
    for (std::size_t i = 0; i < table.size(); ++i)
      EXPECT_EQ(table[i], programs * static_cast<std::int64_t>(i));
  }
}

// The last program to come adds up what all have left.
TEST(AtomicOrder, TheLastToArriveSeesWhatAllWrote) {
  constexpr std::int64_t programs = 32;
  ir::Function function = Kernel("last", [](Pointer parts, Pointer arrived, Pointer out) {
                            Tile me = cast(program_id(0), i32), at = arange(0, 40);
                            store(parts + me * 40 + at, me + at);
                            Tile before = atomic_add(arrived, 1, {}, MemoryOrder::acq_rel);
                            if_(before == programs - 1, [&] {
                              Var sum = zeros({40}, i32);
                              for (Tile i : range(0, programs)) sum += load(parts + i * 40 + at);
                              store(out + at, sum);
                            });
                          }).trace({i32, i32, i32});
  for (const auto& [parts, arrived, out] :
       results(function, programs, Whole(programs * 40), Whole(1), Whole(40)))
    for (std::int32_t i = 0; i < 40; ++i)
      EXPECT_EQ(out[static_cast<std::size_t>(i)], programs * (programs - 1) / 2 + programs * i);
}

TEST(AtomicOrder, EveryKindAndOrderGivesWhatTheRelaxedOneDoes) {
  for (MemoryOrder order :
       {MemoryOrder::relaxed, MemoryOrder::acquire, MemoryOrder::release, MemoryOrder::acq_rel})
    for (MemoryScope scope : {MemoryScope::cta, MemoryScope::gpu, MemoryScope::sys})
      in_every_way(
          [&](Pointer x, Pointer h, Pointer out) {
            Tile at = arange(0, 50);
            const Ordering way(order, scope);
            atomic_max(x + at, cast(at, f32), {}, way);
            atomic_add(h + at, cast(at, f16), at < 40, way);
            put(out, atomic_exchange(out + at, at * 2, {}, way) + at);
            atomic_min(x, -1.0, {}, way);
          },
          [](const std::vector<float>& x, const std::vector<Half>& h, const Whole& out) {
            EXPECT_EQ(x[0], -1);
            for (std::int32_t i = 1; i < 50; ++i) {
              const auto at = static_cast<std::size_t>(i);
              ASSERT_EQ(x[at], std::max(20.0F, static_cast<float>(i)));
              ASSERT_EQ(static_cast<float>(h[at]), i < 40 ? static_cast<float>(i) : 0);
              ASSERT_EQ(out[at], i);
            }
          },
          std::vector<float>(50, 20), std::vector<Half>(50), Whole(50));
}

std::string ptx_of(const std::function<void(Pointer)>& body, const char* target = "sm_90a") {
  ir::Function function = Kernel("k", [&](Pointer p) { body(p); }).trace({i32});
  run_passes(function, {.target = target_named(target)});
  return gpu::generate_ptx(function, target_named(target)).text;
}

TEST(AtomicOrderPtx, SaysOrderAndScope) {
  for (const char* target : {"sm_80", "sm_90a"}) {
    auto added = [&](Ordering way) {
      return ptx_of([&](Pointer p) { store(p + 1, atomic_add(p, 1, {}, way)); }, target);
    };
    const std::string acquired = added(MemoryOrder::acquire);
    EXPECT_LT(acquired.find("atom.global.add"), acquired.find("fence.acq_rel.gpu"));
    const std::string released = added({MemoryOrder::release, MemoryScope::cta});
    EXPECT_LT(released.find("fence.acq_rel.cta"), released.find("atom.global.add"));
    const std::string both = added({MemoryOrder::acq_rel, MemoryScope::sys});
    EXPECT_LT(both.find("fence.acq_rel.sys"), both.find(".sys.global.cas.b32"));
    EXPECT_LT(both.find(".sys.global.cas.b32"), both.rfind("fence.acq_rel.sys"));
    EXPECT_THAT(added({}), Not(HasSubstr("fence")));
    EXPECT_THAT(ptx_of([](Pointer p) { atomic_cas(p, 0, 1); }, target), HasSubstr("cas.b32"));
  }
}

// All threads of a block have written before one of them releases, and none reads before one has
// acquired.
TEST(AtomicOrderPtx, ThreadsMeetBeforeAReleaseAndAfterAnAcquire) {
  const std::string released = ptx_of(
      [](Pointer p) {
        store(p + (arange(0, 128) + 1), 7);
        atomic_exchange(p, 1, {}, MemoryOrder::release);
      },
      "sm_80");
  EXPECT_LT(released.rfind("st.global"), released.find("bar.sync"));
  EXPECT_LT(released.find("bar.sync"), released.find("atom"));
  const std::string acquired = ptx_of(
      [](Pointer p) {
        Tile old = atomic_add(p, 1, {}, MemoryOrder::acquire);
        store(p + (arange(0, 128) + 1), load(p + (arange(0, 128) + 200)) + old);
      },
      "sm_80");
  EXPECT_LT(acquired.find("atom"), acquired.find("bar.sync"));
  EXPECT_LT(acquired.find("bar.sync"), acquired.find("ld.global"));
}

TEST(AtomicOrderText, IsReadAsItIsWritten) {
  const std::string text =
      "func @f(%p: ptr<i32>, %v: i32, %m: bool) {\n"
      "  %3 = atomic %p, %v, %m, %v, compare_exchange : i32\n"
      "  %4 = atomic %p, %v, add acq_rel : i32\n"
      "  %5 = atomic %p, %v, add acquire cta : i32\n"
      "  %6 = atomic %p, %v, add sys : i32\n"
      "}\n";
  ir::Function function = ir::parse(text);
  EXPECT_EQ(ir::print(function), text);
  auto with = [&](ir::Atomic atomic) {
    ir::Function other = function;
    other.body.insts[1].immediate = atomic;
    return ir::content_hash(other);
  };
  EXPECT_NE(with({ir::AtomicKind::add}), with({ir::AtomicKind::add, MemoryOrder::acquire}));
  EXPECT_NE(with({ir::AtomicKind::add}),
            with({ir::AtomicKind::add, MemoryOrder::relaxed, MemoryScope::cta}));
}

TEST(AtomicOrderText, NamesWhatIsWrong) {
  auto error = [](const std::string& line) {
    return error_of([&] {
      ir::parse("func @f(%p: ptr<i32>, %v: i32, %m: bool, %w: i64) {\n  %0 = " + line + "\n}\n");
    });
  };
  EXPECT_THAT(error("atomic %p, %v, add seq_cst : i32"),
              HasSubstr("'seq_cst' is not an order or a scope of memory"));
  EXPECT_THAT(error("atomic %p, %v, %m, compare_exchange : i32"),
              HasSubstr("there are 3 operands; compare_exchange takes 4, and compare_exchange is "
                        "that"));
  EXPECT_THAT(error("atomic %p, %v, %m, %v, add : i32"),
              HasSubstr("there are 4 operands; compare_exchange takes 4, and add is not that"));
  EXPECT_THAT(error("atomic %p, %v, %m, %w, compare_exchange : i32"),
              HasSubstr("the expected value is i64, the value i32; they must be of one type"));
}

}  // namespace
}  // namespace tilewright::dsl::atomic_order_test
