// The n-th call for memory fails, once or from then on: each run ends by itself, in its usual
// result or in an error that names what was being done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/models/folders.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::uint64_t points_a_command = 280;

struct Drilled {
  std::vector<std::string> words;
  bool is_repeatable = true;  // prints the same at each run
};

std::vector<Drilled> drilled_commands() {
  std::vector<Drilled> all = {
      {{"explain", "tiny"}, false},
      {{"opt", "program.tile", "--emit", "asm"}},
      {{"db", "list", "--wide"}},
      {{"tune", "layer_norm of 768", "--trials", "2", "--rounds", "2", "--seconds", "0.1"}, false}};
  if (auto model = testing::trained_model("stories260K"))
    all.push_back({{"generate", model->string(), "--prompt", "Once", "--max-tokens", "4"}});
  return all;
}

class MallocDrill : public ::testing::Test {
 protected:
  MallocDrill() {
    std::ofstream(folder() / "program.tile") << R"(
func @scale(%p: ptr<f32>, %n: i64) {
  %one = constant 1 : i64
  %zero = constant 0 : i64
  %d = make_desc %p, %n, %one : desc<f32, 1>
  %x = load_desc %d, %zero, [64] : f32[64]
  %y = exp %x : f32[64]
  store_desc %d, %y, %zero
}
)";
    Outcome kept = drills::run(tilewright_command(
        folder(), {"tune", "layer_norm of 768", "--keep", "--trials", "2", "--rounds", "2"}));
    require(kept.status == 0, "[drill] no database: ", kept.text());
  }

  std::filesystem::path folder() const { return scratch_.path(); }

  Outcome run(const Drilled& drilled, const std::string& setting) const {
    Command command = tilewright_command(folder(), drilled.words);
    command.settings.push_back("LD_PRELOAD=" TILEWRIGHT_FAILING_MALLOC);
    command.settings.push_back(setting);
    return drills::run(command);
  }

  // Half of the points near the start, where libraries begin, half all over the run.
  long point(std::size_t which, const Drilled& drilled, std::uint64_t number) {
    Usual& usual = usual_[which];
    if (usual.calls == 0) usual = measured(drilled);
    double share = (static_cast<double>(number / 2) + 1) / (points_a_command / 2.0);
    double last = static_cast<double>(usual.calls);
    return std::lround(number % 2 == 0 ? std::pow(last, share) : last * share);
  }

  void drill(std::uint64_t number, const char* how) {
    std::size_t which = number % commands_.size();
    const Drilled& drilled = commands_[which];
    long at = point(which, drilled, number / commands_.size());
    Outcome outcome = run(drilled, concat("DRILL_MALLOC=", at, " ", how));
    SCOPED_TRACE(concat(drilled.words[0], ", call ", at, " ", how, ": ", outcome.text()));
    EXPECT_EQ(outcome.signal, 0);
    EXPECT_FALSE(outcome.is_late);
    if (outcome.status == 0) {
      EXPECT_TRUE(!drilled.is_repeatable || outcome.out == usual_[which].out) << outcome.out;
      return;
    }
    EXPECT_EQ(outcome.status, 1);
    EXPECT_THAT(outcome.err, AnyOf(HasSubstr("out of memory while "), HasSubstr("no memory for "),
                                   HasSubstr("cannot start: out of memory")));
  }

  std::vector<Drilled> commands_ = drilled_commands();

 private:
  struct Usual {
    long calls = 0;
    std::string out;
  };

  Usual measured(const Drilled& drilled) const {
    std::filesystem::path counts = folder() / "counts";
    Outcome outcome = run(drilled, "DRILL_COUNTS=" + counts.string());
    require(outcome.status == 0, "[drill] ", outcome.text());
    std::ifstream file(counts);
    std::string name;
    Usual usual{0, outcome.out};
    file >> name >> usual.calls;
    require(usual.calls > 1000, "[drill] ", drilled.words[0], " asks for memory ", usual.calls,
            " times");
    return usual;
  }

  ScratchFolder scratch_;
  std::map<std::size_t, Usual> usual_;
};

TEST_F(MallocDrill, OneCallThatFailsIsAnErrorThatNamesTheWorkOrChangesNothing) {
  each_case(points_a_command * commands_.size(),
            [this](std::uint64_t number) { drill(number, "once"); });
}

TEST_F(MallocDrill, NoMemoryFromOneCallOnIsAnErrorThatNamesTheWorkOrChangesNothing) {
  each_case(points_a_command * commands_.size(),
            [this](std::uint64_t number) { drill(number, "on"); });
}

}  // namespace
}  // namespace tilewright::drills
