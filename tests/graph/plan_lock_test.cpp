// Plans that are written down and kept to.
#include "graph/tune/plan_lock.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "autotune/measure/child.h"
#include "graph/compile/compile.h"
#include "graph/tensor/functional.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"
#include "tests/grouped_locale.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::graph::plan_lock_test {
namespace {

using tilewright::Mode;

using ::testing::HasSubstr;

std::vector<float> noise(std::size_t count) {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> result(count);
  for (float& element : result) element = uniform(random);
  return result;
}

struct PlanLockTest : ::testing::Test {
  std::filesystem::path file = std::filesystem::path(::testing::TempDir()) /
                               ("plan_" + std::to_string(::getpid()) + "_" +
                                ::testing::UnitTest::GetInstance()->current_test_info()->name());
  Tensor x = Tensor::from(noise(60 * 700), {60, 700}), w = Tensor::from(noise(96 * 700), {96, 700});
  static Tensor model(const Tensor& x, const Tensor& w) {
    return softmax(gelu(linear(x, w)), -1) + sum(x, {1}, true);
  }
  ~PlanLockTest() override { std::filesystem::remove(file); }

  std::vector<float> run(Options options) {
    options.device = Device::cpu();
    auto fast = compile(&PlanLockTest::model, options);
    return fast(x, w).to_vector<float>();
  }
  std::string text() const {
    std::ostringstream out;
    out << std::ifstream(file).rdbuf();
    return out.str();
  }
  void replace(const std::string& from, const std::string& to) {
    std::string all = text();
    ASSERT_NE(all.find(from), std::string::npos) << from << "\n" << all;
    all.replace(all.find(from), from.size(), to);
    write_sealed(all);
  }
  // With the checksum of what is before the last line.
  void write_sealed(const std::string& all) const {
    std::size_t end = all.rfind("\nend ") + 1, at = all.rfind("checksum ") + 9;
    Hasher lines;
    std::istringstream before(all.substr(0, end));
    for (std::string line; std::getline(before, line);) lines.add(line);
    std::ofstream(file) << all.substr(0, at) << lines.finish().hex() << "\n";
  }
  std::string error_when_locked(const Options& also = {}) {
    Options options = also;
    options.locked_plan = file.string();
    return error_of([&] { run(options); });
  }
};

TEST_F(PlanLockTest, NoLocaleOfTheProgramChangesAPlan) {
  std::vector<float> first = run({.write_plan = file.string()});
  std::string usual = text();
  GroupedLocale german;
  std::filesystem::path other = file;  // plans of one process are added to a file
  file += ".german";
  EXPECT_EQ(run({.write_plan = file.string()}), first);
  EXPECT_EQ(text(), usual);
  std::filesystem::remove(other);
  EXPECT_EQ(run({.locked_plan = file.string()}), first);
}

TEST_F(PlanLockTest, SaysWhatWasChosenAndGivesTheSameBits) {
  std::vector<float> first = run({.write_plan = file.string()});
  EXPECT_THAT(text(), HasSubstr("tilewright plan 2\ncompiler "));
  EXPECT_THAT(text(), HasSubstr("plan f32 60x700, f32 96x700\n  region "));
  EXPECT_THAT(text(), HasSubstr(" asked nothing used rows="));
  EXPECT_THAT(text(), HasSubstr("precision=ieee"));
  EXPECT_EQ(run({.locked_plan = file.string()}), first);
  EXPECT_EQ(run({.mode = Mode::max_autotune, .locked_plan = file.string()}), first);
}

// Each process has searched by itself before it keeps to the plan, and has its own number of
// threads. This one compiles nothing, so that none finds anything compiled.
TEST_F(PlanLockTest, GivesTheSameBitsInTwentyProcesses) {
  Tensor a = Tensor::from(noise(8 * 4096), {8, 4096}),
         b = Tensor::from(noise(4096 * 64), {4096, 64});
  auto bits = [&](const Options& options, const char* threads) {
    ScratchFolder folder;
    Setting cache("TILEWRIGHT_CACHE_DIR", folder.path().c_str());
    Setting count("TILEWRIGHT_THREADS", threads);
    autotune::ChildResult child = autotune::run_in_child(
        [&] {
          auto product = [&](const Options& how) {
            auto fast = compile([](const Tensor& x, const Tensor& y) { return matmul(x, y); }, how);
            return fast(a, b).to_vector<float>();
          };
          if (!options.locked_plan.empty())
            product({.mode = Mode::max_autotune, .device = Device::cpu(), .tune_seconds = 0.05});
          std::vector<float> result = product(options);
          return std::string(reinterpret_cast<const char*>(result.data()),
                             result.size() * sizeof(float));
        },
        {.seconds = 60});
    EXPECT_EQ(child.end, autotune::ChildEnd::done) << child.text;
    return child.text;
  };
  Options options{.device = Device::cpu(), .tune_seconds = 0.05, .write_plan = file.string()};
  std::string chosen = bits(options, "2");
  // Added in another order than the rules choose.
  std::string sizes = text().substr(text().find("asked"));
  sizes = sizes.substr(0, sizes.find(" precision"));
  std::string other =
      sizes.ends_with("splits=2") ? "rows=8 columns=64 splits=1" : "rows=8 columns=64 splits=2";
  replace(sizes, "asked " + other + " used " + other);
  options.mode = Mode::max_autotune;
  options.locked_plan = std::exchange(options.write_plan, {});
  std::string kept = bits(options, "2");
  ASSERT_EQ(kept.size(), 8 * 64 * sizeof(float));
  EXPECT_FALSE(kept == chosen);
  for (int i = 1; i < 20; ++i)
    ASSERT_TRUE(bits(options, i % 2 == 0 ? "1" : "2") == kept) << "process " << i;
}

TEST_F(PlanLockTest, KeepsToSizesThatNoRuleWouldChoose) {
  run({.write_plan = file.string()});
  std::string line = text().substr(text().find("asked nothing used"));
  line = line.substr(0, line.find(" precision"));
  replace(line, "asked rows=3 used" + line.substr(18));
  EXPECT_THAT(error_when_locked(), HasSubstr("asked rows=3 used rows=3"));  // used: others
}

// One file has the plans of a whole process, some of whose functions may round products to tf32.
TEST_F(PlanLockTest, KeepsFunctionsApartThatDifferInPrecision) {
  Tensor a = Tensor::from(noise(32 * 64), {32, 64}), b = Tensor::from(noise(64 * 48), {64, 48});
  auto rows = [](const Tensor& y) { return softmax(y, -1); };
  auto product = [&](const Tensor& x, const Tensor& y) { return rows(matmul(rows(x), y)); };
  auto attention = [](const Tensor& x) {
    Tensor heads = x.reshape({1, 2, 16, 64});
    return scaled_dot_product_attention(heads, heads, heads, {});
  };
  auto all = [&](Options options) {
    options.device = Device::emulated("sm_80");
    std::vector<std::vector<float>> results;
    for (MatmulPrecision precision : {MatmulPrecision::highest, MatmulPrecision::high}) {
      options.matmul_precision = precision;
      auto multiply = compile(product, options);
      auto attend = compile(attention, options);
      results.push_back(multiply(a, b).to_vector<float>());
      results.push_back(attend(a).to_vector<float>());
    }
    return results;
  };
  auto written = all({.write_plan = file.string()});
  EXPECT_NE(written[0], written[2]);
  EXPECT_NE(written[1], written[3]);
  EXPECT_THAT(text(), HasSubstr("precision=tf32"));
  EXPECT_EQ(all({.locked_plan = file.string()}), written);
}

TEST_F(PlanLockTest, RefusesToBeAnythingElse) {
  run({.write_plan = file.string()});
  std::string whole = text();
  auto restored = [&] { std::ofstream(file) << whole; };
  Tensor wide = Tensor::from(noise(60 * 800), {60, 800});
  auto other = compile([](const Tensor& t) { return relu(t) * 3; },
                       {.device = Device::cpu(), .locked_plan = file.string()});
  EXPECT_THAT(error_of([&] { other(wide); }), HasSubstr("has no region"));
  replace("llvm=", "llvm=9");
  EXPECT_THAT(error_when_locked(), HasSubstr("another compiler: llvm is 9"));
  restored();
  replace("kind=host", "kind=gpu");
  EXPECT_THAT(error_when_locked(), HasSubstr("of another device: kind is gpu there"));
  restored();
  replace("tilewright plan 2", "tilewright plan 1");
  EXPECT_THAT(error_when_locked(), HasSubstr("line 1: a plan begins with"));
  restored();
  replace("used rows=", "used rows=x");
  EXPECT_THAT(error_when_locked(), HasSubstr("is not a number"));
  restored();
  std::ofstream(file) << whole.substr(0, whole.rfind("end "));
  EXPECT_THAT(error_when_locked(), HasSubstr("the file was cut"));
  restored();
  replace("precision=ieee", "precision=tf32");
  EXPECT_THAT(error_when_locked(), HasSubstr("precision=tf32"));
  std::filesystem::remove(file);
  EXPECT_THAT(error_when_locked(), HasSubstr("cannot read"));
  EXPECT_THAT(error_when_locked({.write_plan = "x"}), HasSubstr("written or kept to"));
}

TEST_F(PlanLockTest, RefusesAFileThatWasEditedOrHasMore) {
  run({.write_plan = file.string()});
  std::string whole = text();
  auto error_of_text = [&](const std::string& all) {
    std::ofstream(file) << all;
    return error_when_locked();
  };
  auto with = [&](const std::string& from, const std::string& to) {
    std::string all = whole;
    return all.replace(all.find(from), from.size(), to);
  };
  EXPECT_EQ(error_of_text(whole), "no error");
  EXPECT_THAT(error_of_text(with("precision=ieee  ", "precision=ieee  relu ")),
              HasSubstr("the file was edited"));
  EXPECT_THAT(error_of_text(with("plan f32 60x700", "plan f32 61x700")),
              HasSubstr("the file was edited"));
  EXPECT_THAT(error_of_text(with("asked nothing", "asked rows=1000000000000")),
              HasSubstr("is above 1073741824"));
  EXPECT_THAT(error_of_text(with("asked nothing", "asked rows=-1")), HasSubstr("is below 0"));
  EXPECT_THAT(error_of_text(with("asked nothing", "asked tail=-2")), HasSubstr("is below -1"));
  EXPECT_THAT(error_of_text(with("asked nothing", "asked cluster=9")), HasSubstr("is above 8"));
  EXPECT_THAT(error_of_text(with("  region ", "  reason ")), HasSubstr("neither a plan, a region"));
  EXPECT_THAT(error_of_text(whole + "more\n"), HasSubstr("there is text behind the end"));
  EXPECT_THAT(error_of_text(with("plan f32", "plan " + std::string(70'000, 'x'))),
              HasSubstr("it has more than 65536 bytes"));
}

TEST_F(PlanLockTest, RefusesWhatIsNoFile) {
  EXPECT_THAT(error_of([&] { run({.locked_plan = "/dev/zero"}); }),
              HasSubstr("/dev/zero is not a regular file"));
  std::filesystem::path pipe = file.string() + ".pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THAT(error_of([&] { run({.locked_plan = pipe.string()}); }),
              HasSubstr(pipe.string() + " is not a regular file"));
}

}  // namespace
}  // namespace tilewright::graph::plan_lock_test
