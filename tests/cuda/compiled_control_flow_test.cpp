// Control flow and operations of the user's own in compiled functions on a GPU.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/functions/control/control_flow.h"
#include "graph/functions/custom/custom_op.h"
#include "tests/cuda/fake_driver.h"
#include "tests/tensors.h"

namespace tilewright::compiled_control_flow_test {
namespace {

using cuda::FakeDriver;

// Loops and choices, whose conditions the host reads: they run in graphs that cannot hold them.
TEST(CudaCompile, ControlFlowComputesWhatTheHostDoes) {
  FakeDriver fake;
  auto function = [](const std::vector<Tensor>& t) {
    auto cell = [&](const std::vector<Tensor>& state, const std::vector<Tensor>& x) -> Turn {
      Tensor next = tanh(matmul(state[0], t[2]) + x[0]);
      return {{next}, {next * 2.0}};
    };
    auto [last, all] = scan(cell, {t[0]}, {t[1]});
    std::vector<Tensor> halved =
        while_loop([](const std::vector<Tensor>& s) { return amax(abs(s[0])) > 0.01; },
                   [](const std::vector<Tensor>& s) {
                     return std::vector<Tensor>{s[0] * 0.5, s[1] + 1};
                   },
                   {last[0], zeros({1}, i64).to(t[0].device())});
    std::vector<Tensor> one = cond(
        sum(t[0]) > 0.0, [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] + 1}; },
        [](const std::vector<Tensor>& x) { return std::vector<Tensor>{x[0] * 3.0}; }, {all[0]});
    return std::vector<Tensor>{last[0], all[0], halved[0], halved[1].to(f32), one[0]};
  };
  for (float sign : {1.0F, -1.0F}) {
    std::vector<Tensor> host = {ramp({3, 16}, 0.1F * sign), ramp({5, 3, 16}), ramp({16, 16})};
    std::vector<Tensor> there;
    for (const Tensor& tensor : host) there.push_back(tensor.to(Device::cuda()));
    std::vector<Tensor> wanted = function(host);
    for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
      auto fast = compile(function, {.mode = mode});
      for (int call = 0; call < 2; ++call) {
        std::vector<Tensor> got = fast(there);
        ASSERT_EQ(got.size(), wanted.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          expect_near(got[i].to(Device::cpu()), wanted[i]);
      }
    }
  }
}

// C++ of the user's works on copies in the host's memory, and the first operand is given back too.
TEST(CudaCompile, CustomOpsOfTheHostAreCalledBetweenLaunches) {
  FakeDriver fake;
  const auto like_first = [](std::span<const TensorType> x) {
    return std::vector<TensorType>{x[0]};
  };
  const CustomOp reversed = custom_op(
      "reversed", like_first,
      BufferFunction([](std::span<const BufferView> operands, std::span<const BufferView> results) {
        std::ranges::reverse_copy(operands[0].elements<const float>(),
                                  results[0].elements<float>().begin());
      }));
  const CustomOp doubled = custom_op(
      "doubled", like_first,
      BufferFunction([](std::span<const BufferView>, std::span<const BufferView> results) {
        for (float& x : results[0].elements<float>()) x *= 2;
      }),
      {.writes = {0}});
  auto function = [&](const Tensor& x, const Tensor& state) {
    Tensor back = reversed(x + 1.0) * 3.0;
    doubled(state);
    return back + sum(state);
  };
  Tensor x = ramp({20, 7}), host_state = ramp({5}), wanted = function(x, host_state);
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    auto fast = compile(function, {.mode = mode});
    for (int call = 0; call < 3; ++call) {
      Tensor state = ramp({5}).to(Device::cuda());
      expect_near(fast(x.to(Device::cuda()), state).to(Device::cpu()), wanted);
      expect_near(state.to(Device::cpu()), host_state);
    }
  }
}

}  // namespace
}  // namespace tilewright::compiled_control_flow_test
