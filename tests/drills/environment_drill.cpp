// Every variable of the environment with values that nobody should give it, and other languages. A
// run gives its result, or ends with a sentence that names the variable; so does help.
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

struct Variable {
  const char* name;
  const char* type;
};

constexpr Variable variables[] = {
#define TILEWRIGHT_ENV(getter, name, type, effect, default_meaning, meaning) {name, #type},
#include "runtime/base/env.def"
#undef TILEWRIGHT_ENV
};

std::string value(std::uint64_t number) {
  switch (number) {
    case 0: return "";
    case 1: return "x";
    case 2: return "-1";
    case 3: return "99999999999999999999";
    case 4: return "\x1b]0;gone\x07\xff";
    case 5: return "none/none/none";
    case 6: return ",0x1 ,,";
    default: return std::string(100'000, 'a');
  }
}
constexpr std::uint64_t values = 8;
const char* const locales[] = {
    "LC_ALL=C",    "LC_ALL=POSIX", "LC_ALL=C.UTF-8", "LC_ALL=de_DE.UTF-8",    "LC_ALL=tr_TR.UTF-8",
    "LC_ALL=none", "LANG=fr_FR",   "TZ=none/none",   "LC_NUMERIC=de_DE.UTF-8"};
// An unknown word in one of these must be reported: silently ignored, it would do nothing.
const std::vector<std::string> told = {
    "TILEWRIGHT_THREADS",     "TILEWRIGHT_CPU",        "TILEWRIGHT_DEVICE",
    "TILEWRIGHT_SKIP_PASSES", "TILEWRIGHT_STOP_AFTER", "TILEWRIGHT_DUMP",
    "TILEWRIGHT_SYNC",        "TILEWRIGHT_CHECK",      "TILEWRIGHT_TUNE"};

void expect_result_or_name(const Outcome& outcome, const std::string& name) {
  expect_answer(outcome, 1 << 20);
  if (outcome.status == 0) {
    EXPECT_TRUE(has_said_ids(outcome)) << outcome.text();
    return;
  }
  EXPECT_NE(outcome.err.find(name), std::string::npos) << "it names no " << name << outcome.text();
}

TEST(Environment, WithBadValuesIsToldByName) {
  constexpr std::uint64_t settings = std::size(variables) * values;
  each_case(settings + std::size(locales), [](std::uint64_t number) {
    Workplace place;
    std::string name, setting;
    if (number < settings) {
      name = variables[number / values].name;
      setting = name + "=" + value(number % values);
    } else {
      setting = locales[number - settings];
      name = setting.substr(0, setting.find('='));
    }
    SCOPED_TRACE(setting.substr(0, 80));
    Command command = place.command(generate_words());
    command.settings.push_back(setting);
    Outcome outcome = run(command);
    expect_result_or_name(outcome, name);
    if (number >= settings) {
      EXPECT_EQ(outcome.status, 0) << outcome.text();
    }
    bool must_be_told =
        number < settings && number % values == 1 && std::ranges::find(told, name) != told.end();
    if (must_be_told) {
      EXPECT_NE(outcome.err.find(name), std::string::npos) << "not a word: " << outcome.text();
    }
    Command help = place.command({"--help"});
    help.settings.push_back(setting);
    Outcome helped = run(help);
    expect_answer(helped);
    EXPECT_TRUE(helped.status == 0 || helped.err.find(name) != std::string::npos) << helped.text();
    expect_usable(place.path());
  });
}

}  // namespace
}  // namespace tilewright::drills
