#include "autotune/kernel_tuner.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/errors.h"

namespace tilewright::autotune::kernel_tuner_test {
namespace {

using dsl::Constexpr;
using dsl::Pointer;
using dsl::Scalar;
using dsl::Tile;
using ::testing::HasSubstr;

// y += 2 x, a block a program.
void add_twice(Pointer x, Pointer y, Scalar n, Constexpr block) {
  Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
  dsl::store(y + i, dsl::load(y + i, i < n) + dsl::load(x + i, i < n) * 2.0, i < n);
}
const dsl::Kernel add("add_twice", add_twice, {"x", "y", "n", "block"});

Grid blocks_of(const KernelCall& call) {
  return Grid{(call["n"] + call["block"] - 1) / call["block"]};
}

struct KernelTuner : ::testing::Test {
  std::filesystem::path folder =
      std::filesystem::path(::testing::TempDir()) / ("kernel_tuner_" + std::to_string(::getpid()));
  std::shared_ptr<TuningDatabase> database;
  std::vector<std::string> measured, reasons;
  std::vector<float> x = std::vector<float>(5000, 1), y = std::vector<float>(5000, 3);

  KernelTuner() {
    std::filesystem::create_directories(folder);
    database = std::make_shared<TuningDatabase>((folder / "tuning.db").string());
  }
  ~KernelTuner() override { std::filesystem::remove_all(folder); }

  KernelTuning tuning(std::vector<std::int64_t> blocks) {
    KernelTuning result{.space = Space().choose("block", std::move(blocks)), .grid = blocks_of};
    result.key = {"n"};
    result.budget = {64, 1e6};  // trials alone, so that a slow machine measures as many
    result.limits = {5, 64 << 20};
    result.listener = [this](const std::string& one, double, const std::string& reason) {
      measured.push_back(one);
      reasons.push_back(reason);
    };
    return result;
  }
};

TEST_F(KernelTuner, RunsOnceAsFarAsTheCallerSees) {
  TunedKernel tuned(add, tuning({64, 256, 1024}), database);
  tuned.launch(x, y, 5000);
  EXPECT_EQ(measured.size(), 3u);
  EXPECT_EQ(y, std::vector<float>(5000, 5));
  tuned.launch(x, y, 5000);
  EXPECT_EQ(measured.size(), 3u);
  EXPECT_EQ(y, std::vector<float>(5000, 7));
}

TEST_F(KernelTuner, AsksAnewForKeysAndTypesAlone) {
  TunedKernel tuned(add, tuning({64, 256}), database);
  tuned.launch(x, y, 5000);
  tuned.launch(x, y, 4000);  // another value of the key
  EXPECT_EQ(measured.size(), 4u);
  std::vector<double> wide(5000, 1), sum(5000, 1);
  tuned.launch(wide, sum, 5000);
  EXPECT_EQ(measured.size(), 6u);
  TunedKernel other(add, tuning({64, 256}), database);  // another process would do the same
  other.launch(x, y, 5000);
  EXPECT_EQ(measured.size(), 6u);
}

TEST_F(KernelTuner, MeasuresAnAddedConfigurationAlone) {
  std::vector<std::int64_t> fifty;
  for (int i = 1; i <= 50; ++i) fifty.push_back(16 * i);
  KernelTuning of_fifty = tuning(fifty);
  of_fifty.preferred = "block=256";
  TunedKernel(add, of_fifty, database).launch(x, y, 5000);
  EXPECT_EQ(measured.size(), 50u);
  measured.clear();
  fifty.push_back(1024);
  KernelTuning of_more = tuning(fifty);
  of_more.preferred = "block=256";
  TunedKernel(add, of_more, database).launch(x, y, 5000);
  EXPECT_THAT(reasons, ::testing::Each("")) << "checked on memory that timing has changed";
  EXPECT_EQ(measured, std::vector<std::string>{"block=1024"});
}

TEST_F(KernelTuner, ComputesWhatIsNotChosenAndLeavesOutWhatIsNotKept) {
  dsl::Kernel kernel("scaled",
                     [](Pointer x, Pointer y, Scalar n, Constexpr block, Constexpr factor) {
                       Tile i = dsl::program_id(0) * block + dsl::cast(dsl::arange(0, block), i64);
                       dsl::store(y + i, dsl::load(x + i, i < n) * static_cast<double>(factor),
                                  i < n);
                     },
                     {"x", "y", "n", "block", "factor"});
  KernelTuning with = tuning({64, 256, 8192});
  with.heuristics = {{"factor", [](const KernelCall& call) { return call["n"] / 1000; }}};
  with.keeps = [](const KernelCall& call) { return call["block"] <= call["n"]; };
  TunedKernel(kernel, with, database).launch(x, y, 5000);
  EXPECT_EQ(y, std::vector<float>(5000, 5));
  EXPECT_THAT(measured, ::testing::UnorderedElementsAre("block=64", "block=256"));
}

TEST_F(KernelTuner, ZeroesWhatItIsToldTo) {
  KernelTuning with = tuning({64, 256});
  with.reset_to_zero = {"y"};
  std::vector<float> seen;
  with.post_hook = [&](const KernelCall&) { seen.push_back(y[7]); };
  TunedKernel(add, with, database).launch(x, y, 5000);
  ASSERT_FALSE(seen.empty());
  EXPECT_EQ(seen[0], 2);                      // in a timed run, begun from zero
  EXPECT_EQ(y, std::vector<float>(5000, 5));  // the caller's launch begins from what was there
}

TEST_F(KernelTuner, NamesWhatIsWrong) {
  auto error = [&](auto change) {
    KernelTuning with = tuning({64, 256});
    change(with);
    return error_of([&] { TunedKernel(add, with, database).launch(x, y, 5000); });
  };
  EXPECT_THAT(error([](KernelTuning& t) { t.grid = nullptr; }), HasSubstr("needs a grid"));
  EXPECT_THAT(error([](KernelTuning& t) { t.space = Space().choose("rows", {1}); }),
              HasSubstr("Constexpr block is neither"));
  EXPECT_THAT(error([](KernelTuning& t) { t.heuristics["block"] = [](auto&) { return 1; }; }),
              HasSubstr("both a knob and a heuristic"));
  EXPECT_THAT(error([](KernelTuning& t) { t.key = {"m"}; }), HasSubstr("no Scalar of that name"));
  EXPECT_THAT(error([](KernelTuning& t) { t.reset_to_zero = {"n"}; }),
              HasSubstr("no Pointer of that name"));
  EXPECT_THAT(
      error([](KernelTuning& t) { t.preferred = "block=7"; }),
      HasSubstr(
          "the default \"block=7\" is not a legal point of the space: the knob block has no value "
          "7; it has 64, 256"));
  EXPECT_THAT(error([](KernelTuning& t) {
                t.space.rule("large", [](const Setting& s) { return s["block"] > 64; });
              }),
              HasSubstr("breaks the rule \"large\""));
  EXPECT_THAT(error([](KernelTuning& t) { t.grid = [](auto& call) { return Grid{call["m"]}; }; }),
              HasSubstr("a call has no \"m\"; it has: block, n"));
  EXPECT_THAT(error([](KernelTuning& t) { t.pre_hook = [](auto&) { std::abort(); }; }),
              HasSubstr("the default configuration, block=64, fails"));
  TunedKernel tuned(add, tuning({64, 256}), database);
  EXPECT_THAT(error_of([&] { tuned.launch(x, y); }), HasSubstr("one is missing for n"));
  EXPECT_THAT(error_of([&] { tuned.launch(x, y, 1, 2); }), HasSubstr("takes 3 beside"));
  EXPECT_THAT(error_of([&] { tuned.launch(x.data(), y.data(), 5000); }),
              HasSubstr("no known size"));
}

TEST_F(KernelTuner, ALaunchOnNothingDoesNothing) {
  std::vector<float> none, result;
  TunedKernel tuned(add, tuning({64, 256}), database);
  EXPECT_NO_THROW(tuned.launch(none, result, 0));
}

TEST_F(KernelTuner, AWarmLaunchTracesNothing) {
  int traces = 0;
  dsl::Kernel counted("counted",
                      [&traces](Pointer x, Pointer y, Scalar n, Constexpr block) {
                        ++traces;
                        add_twice(x, y, n, block);
                      },
                      {"x", "y", "n", "block"});
  TunedKernel tuned(counted, tuning({64, 256}), database);
  tuned.launch(x, y, 5000);
  int before = traces;
  for (int i = 0; i < 5; ++i) tuned.launch(x, y, 5000);
  EXPECT_EQ(tuned.configuration_for({x, y, 5000}).substr(0, 6), "block=");
  EXPECT_EQ(traces, before);
  tuned.launch(x, y, 4000);
  EXPECT_GT(traces, before);  // another question
}

TEST_F(KernelTuner, RefusesAKnobThatNothingAsksFor) {
  KernelTuning with = tuning({64, 256});
  with.space.choose("blok", {1, 2});
  EXPECT_EQ(error_of([&] { TunedKernel(add, with, database).launch(x, y, 5000); }),
            "[add_twice] nothing uses the knob blok: neither grid, heuristics, keeps nor estimate "
            "ask for it, and the kernel has no Constexpr of that name; its Constexprs are: block");
  EXPECT_TRUE(measured.empty());
  with.grid = [](const KernelCall& call) {  // asked for only now and then
    return Grid{(call["n"] + call["block"] - 1) / call["block"],
                call["block"] == 256 ? call["blok"] - call["blok"] + 1 : 1};
  };
  TunedKernel(add, with, database).launch(x, y, 5000);
  EXPECT_EQ(measured.size(), 4u);
}

}  // namespace
}  // namespace tilewright::autotune::kernel_tuner_test
