// Kernels of a GPU in a trace, on the fake driver.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "runtime/trace.h"
#include "tests/cuda/fake_driver.h"

namespace tilewright::timeline_test {
namespace {

std::int64_t kernels_of(const std::vector<TraceTotal>& totals) {
  std::int64_t count = 0;
  for (const TraceTotal& total : totals)
    if (total.kind == "kernel") {
      EXPECT_EQ(total.track, "cuda:0");
      EXPECT_GT(total.seconds, 0) << total.name;
      count += total.count;
    }
  return count;
}

TEST(CudaTimeline, EveryKernelIsTimedAlsoThoseOfGraphs) {
  cuda::FakeDriver fake;
  Tensor x = Tensor::from(std::vector<float>(64, 1), {8, 8}).to(Device::cuda());
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    Compiled fast =
        compile([](const Tensor& x) { return softmax(matmul(x, x), 1); }, {.mode = mode});
    std::vector<float> wanted = fast(x).to_vector<float>();
    std::int64_t launches = fast.report()[0].launches;
    start_trace();
    EXPECT_EQ(fast(x).to_vector<float>(), wanted);
    fast(x);
    EXPECT_EQ(kernels_of(trace_totals()), 2 * launches) << name_of(mode);
    stop_trace();
  }
}

}  // namespace
}  // namespace tilewright::timeline_test
