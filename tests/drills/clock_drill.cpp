// Clocks that are wrong: a calendar of 1902 or 2200, clocks that stand still or race. Commands end,
// and no row is lost on account of the date.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/preload.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

const char* const clocks[] = {"at -2145916800",   // 1902
                              "at 0",             // 1970
                              "at 2147483646",    // a second before the end of 32 bits
                              "at 4102444801",    // 2100
                              "at 7258118400",    // 2200
                              "at 253402300801",  // 10000
                              "at 946684799",     // 1999
                              "frozen",
                              "times 1000"};

bool has_tuned_rows(const Lines& lines) {
  return std::ranges::any_of(
      lines, [](const std::string& line) { return line.find(tuned_kernel) != std::string::npos; });
}

TEST(Clocks, ThatAreWrongLoseNoRows) {
  const std::vector<Words> commands = {tune_words(),
                                       {"db", "import", "new.jsonl"},
                                       {"db", "list"},
                                       {"db", "history"},
                                       {"db", "verify"},
                                       generate_words(),
                                       {"db", "report", "--out", "page.html"}};
  each_case(std::size(clocks) * commands.size(), [&](std::uint64_t number) {
    const char* clock = clocks[number / commands.size()];
    const Words& words = commands[number % commands.size()];
    SCOPED_TRACE(concat(clock, ", ", words[0], " ", words[1]));
    Workplace place;
    bool is_tuning = words[0] == "tune";
    if (is_tuning) {
      EXPECT_EQ(run(place.command(words)).status, 0);
    }
    Outcome outcome = run(with_clock(place.command(words), clock));
    expect_answer(outcome, 1 << 20);
    // A date that no row can have is a reason not to keep one, and no reason to lose others.
    if (!is_tuning) {
      EXPECT_EQ(outcome.status, 0) << outcome.text();
    }
    if (is_tuning) {
      EXPECT_TRUE(has_tuned_rows(lines_in(place.path() / "tuning.db"))) << outcome.text();
    }
    expect_usable(place.path());
  });
}

}  // namespace
}  // namespace tilewright::drills
