// The rates of each schedule are PyTorch's over 300 steps. Numbers: tools/schedule_cases.py.
#include "tools/training/schedule_rates.h"

#include <gtest/gtest.h>

#include "tests/source_folder.h"
#include "tools/training/reference.h"

namespace tilewright::schedule_rates_test {
namespace {

TEST(Schedules, HavePyTorchsRates) {
  const auto all = tools::read_json(source_folder() / "tests/models/training/schedules.json");
  EXPECT_EQ(all.size(), 33U);
  for (const auto& [name, entry] : all.items()) {
    const tools::RateComparison found = tools::compared_rates(entry);
    EXPECT_LE(found.rates, 1e-12) << name;
    EXPECT_LE(found.momentum, 1e-12) << name;
    EXPECT_EQ(found.plans, 1U) << name;
  }
}

}  // namespace
}  // namespace tilewright::schedule_rates_test
