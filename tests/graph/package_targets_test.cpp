// Packages with code for several instruction sets: which is run, what they share, and which do not
// fit together.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "graph/compile/compile.h"
#include "graph/compile/packages/package.h"
#include "runtime/cpu/instruction_sets.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/loaded_package.h"
#include "runtime/package/verify.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"
#include "tests/tensors.h"

namespace tilewright::package_targets_test {
namespace {

// A package of this processor's code, and others of the same function whose code counts as that of
// worse instruction sets and multiplies by another number. (Code for one set is made by one
// process: run_test.sh makes real ones.)
class PackageTargetsTest : public testing::Test {
 protected:
  void SetUp() override { TILEWRIGHT_ON_THE_HOST_ONLY("packages"); }
  std::string file(const std::string& name) const { return (folder_.path() / name).string(); }
  void save(const std::string& name, float factor, const Tensor& x, std::string_view set) const {
    auto fast = compile([this, factor](const Tensor& t) { return t * factor + weights_.sum(); },
                        {.argument_names = {"x"}});
    save_package(file(name), fast, x);
    PackageContents contents = read_package(file(name)).front();
    contents.instruction_set = set;
    write_package({contents}, file(name));
  }
  static float first(const Package& package) {
    return package(full({2, 3}, 1.0F))[0].to_vector<float>().front();
  }

  const Setting setting_{"TILEWRIGHT_CPU", nullptr};
  const Tensor weights_ = full({4096}, 0.0F);
  const Tensor x_ = ramp({2, 3});
  const std::size_t best_ = best_instruction_set();

 private:
  ScratchFolder folder_;
};

TEST_F(PackageTargetsTest, RunTheBestThatTheProcessorHas) {
  if (best_ + 1 >= instruction_sets.size()) return;  // it has one
  save("worst.twp", 2, x_, "sse");
  save("best.twp", 3, x_, instruction_sets[best_]);
  merge_packages({file("worst.twp"), file("best.twp")}, file("both.twp"));
  const Package both = load_package(file("both.twp"));
  EXPECT_EQ(both.instruction_sets(),
            (std::vector<std::string>{std::string(instruction_sets[best_]), "sse"}));
  EXPECT_EQ(both.instruction_set(), instruction_sets[best_]);
  EXPECT_EQ(first(both), 3);
  expect_contains(both.text(),
                  concat("for processors with ", instruction_sets[best_],
                         ", sse, of which this is the code for ", instruction_sets[best_], "\n"));
  const Package worst = load_package(file("both.twp"), {.instruction_set = "sse"});
  EXPECT_EQ(worst.instruction_set(), "sse");
  EXPECT_EQ(first(worst), 2);
  {
    const Setting setting("TILEWRIGHT_CPU", "sse");
    EXPECT_EQ(first(load_package(file("both.twp"))), 2);
    EXPECT_EQ(first(load_package(file("both.twp"),
                                 {.instruction_set = std::string(instruction_sets[best_])})),
              3);
  }
  // The best that is there, where it lacks what was asked for.
  for (std::size_t place = best_; place + 1 < instruction_sets.size(); ++place)
    EXPECT_EQ(first(load_package(file("worst.twp"),
                                 {.instruction_set = std::string(instruction_sets[place])})),
              2);
}

TEST_F(PackageTargetsTest, SayWhichInstructionSetsTheyLack) {
  if (best_ + 1 >= instruction_sets.size()) return;
  save("best.twp", 3, x_, instruction_sets[best_]);
  EXPECT_EQ(error_of([&] { load_package(file("best.twp"), {.instruction_set = "sse"}); }),
            concat("[load_package] ", file("best.twp"), ": its code is for processors with ",
                   instruction_sets[best_],
                   ", and no more was asked for than sse; package the model with "
                   "TILEWRIGHT_CPU=sse"));
  EXPECT_EQ(error_of([&] { load_package(file("best.twp"), {.instruction_set = "z80"}); }),
            concat("[load_package] ", file("best.twp"),
                   ": PackageLoadOptions::instruction_set is \"z80\", no instruction set; known "
                   "are amx, avx512_bf16, avx512, avx2, sse"));
  const Setting setting("TILEWRIGHT_CPU", "avx1024");
  expect_contains(error_of([&] { load_package(file("best.twp")); }),
                  ": TILEWRIGHT_CPU is \"avx1024\", no instruction set; known are ");
}

TEST_F(PackageTargetsTest, ShareWhatIsEqual) {
  save("a.twp", 2, x_, "avx2");
  save("b.twp", 2, x_, "sse");
  merge_packages({file("b.twp"), file("a.twp")}, file("both.twp"));
  const auto bytes = [&](const char* name) { return std::filesystem::file_size(file(name)); };
  EXPECT_LT(bytes("both.twp"), bytes("a.twp") + 4096);
  const PackageTargets targets = read_package(file("both.twp"), {.verified = true});
  ASSERT_EQ(targets.size(), 2U);
  EXPECT_EQ(targets[0].instruction_set, "avx2");
  EXPECT_EQ(read_file(file("both.twp")), package_bytes(targets));
  // A package that was merged may be merged with more, also in place.
  save("c.twp", 2, x_, "avx512");
  merge_packages({file("both.twp"), file("c.twp")}, file("both.twp"));
  EXPECT_EQ(read_package(file("both.twp")).size(), 3U);
  EXPECT_EQ(read_package(file("both.twp"))[0].instruction_set, "avx512");
}

TEST_F(PackageTargetsTest, ThatDoNotFitTogetherAreErrors) {
  save("a.twp", 2, x_, "avx2");
  save("same.twp", 2, x_, "avx2");
  save("larger.twp", 2, ramp({4, 3}), "sse");
  auto reason = [&](const std::vector<FilePath>& files) {
    return error_of([&] { merge_packages(files, file("out.twp")); });
  };
  EXPECT_EQ(reason({}), "[merge_packages] no package is named");
  EXPECT_EQ(reason({file("a.twp"), file("same.twp")}),
            concat("[merge_packages] ", file("a.twp"), " and ", file("same.twp"),
                   " both have code for processors with avx2; name packages that were made with "
                   "different settings of TILEWRIGHT_CPU"));
  EXPECT_EQ(
      reason({file("a.twp"), file("larger.twp")}),
      concat("[merge_packages] function 0 of ", file("a.twp"),
             " is (x f32 2x3) -> (out.0 f32 2x3), and that of ", file("larger.twp"),
             " is (x f32 4x3) -> (out.0 f32 4x3); package one model, for the same sizes in the "
             "same order"));
  // Another model that takes and gives the same.
  auto third = compile([own = weights_ + 1](const Tensor& t) { return t + own.sum(); },
                       {.argument_names = {"x"}});
  save_package(file("third.twp"), third, x_);
  PackageContents contents = read_package(file("third.twp")).front();
  contents.instruction_set = "sse";
  write_package({contents}, file("third.twp"));
  EXPECT_EQ(reason({file("a.twp"), file("third.twp")}),
            concat("[merge_packages] ", file("a.twp"), " and ", file("third.twp"),
                   " are of different models: they have no weight in common; package one model"));
  // A weight that is wrong in one of them would get a hash that fits.
  std::string bytes = read_file(file("a.twp"));
  bytes.back() ^= 1;
  std::ofstream(file("flipped.twp"), std::ios::binary) << bytes;
  expect_contains(reason({file("flipped.twp"), file("larger.twp")}),
                  "flipped.twp: the hash of blob ");
  EXPECT_FALSE(std::filesystem::exists(file("out.twp")));
}

TEST_F(PackageTargetsTest, AreInOrderAndOfOneFunction) {
  save("a.twp", 2, x_, "avx2");
  const PackageContents avx2 = read_package(file("a.twp")).front();
  PackageContents sse = avx2;
  sse.instruction_set = "sse";
  auto broken = [](const PackageTargets& targets) { return error_of([&] { verify(targets); }); };
  EXPECT_EQ(broken({avx2, sse}), "no error");
  EXPECT_EQ(broken({}), "it has no code");
  expect_contains(broken({sse, avx2}), "its code for avx2 comes behind that for sse");
  expect_contains(broken({avx2, avx2}), "its code for avx2 comes behind that for avx2");
  sse.functions.front().outputs.front().name = "other";
  expect_contains(broken({avx2, sse}),
                  "its functions for processors with sse take or give other tensors than those");
}

}  // namespace
}  // namespace tilewright::package_targets_test
