// Text from a model that lies on a GPU, on the fake driver: a round of steps is one graph, and the
// host waits once for it.
#include "models/generate/generate.h"

#include <gtest/gtest.h>

#include "models/decoder/decoder.h"
#include "tests/cuda/fake_driver.h"

namespace tilewright::generate_test {
namespace {

using cuda::FakeDriver;

constexpr const char* words = R"({"model":{"type":"BPE","unk_token":"a","merges":[],
    "vocab":{"a":0,"b":1,"c":2,"d":3,"e":4,"f":5,"g":6,"h":7,"i":8,"j":9,"k":10,"l":11}},
    "decoder":{"type":"Fuse"}})";

DecoderConfig small_config() {
  DecoderConfig config = decoder_config("tiny");
  config.layers = 1;
  config.bos = 11;
  return config;
}

Generation generated(const Device& device, const Options& options, const GenerateOptions& wanted) {
  auto model = random_decoder(small_config(), 8, {.device = device});
  return TextGenerator(*model, Tokenizer::parse(words, "words"), options).generate("acb", wanted);
}

TEST(CudaGenerate, TakesARoundOfStepsForOneWait) {
  for (Mode mode : {Mode::default_, Mode::reduce_overhead}) {
    FakeDriver fake;
    auto model = random_decoder(small_config(), 8, {.device = Device::cuda()});
    TextGenerator generator(*model, Tokenizer::parse(words, "words"), {.mode = mode});
    GenerateOptions wanted{.max_new_tokens = 27};
    Generation once = generator.generate("acb", wanted);
    std::int64_t waits = fake.calls("cuStreamSynchronize"), graphs = fake.calls("cuGraphLaunch");
    Generation again = generator.generate("acb", wanted);
    waits = fake.calls("cuStreamSynchronize") - waits;
    graphs = fake.calls("cuGraphLaunch") - graphs;
    EXPECT_EQ(again.ids, once.ids);
    EXPECT_EQ(again.ids, generated(Device::cpu(), {}, wanted).ids);
    EXPECT_EQ(again.decode_steps, 26);
    // Three pieces of the prompt and four rounds.
    EXPECT_EQ(waits, 3 + 4);
    EXPECT_EQ(graphs, mode == Mode::default_ ? 0 : 3 + 4);
  }
}

TEST(CudaGenerate, StopsWithinARound) {
  Generation free = generated(Device::cpu(), {}, {.max_new_tokens = 27});
  GenerateOptions wanted{.max_new_tokens = 27, .stop_tokens = {free.ids.at(8)}};
  Generation cut = generated(Device::cpu(), {}, wanted);
  ASSERT_EQ(cut.finish, Finish::stop);
  FakeDriver fake;
  Generation on_gpu = generated(Device::cuda(), {.mode = Mode::reduce_overhead}, wanted);
  EXPECT_EQ(on_gpu.ids, cut.ids);
  EXPECT_EQ(on_gpu.finish, Finish::stop);
  EXPECT_EQ(on_gpu.decode_steps, cut.decode_steps);
}

// A model that moves to the GPU between two texts.
TEST(CudaGenerate, FollowsTheModel) {
  FakeDriver fake;
  auto model = random_decoder(small_config(), 8);
  TextGenerator generator(*model, Tokenizer::parse(words, "words"));
  GenerateOptions wanted{.max_new_tokens = 9, .steps_a_round = 3};
  Generation on_host = generator.generate("acb", wanted);
  model->to(Device::cuda());
  EXPECT_EQ(generator.generate("acb", wanted).ids, on_host.ids);
  EXPECT_GT(fake.kernels_run(), 0);
}

}  // namespace
}  // namespace tilewright::generate_test
