#include "autotune/choice.h"

#include <gtest/gtest.h>

#include "tests/autotune/database/rows.h"

namespace tilewright::autotune::choice_test {
namespace {

struct ChoiceTest : ::testing::Test {
  Space space;
  Point preferred = {0}, other = {1}, third = {2};

  ChoiceTest() { space.choose("rows", {16, 32, 64}); }

  // Samples from (1 - spread) of the time to (1 + spread) of it.
  static Finding finding(const Point& point, double seconds, std::size_t samples = 25,
                         double spread = 0) {
    Finding found{point};
    for (std::size_t i = 0; i < samples; ++i) {
      double at =
          samples == 1 ? 0 : 2.0 * static_cast<double>(i) / static_cast<double>(samples - 1) - 1;
      found.samples.push_back(seconds * (1 + spread * at));
    }
    return found;
  }
  Point choice(const std::vector<Finding>& findings) const {
    return choice_of(space, preferred, rows_of(test_key(), space, preferred, findings));
  }
};

TEST_F(ChoiceTest, StoresTrialsInTheirOrder) {
  std::vector<TuningRow> rows = rows_of(test_key(), space, preferred,
                                        {finding(third, 3e-3), finding(preferred, 1e-3), {other}});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_LT(rows[0].date_ms(), rows[1].date_ms());
  EXPECT_LT(rows[1].date_ms(), rows[2].date_ms());
}

TEST_F(ChoiceTest, KeepsTheDefaultUnlessMoreThanTwoPerCentAreWon) {
  Finding usual = finding(preferred, 1e-3, 15);
  EXPECT_EQ(choice({usual}), preferred);
  EXPECT_EQ(choice({usual, finding(other, 0.985e-3)}), preferred);
  EXPECT_EQ(choice({usual, finding(other, 0.97e-3)}), other);
  EXPECT_EQ(choice({usual, finding(other, 0.97e-3), finding(third, 0.9e-3)}), third);
  EXPECT_EQ(choice({finding(other, 0.5e-3)}), preferred);  // nothing is known of the default
}

TEST_F(ChoiceTest, TakesNoneThatWasNotTimedOnceMore) {
  Finding usual = finding(preferred, 1e-3, 15);
  EXPECT_EQ(choice({usual, finding(other, 0.5e-3, 5)}), preferred);
  EXPECT_EQ(choice({usual, finding(other, 0.5e-3, 15)}), preferred);
  EXPECT_EQ(choice({usual, finding(other, 0.5e-3, 5), finding(third, 0.9e-3)}), third);
}

// The uncertainty is in the ratio of two times: for six tenths it is six tenths of that for the
// whole.
TEST_F(ChoiceTest, KeepsTheDefaultWithinTheNoiseOfTheRatio) {
  Finding usual = finding(preferred, 1e-3);
  EXPECT_EQ(choice({usual, finding(other, 0.9e-3, 25, 0.1)}), other);
  EXPECT_EQ(choice({usual, finding(other, 0.9e-3, 25, 0.95)}), preferred);
  EXPECT_EQ(choice({usual, finding(other, 0.6e-3, 25, 0.95)}), other);
  Finding noisy = finding(preferred, 1e-3, 25, 0.95);
  EXPECT_EQ(choice({noisy, finding(other, 0.9e-3)}), preferred);
  EXPECT_EQ(choice({noisy, finding(other, 0.6e-3)}), other);
}

}  // namespace
}  // namespace tilewright::autotune::choice_test
