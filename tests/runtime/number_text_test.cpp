#include "runtime/base/text/number_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <limits>

namespace tilewright::number_text_test {
namespace {

TEST(NumberText, IsWhatPrintfGivesInTheCLocale) {
  char text[512];
  for (double value : {0.0, -1.5, 3073.9024, 1e-9, 123456789.0, 1e300, 2.5}) {
    for (int digits : {0, 1, 3}) {
      std::snprintf(text, sizeof text, "%.*f", digits, value);
      EXPECT_EQ(fixed_text(value, digits), text);
    }
    std::snprintf(text, sizeof text, "%g", value);
    EXPECT_EQ(general_text(value), text);
  }
  EXPECT_EQ(general_text(std::numeric_limits<double>::infinity()), "inf");
}

}  // namespace
}  // namespace tilewright::number_text_test
