// Streams that are closed, full or broken: a failed write shows in the status, and a missing stream
// stops no work. And signals: a run ends at once, and leaves the database in order.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

const std::vector<Words>& commands() {
  static const std::vector<Words> all = {
      {"--help"},
      {"--version"},
      {"db", "list"},
      {"db", "show", "--format", "json"},
      {"db", "stats"},
      {"db", "verify"},
      {"db", "import", "new.jsonl"},
      {"db", "export", "out.jsonl"},
      {"opt", "program.tile"},
      {"ptx", "program.tile"},
      {"tune", "--list"},
      {"generate", "model", "--prompt", "abc", "--max-tokens", "6"},
      {"generate", "model", "--prompt", "abc", "--max-tokens", "6", "--json"},
      {"explain", "model", "--json"},
  };
  return all;
}

enum class Way { full, closed, closed_errors, closed_input, all_closed, ways };

TEST(Streams, ThatTakeNothingAreToldByTheStatus) {
  constexpr auto ways = static_cast<std::uint64_t>(Way::ways);
  each_case(commands().size() * ways, [](std::uint64_t number) {
    const Words& words = commands()[number / ways];
    Way way = static_cast<Way>(number % ways);
    Workplace place;
    Command command = place.command(words);
    if (way == Way::full) command.out = "/dev/full";
    if (way == Way::closed || way == Way::all_closed) command.out = "-";
    if (way == Way::closed_errors || way == Way::all_closed) command.err = "-";
    if (way == Way::closed_input || way == Way::all_closed) command.in = "-";
    SCOPED_TRACE(words[0] + " " + words.back());
    Outcome outcome = run(command);
    expect_orderly(outcome);
    if (way == Way::full || way == Way::closed || way == Way::all_closed) {
      EXPECT_EQ(outcome.status, 1) << outcome.text();
    } else {
      EXPECT_EQ(outcome.status, 0) << outcome.text();
      EXPECT_FALSE(outcome.out.empty());
    }
    if (way == Way::full) {
      EXPECT_FALSE(outcome.err.empty());
    }
    expect_usable(place.path());
  });
}

TEST(Streams, WhoseReaderGoesEndTheRun) {
  each_case(3, [](std::uint64_t number) {
    Workplace place;
    const Words pipes = {"db show --format json", "tune --list", "--help"};
    Command command = place.command({});
    command.words = {"/bin/sh", "-c", "\"$0\" " + pipes[number] + " | true", command.words[0]};
    expect_orderly(run(command));
    expect_usable(place.path());
  });
}

TEST(Signals, EndARunAtOnceAndLeaveTheDatabaseInOrder) {
  const std::vector<Words> running = {
      {"db", "import", "new.jsonl"},
      {"tune", "--keep", "--trials", "50", "--seconds", "2", "layer_norm of 768"},
      {"generate", "model", "--prompt", "abc", "--max-tokens", "60"},
      {"generate", "model", "--prompt", "abc", "--mode", "max-autotune", "--max-tokens", "6"},
  };
  constexpr int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
  each_case(64, [&](std::uint64_t number) {
    Workplace place;
    Child child(place.command(running[number % 4]));
    child.attend(0.01 + 0.05 * static_cast<double>(number / 16));
    int signal = signals[number / 4 % 4];
    child.send(signal);
    bool has_ended = child.attend(5);
    EXPECT_TRUE(has_ended) << "signal " << signal << " did not end it";
    child.end_group();
    Outcome outcome = child.wait();
    EXPECT_TRUE(outcome.status == 0 || outcome.signal == signal) << outcome.text();
    expect_usable(place.path());
  });
}

}  // namespace
}  // namespace tilewright::drills
