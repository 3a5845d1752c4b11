// The test programs whose tests run on the device that TILEWRIGHT_DEVICE names, as one program that
// can be carried to a machine with a GPU (tools/pack_gpu_check.sh).
//
//   TILEWRIGHT_DEVICE=cuda:0 device_tests --gtest_filter=...
//   TILEWRIGHT_DEVICE=cuda:0 device_tests --fake-gpu      the same on the driver of tests/cuda
#include <gtest/gtest.h>

#include <optional>
#include <string_view>

#include "tests/cuda/fake_driver.h"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  std::optional<tilewright::cuda::FakeDriver> fake;
  if (argc > 1 && std::string_view(argv[1]) == "--fake-gpu")
    fake.emplace(
        tilewright::cuda::FakeOptions{.devices = {{.memory_bytes = std::size_t{4} << 30}}});
  return RUN_ALL_TESTS();
}
