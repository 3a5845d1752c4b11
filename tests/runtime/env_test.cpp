#include "runtime/base/env.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "runtime/base/error.h"
#include "tests/errors.h"
#include "tests/setting.h"

namespace tilewright::env_test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::Not;

TEST(Env, IntegersAreReadAtEachCallAndEmptyWhereUnset) {
  Setting unset("TILEWRIGHT_SEED", nullptr);
  EXPECT_FALSE(env::seed().has_value());
  Setting set("TILEWRIGHT_SEED", "-12");
  EXPECT_EQ(env::seed(), -12);
  Setting changed("TILEWRIGHT_SEED", "9000000000");
  EXPECT_EQ(env::seed(), 9000000000);
}

TEST(Env, AnIntegerThatIsNoneNamesTheVariableAndTheValue) {
  for (const char* bad : {"abc", "4x", "", " 4", "99999999999999999999"}) {
    Setting set("TILEWRIGHT_THREADS", bad);
    if (std::string(bad).empty()) {
      EXPECT_FALSE(env::threads().has_value()) << "an empty value counts as unset";
      continue;
    }
    try {
      env::threads();
      FAIL() << "no error for " << bad;
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), concat("[TILEWRIGHT_THREADS] the value is \"", bad,
                                        "\"; an integer would be right")
                                     .c_str());
    }
  }
}

TEST(Env, AFlagIsNothingButZeroOrOne) {
  Setting unset("TILEWRIGHT_SYNC", nullptr);
  EXPECT_FALSE(env::sync());
  Setting one("TILEWRIGHT_SYNC", "1");
  EXPECT_TRUE(env::sync());
  Setting zero("TILEWRIGHT_SYNC", "0");
  EXPECT_FALSE(env::sync());
  for (const char* bad : {"2", "-1", "yes", "01"}) {
    Setting set("TILEWRIGHT_SYNC", bad);
    EXPECT_EQ(error_of(env::sync),
              concat("[TILEWRIGHT_SYNC] the value is \"", bad, "\"; 0 or 1 would be right"));
  }
}

TEST(Env, OffIsAWordInAnyCase) {
  for (const char* word : {"off", "OFF", "Off"}) EXPECT_TRUE(env::is_off(word));
  for (const char* word : {"", "on", "offf", "of", "o\x66\xe6"}) EXPECT_FALSE(env::is_off(word));
}

TEST(Env, ListsAreSplitAtCommasWithoutEmptyWords) {
  Setting set("TILEWRIGHT_SKIP_PASSES", "simplify,,dead_code,");
  EXPECT_THAT(env::skip_passes(), ElementsAre("simplify", "dead_code"));
  Setting unset("TILEWRIGHT_SKIP_PASSES", nullptr);
  EXPECT_TRUE(env::skip_passes().empty());
}

TEST(Env, AMisspeltVariableIsFoundAndKnownOnesAreNot) {
  Setting misspelt("TILEWRIGHT_THREAD", "4"), known("TILEWRIGHT_THREADS", "4"),
      foreign("TILEWRIGH_T", "1");
  EXPECT_THAT(env::unknown_variables(), Contains("TILEWRIGHT_THREAD"));
  EXPECT_THAT(env::unknown_variables(), Not(Contains("TILEWRIGHT_THREADS")));
  EXPECT_THAT(env::unknown_variables(), Not(Contains("TILEWRIGH_T")));
}

TEST(Env, EveryVariableOfTheTableIsNamedOnceAndExplained) {
  std::set<std::string_view> names;
  for (const env::Row& row : env::rows()) {
    bool is_shared = row.variable == "HOME" || row.variable == "XDG_CACHE_HOME" ||
                     row.variable == "NVTX_INJECTION64_PATH";
    EXPECT_TRUE(is_shared || row.variable.starts_with("TILEWRIGHT_")) << row.variable;
    EXPECT_TRUE(names.insert(row.variable).second) << row.variable << " stands twice";
    EXPECT_FALSE(row.meaning.empty() || row.unset.empty()) << row.variable;
  }
}

// Runs in a process of its own, because the warning comes once a process.
TEST(EnvDeathTest, TheFirstReadWarnsOnceOfUnknownVariables) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Setting misspelt("TILEWRIGHT_TREADS", "4");
  EXPECT_EXIT(
      {
        env::seed();
        env::seed();
        std::exit(0);
      },
      testing::ExitedWithCode(0),
      "^tilewright: unknown environment variables are ignored: TILEWRIGHT_TREADS\n$");
}

}  // namespace
}  // namespace tilewright::env_test
