// Compiled functions on a driver that fails: the error names the failed call, and the next call
// gives the right result.
#include <gmock/gmock.h>

#include <optional>

#include "graph/compile/compile.h"
#include "runtime/cuda/context.h"
#include "runtime/cuda/driver/error.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"

namespace tilewright::compiled_faults_test {
namespace {

using cuda::FakeDriver;
using cuda::Result;
using testing::AnyOf;
using testing::HasSubstr;

constexpr std::int64_t for_ever = 1'000'000;

Tensor ramp(const Shape& shape) {
  std::vector<float> elements(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < elements.size(); ++i)
    elements[i] = 0.01F * static_cast<float>(i % 89) - 0.4F;
  return Tensor::from(elements, shape);
}

// A function of two regions and the tensors around it, which can be asked for its work again after
// that has failed anywhere. Between the steps it takes most of a segment of the pool, so that each
// step that needs memory asks the driver.
class Session {
 public:
  explicit Session(Mode mode) : mode_(mode) {}

  void work() {
    if (!weight_) weight_ = ramp({32, 48}).to(Device::cuda());
    take_ballast();
    if (!fast_)
      fast_ = compile([w = *weight_](const Tensor& x) { return softmax(relu(linear(x, w)), -1); },
                      {.mode = mode_});
    for (std::int64_t rows : {4, 4, 40}) {
      Tensor x = ramp({rows, 48});
      Tensor on_device = x.to(Device::cuda());
      take_ballast();
      Tensor y = (*fast_)(on_device);
      take_ballast();
      std::vector<float> got = y.to_vector<float>(),
                         wanted = softmax(relu(linear(x, ramp({32, 48}))), -1).to_vector<float>();
      for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-5) << i;
    }
  }

 private:
  void take_ballast() { ballast_.push_back(ramp({250'000}).to(Device::cuda())); }
  Mode mode_;
  std::vector<Tensor> ballast_;
  std::optional<Tensor> weight_;
  std::optional<Compiled> fast_;
};

class CompiledFaults : public testing::TestWithParam<Mode> {};
INSTANTIATE_TEST_SUITE_P(In, CompiledFaults, testing::Values(Mode::default_, Mode::reduce_overhead),
                         [](const auto& test) {
                           return test.param == Mode::default_ ? "default" : "reduce_overhead";
                         });

TEST_P(CompiledFaults, MemoryThatIsShortFromOneAllocationOn) {
  std::int64_t nth = 1;
  for (;; ++nth) {
    SCOPED_TRACE(concat("allocation ", nth));
    ASSERT_LT(nth, 50);
    FakeDriver fake;
    Session session(GetParam());
    fake.fail("cuMemAlloc", nth, Result::out_of_memory, for_ever);
    bool fails = false;
    try {
      session.work();
    } catch (const OutOfMemory& error) {
      fails = true;
      EXPECT_THAT(error.what(), HasSubstr("has no memory for "));
      EXPECT_THAT(error.what(), HasSubstr(" are in use"));
    }
    if (!fails && fake.calls("cuMemAlloc") < nth) break;
    EXPECT_TRUE(fails);
    fake.fail_nothing();
    session.work();
  }
  EXPECT_GE(nth, 4) << "few allocations could fail";
}

TEST_P(CompiledFaults, AKernelThatFaultsIsNamed) {
  for (std::int64_t nth = 1;; ++nth) {
    SCOPED_TRACE(concat("kernel ", nth));
    ASSERT_LT(nth, 50);
    FakeDriver fake;
    Session session(GetParam());
    fake.fault_at_kernel(nth);
    std::string error = error_of([&] { session.work(); });
    if (error == "no error" && fake.kernels_run() < nth) return;
    EXPECT_THAT(error, HasSubstr("the context is lost"));
    // A graph is named with all of its kernels.
    EXPECT_THAT(error, GetParam() == Mode::default_ ? HasSubstr("the latest first: tw_")
                                                    : HasSubstr("the latest first: a graph of "));
    EXPECT_THAT(error, HasSubstr("tw_"));
    EXPECT_THROW(session.work(), cuda::ContextLost);
  }
}

TEST_P(CompiledFaults, CallsOfTheDriverMayFailOnTheWay) {
  for (const char* function :
       {"cuLinkCreate", "cuLinkAddData", "cuLinkComplete", "cuModuleLoadData",
        "cuModuleGetFunction", "cuFuncSetAttribute", "cuMemHostAlloc", "cuMemcpyHtoDAsync",
        "cuMemcpyDtoHAsync", "cuLaunchKernelEx", "cuGraphCreate", "cuGraphAddKernelNode",
        "cuGraphInstantiateWithFlags", "cuGraphUpload", "cuGraphLaunch",
        "cuGraphExecKernelNodeSetParams", "cuEventRecord", "cuStreamSynchronize"})
    for (std::int64_t nth = 1;; ++nth) {
      SCOPED_TRACE(concat("call ", nth, " of ", function));
      ASSERT_LT(nth, 100);
      FakeDriver fake;
      Session session(GetParam());
      fake.fail(function, nth, Result::unknown);
      std::string error = error_of([&] { session.work(); });
      if (fake.calls(function) < nth) break;
      EXPECT_THAT(error, AnyOf("no error", HasSubstr("CUDA_ERROR_UNKNOWN (999)")));
      fake.fail_nothing();
      session.work();
    }
}

TEST(CompiledReplays, ManyTakeNothing) {
  FakeDriver fake;
  Tensor state = Tensor::from(std::vector<float>(8, 0), {8}).to(Device::cuda());
  Compiled step = compile(
      [state](const Tensor& x) mutable {
        state.copy_from(state + x);
        return state * 2;
      },
      {.mode = Mode::reduce_overhead});
  Tensor one = Tensor::from(std::vector<float>(8, 1), {8});
  auto steps = [&](int count) {
    for (int i = 0; i < count; ++i) step(one.to(Device::cuda()));
  };
  steps(100);
  std::string live = fake.leaks();
  std::int64_t used = cuda::context(0).pool().statistics().used_bytes;
  steps(10'000);
  EXPECT_EQ(state.to_vector<float>(), std::vector<float>(8, 10'100));
  EXPECT_EQ(fake.leaks(), live);
  EXPECT_EQ(cuda::context(0).pool().statistics().used_bytes, used);
}

}  // namespace
}  // namespace tilewright::compiled_faults_test
