// One small kernel, launched on the fake driver.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/cuda/launch.h"
#include "tests/cuda/programs.h"
#include "tests/cuda/workload.h"

namespace tilewright::cuda::testing_launch {

class CudaLaunch : public ::testing::Test {
 protected:
  // y = factor x + 1, as a launch of its own.
  std::vector<float> scaled(float factor) {
    Context& gpu = context(0);
    Taken x(gpu, std::vector<float>(128, 1)), y(gpu, std::int64_t{512});
    launch(gpu, *scale, {1}, scale_arguments(x, y, 128, factor).data());
    return y.floats(128);
  }
  std::shared_ptr<const Artifact> scale = artifact_of(scale_program());
};

}  // namespace tilewright::cuda::testing_launch
