// Compiled models on a GPU: in every mode, moved to a device and back, with weights that are loaded
// onto it.
#include <gtest/gtest.h>

#include <algorithm>

#include "graph/compile/compile.h"
#include "models/decoder/decoder.h"
#include "models/layers/layers.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"
#include "tests/tensors.h"

namespace tilewright::compiled_models_test {
namespace {

using cuda::FakeDriver;

// Greedy ids of a text that begins with `prompt`.
std::vector<std::int64_t> ids_after(Decoder& model, const Options& options, std::int64_t prompt,
                                    int count) {
  auto state = model.new_state();
  Compiled step = compile(
      [&](const Tensor& ids, const Tensor& at) { return model.decode_last(ids, at, *state); },
      options);
  std::vector<std::int64_t> ids{prompt};
  for (int i = 0; i < count; ++i) {
    Tensor logits = step(Tensor::from<std::int64_t>({ids.back()}, {1, 1}),
                         Tensor::from<std::int64_t>({i}, {1}));
    auto values = logits.to_vector<float>();
    ids.push_back(std::ranges::max_element(values) - values.begin());
  }
  return ids;
}

TEST(CudaCompile, ALlamaWritesTheSameInEveryModeOnTheDevice) {
  FakeDriver fake;
  auto host = random_decoder(decoder_config("tiny"), 3);
  std::vector<std::int64_t> wanted = ids_after(*host, {}, 5, 12);
  auto model = random_decoder(decoder_config("tiny"), 3);
  model->to(Device::cuda());
  for (Mode mode : {Mode::default_, Mode::reduce_overhead})
    EXPECT_EQ(ids_after(*model, {.mode = mode}, 5, 12), wanted) << name_of(mode);
  EXPECT_EQ(ids_after(*model, {.backend = Backend::eager}, 5, 3),
            (std::vector<std::int64_t>(wanted.begin(), wanted.begin() + 4)));
}

TEST(CudaCompile, ACompiledModuleGoesToADeviceAndBack) {
  FakeDriver fake;
  Linear layer(16, 8);
  Compiled fast = compile(layer);
  Tensor x = ramp({4, 16});
  Tensor wanted = fast(x);
  Compiled there = fast.to(Device::cuda());
  EXPECT_EQ(layer.weight.device(), Device::cuda());
  Tensor y = there(x.to(Device::cuda()));
  EXPECT_EQ(y.device(), Device::cuda());
  expect_near(y, wanted);
  layer.to(Device::cpu());  // what was compiled follows
  expect_near(there(x), wanted);
}

TEST(CudaCompile, WeightsAreLoadedOntoTheDevice) {
  FakeDriver fake;
  Linear from(16, 8), to(16, 8);
  to.to(Device::cuda());
  to.load(Weights::of(from.state()));
  EXPECT_EQ(to.weight.device(), Device::cuda());
  EXPECT_EQ(to.weight.to_vector<float>(), from.weight.to_vector<float>());
  LayerOptions half{.dtype = bf16};
  Linear narrow(16, 8, true, half);
  narrow.to(Device::cuda());
  narrow.load(Weights::of(to.state()));
  EXPECT_EQ(narrow.weight.to(f32).to_vector<float>(),
            from.weight.to(bf16).to(f32).to_vector<float>());
}

}  // namespace
}  // namespace tilewright::compiled_models_test
