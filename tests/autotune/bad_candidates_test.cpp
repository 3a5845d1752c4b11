// Every way in which a candidate may fail, many times, among candidates that are well: the host
// survives, each failure is kept with its reason, and the best healthy candidate wins.
#include <gmock/gmock.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <list>
#include <new>

#include "autotune/kernel_tuner.h"
#include "autotune/measure/clocks.h"
#include "runtime/cpu/parallel.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::autotune::bad_candidates_test {
namespace {

using dsl::Constexpr;
using dsl::Pointer;
using dsl::Scalar;
using dsl::Tile;

enum Flaw : std::int64_t {
  healthy,
  bad_address,
  endless,
  much_shared_memory,
  exits,
  aborts,
  takes_memory,
  wrong,
  refused
};
constexpr int variants = 5;  // of each flaw; of the healthy ones the last is the best
#ifdef __SANITIZE_ADDRESS__  // which makes children slow
constexpr int tunings = 1;
#else
constexpr int tunings = 10;
#endif

// y = 2 x in the given number of steps, with the flaws that code of a kernel can have.
void twice(Pointer x, Pointer y, Scalar n, Constexpr flaw, Constexpr variant, Constexpr steps) {
  constexpr std::int64_t block = 128, far = std::int64_t{1} << 40;
  if (flaw == refused) {
    if (variant == 0) dsl::arange(0, -block);
    if (variant == 1) dsl::store(y, dsl::arange(0, 3) + dsl::arange(0, 4));
    if (variant == 2) dsl::dot(dsl::zeros({16, 8}, f32), dsl::zeros({16, 8}, f32));
    if (variant == 3) dsl::store(dsl::arange(0, block), 1.0);
    if (variant == 4) dsl::sum(dsl::arange(0, block), 1);
  }
  Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
  Tile from = x + i, to = y + i;
  if (flaw == bad_address) {
    if (variant < 2) from = from + (variant == 0 ? far : -far);
    if (variant >= 2) to = to + (variant - 3) * far + (variant == 3 ? 64 * far : 0);
  }
  dsl::Var sum = dsl::zeros({block}, f32);
  double part = 2.0 / static_cast<double>(steps);
  for ([[maybe_unused]] Tile step : dsl::range(0, static_cast<std::int64_t>(steps)))
    sum = sum.get() + dsl::load(from, i < n) * part;
  if (flaw == endless) {
    for ([[maybe_unused]] Tile turn : dsl::range(0, std::int64_t{1} << 60))
      sum = sum.get() + dsl::atomic_add(to, sum.get() * 0.0);
  }
  if (flaw == much_shared_memory) {
    std::int64_t rows = 256, columns = 256 << variant % 3;  // few enough for a thread
    Tile row = dsl::expand_dims(dsl::arange(0, rows), 1);
    Tile column = dsl::expand_dims(dsl::arange(0, columns), 0);
    Tile all = dsl::load(x + (row + column) * 0);
    sum = sum.get() + dsl::sum(dsl::sum(dsl::trans(all) + dsl::zeros({columns, rows}, f32), 0), 0);
  }
  Tile result = sum.get();
  if (flaw == wrong) {
    if (variant == 0) result = result + 0.5;
    if (variant == 1) result = dsl::where(i == n - 1, result + 1.0, result);
    if (variant == 2) result = dsl::where(i == 7, result * std::nan(""), result);
    if (variant == 3) result = result * 0.5;
  }
  if (flaw != wrong || variant < 4) dsl::store(to, result, i < n);
}

[[noreturn]] void spin() {
  for (volatile std::uint64_t turn = 0;;) turn = turn + 1;
}

// Under the address sanitizer, which reserves most of the address space, there is no end to it.
[[noreturn]] void take_memory_without_end(std::int64_t variant) {
#ifndef __SANITIZE_ADDRESS__
  static std::list<std::vector<char>> all;
  std::size_t size = std::size_t{64} << 10;
  while (true) {
    if (variant == 0) all.emplace_back().reserve(size);
    if (variant == 1) all.emplace_back().reserve(16 << 20);
    if (variant == 2) all.emplace_back().reserve(size *= 2);
    if (variant == 3) all.emplace_back().reserve(1 << 20);
    if (variant == 4 && ::mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
      throw std::bad_alloc();
  }
#else
  static_cast<void>(variant);
  throw std::bad_alloc();
#endif
}

// The flaws that only what stands around a kernel can have.
void misbehave(Flaw flaw, std::int64_t variant) {
  if (flaw == endless) {
    if (variant == 1) spin();
    if (variant == 2)
      while (true) ::pause();
    if (variant == 3)
      while (true) ::raise(SIGSTOP);
    if (variant == 4) {
      pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
      pthread_mutex_lock(&taken);
      pthread_mutex_lock(&taken);
    }
  }
  if (flaw == exits) {
    if (variant == 4) std::quick_exit(3);
    ::_exit(static_cast<int>(variant));
  }
  if (flaw == aborts) {
    if (variant == 0) std::abort();
    if (variant == 1) ::raise(SIGBUS);
    if (variant == 2) __builtin_trap();
    if (variant == 3) ::raise(SIGKILL);
    if (variant == 4) ::raise(SIGFPE);
  }
  if (flaw == takes_memory) take_memory_without_end(variant);
}

Status status_of(Flaw flaw) {
  switch (flaw) {
    case healthy: return Status::ok;
    case bad_address:
    case exits:
    case aborts: return Status::crashed;
    case endless: return Status::timed_out;
    case much_shared_memory:
    case takes_memory: return Status::out_of_memory;
    case wrong: return Status::wrong_result;
    case refused: return Status::compile_failed;
  }
  return Status::ok;
}

KernelTuning tuning_of(bool has_shared_memory) {
  KernelTuning tuning{
      .space = Space()
                   .choose("flaw", {healthy, bad_address, endless, much_shared_memory, exits,
                                    aborts, takes_memory, wrong, refused})
                   .choose("variant", {0, 1, 2, 3, 4}),
      .grid = [](const KernelCall& call) { return Grid{(call["n"] + 127) / 128}; }};
  if (!has_shared_memory)
    tuning.space.rule("there is such memory",
                      [](const Setting& s) { return s["flaw"] != much_shared_memory; });
  tuning.key = {"n"};
  tuning.heuristics = {{"steps", [](const KernelCall& call) -> std::int64_t {
                          bool is_slow = call["flaw"] == healthy && call["variant"] < variants - 1;
                          return is_slow ? 4096 >> call["variant"] : 1;
                        }}};
  tuning.budget.seconds = 1000;
  tuning.limits.memory_bytes = 32 << 20;
  tuning.pre_hook = [](const KernelCall& call) {
    misbehave(static_cast<Flaw>(call["flaw"]), call["variant"]);
  };
  return tuning;
}

struct BadCandidates : ::testing::Test {
  ScratchFolder folder;
  std::shared_ptr<TuningDatabase> database =
      std::make_shared<TuningDatabase>((folder.path() / "tuning.db").string());
  dsl::Kernel kernel{"twice", twice, {"x", "y", "n", "flaw", "variant", "steps"}};
  int threads = thread_count(), seen_bad = 0, told = 0;

  BadCandidates() { set_thread_count(1); }  // whose times are those of the steps
  ~BadCandidates() override { set_thread_count(threads); }

  // One tuning: all variants of all flaws, and as many that are well.
  void tune(KernelTuning tuning, std::int64_t n) {
    SCOPED_TRACE(n);
    std::vector<float> x(1000, 3), y(1000, 1);
    tuning.listener = [&](const auto&, double, const auto&) { ++told; };
    TunedKernel tuned(kernel, tuning, database);
    EXPECT_EQ(tuned.configuration_for({x, y, n}), "flaw=0 variant=4");
    EXPECT_EQ(y, std::vector<float>(1000, 1)) << "tuning leaves memory as it was";
    tuned.launch(x, y, n);
    for (std::size_t i = 0; i < y.size(); ++i)
      ASSERT_EQ(y[i], static_cast<std::int64_t>(i) < n ? 6 : 1) << i;
    int before = told;  // what failed is known, and not tried again
    TunedKernel(kernel, tuning, database).launch(x, y, n);
    EXPECT_EQ(told, before);
  }

  void expect_kept_with_reasons() {
    database->each_row([&](const TuningRow& row) {
      auto flaw = static_cast<Flaw>(row.configuration.integer("flaw").value_or(-1));
      EXPECT_EQ(name_of(row.status()), name_of(status_of(flaw))) << row.configuration.text();
      if (flaw == healthy) {
        EXPECT_EQ(row.observations.front().clocks.empty(), !core_mhz()) << "under which it ran";
        return;
      }
      ++seen_bad;
      const std::string& reason = row.observations.front().reason;
      EXPECT_NE(reason, "") << row.configuration.text();
      if (flaw == much_shared_memory) {
        EXPECT_THAT(reason, ::testing::HasSubstr("bytes of shared memory; sm_90a has"));
      }
    });
  }
};

TEST_F(BadCandidates, FourHundredAreSurvivedAndTheBestHealthyOneWins) {
  tilewright::Setting device("TILEWRIGHT_DEVICE", "emulated:sm_90a");
  for (int i = 0; i < tunings; ++i) tune(tuning_of(true), 500 + i);
  expect_kept_with_reasons();
  EXPECT_EQ(seen_bad, 8 * variants * tunings);
}

TEST_F(BadCandidates, AreSurvivedOnTheHostToo) {
  tilewright::Setting device("TILEWRIGHT_DEVICE", "cpu");
  tune(tuning_of(false), 1000);
  expect_kept_with_reasons();
  EXPECT_EQ(seen_bad, 7 * variants);
}

}  // namespace
}  // namespace tilewright::autotune::bad_candidates_test
