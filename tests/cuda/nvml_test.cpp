#include "runtime/cuda/nvml.h"

#include <gmock/gmock.h>

#include "tests/cuda/fake_driver.h"

namespace tilewright::cuda::nvml_test {
namespace {

TEST(Nvml, TellsTheClocksOfTheGpuOnABusAndWhatHoldsThemDown) {
  std::unique_ptr<Nvml> nvml = Nvml::open(TILEWRIGHT_NVML_OF_TESTS);
  ASSERT_NE(nvml, nullptr);
  FakeDriver fake({.devices = {{}, {}}});
  std::string bus = device_facts(0).bus;
  EXPECT_EQ(bus, "0000:f0:00.0");
  std::vector<std::string> throttled;
  for (int i = 0; i < 3; ++i) {
    std::optional<GpuClocks> clocks = nvml->clocks(bus);
    ASSERT_TRUE(clocks.has_value());
    EXPECT_EQ(clocks->sm_mhz, 1980U);
    EXPECT_EQ(clocks->memory_mhz, 2619U);
    throttled.emplace_back(name_of(clocks->throttle));
  }
  EXPECT_THAT(throttled, testing::ElementsAre("power", "thermal", "no"));
  EXPECT_FALSE(nvml->clocks(device_facts(1).bus).has_value());
}

TEST(Nvml, IsNotThereWhereALibraryIsMissingOrAnother) {
  EXPECT_EQ(Nvml::open("libthere_is_none.so.1"), nullptr);
  EXPECT_EQ(Nvml::open("libc.so.6"), nullptr);
}

}  // namespace
}  // namespace tilewright::cuda::nvml_test
