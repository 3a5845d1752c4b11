// Training gives the same bits in each process, and on any number of threads where that is asked.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "autotune/measure/child.h"
#include "graph/compile/compile.h"
#include "graph/differentiating/differentiate.h"
#include "graph/functions/convolving/convolution.h"
#include "graph/functions/creation.h"
#include "graph/functions/reducing/cumulative.h"
#include "runtime/cpu/parallel.h"
#include "tests/every_device.h"
#include "tests/graph/saving/step_programs.h"

namespace tilewright::same_bits_test {
namespace {

using testing_steps::StepProgram;
using testing_steps::Tensors;

struct ThreadCount {
  explicit ThreadCount(int count) : before(thread_count()) { set_thread_count(count); }
  ~ThreadCount() { set_thread_count(before); }
  int before;
};

// Numbers that follow from one that is an argument.
Tensor waves(const Tensor& frequency, const Shape& shape) {
  return sin(arange(0, element_count(shape)).to(f32) * frequency).reshape(shape);
}

// Sums that programs for other numbers of threads would cut otherwise.
TEST(SameBits, OfOperationsOnOneToFourThreads) {
  TILEWRIGHT_ON_THE_HOST_ONLY("a number of threads");
  const std::pair<const char*, std::function<Tensors(const Tensor&)>> programs[] = {
      {"products",
       [](const Tensor& f) {
         return Tensors{matmul(waves(f * 1.7, {3, 4096}), waves(f * 0.9, {4096, 5})),
                        matmul(waves(f * 1.7, {130, 300}), waves(f * 0.9, {300, 70}))};
       }},
      {"sums",
       [](const Tensor& f) {
         const Tensor x = waves(f * 1.7, {1 << 14, 7});
         return Tensors{sum(x), sum(x, {0}), softmax(x, 0), cumsum(x, 0)};
       }},
      {"added rows",
       [](const Tensor& f) {
         const Tensor rows = arange(0, 1 << 15) * 7 % 5;
         return Tensors{zeros({5, 3}, f32).index_add(0, rows, waves(f * 1.7, {1 << 15, 3}))};
       }},
      {"attention",
       [](const Tensor& f) {
         auto loss = [](const Tensor& q, const Tensor& k, const Tensor& v) {
           return sum(sin(scaled_dot_product_attention(q, k, v, {.causal = true})));
         };
         const Shape shape{1, 2, 260, 16};
         const auto [q, k, v] = grad<0, 1, 2>(loss)(waves(f * 1.7, shape), waves(f * 0.9, shape),
                                                    waves(f * 0.3, shape));
         return Tensors{q, k, v};
       }},
      {"convolution", [](const Tensor& f) {
         auto loss = [](const Tensor& x, const Tensor& filters) {
           return sum(sin(conv2d(x, filters)));
         };
         const auto [x, filters] =
             grad<0, 1>(loss)(waves(f * 1.7, {3, 8, 20, 20}), waves(f * 0.9, {8, 8, 3, 3}));
         return Tensors{x, filters};
       }}};
  for (const auto& [name, program] : programs) {
    std::vector<std::vector<float>> first;
    for (int threads : {1, 2, 3, 4}) {
      const ThreadCount count(threads);
      auto fast = compile([&](const Tensor& frequency) { return program(frequency); },
                          {.fullgraph = true, .device = Device::cpu(), .planned_threads = 3});
      std::vector<std::vector<float>> found;
      for (const Tensor& result : fast(full({}, 1.7, f32)))
        found.push_back(result.to_vector<float>());
      if (first.empty()) first = found;
      EXPECT_TRUE(found == first) << name << " on " << threads << " threads";
    }
  }
}

// The bytes of the parameters after so many steps, in a process of its own.
std::string trained(StepProgram (*program)(), int threads, int steps) {
  const autotune::ChildResult child = autotune::run_in_child([&] {
    set_thread_count(threads);
    const StepProgram own = program();
    auto step = compile(own.descent(), {.device = Device::cpu(), .planned_threads = 4});
    for (int i = 0; i < steps; ++i) step(own.data);
    std::string bytes;
    for (const Tensor& parameter : own.parameters) {
      const std::vector<float> values = parameter.to_vector<float>();
      bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    }
    return bytes;
  });
  EXPECT_EQ(child.end, autotune::ChildEnd::done) << child.text;
  return child.text;
}

TEST(SlowSameBits, OfTrainedModelsOnOneToFourThreads) {
  TILEWRIGHT_ON_THE_HOST_ONLY("a number of threads");
  constexpr int steps = 200;
  for (auto program :
       {testing_steps::mlp, testing_steps::cnn, testing_steps::gpt, testing_steps::lstm}) {
    const std::string first = trained(program, 1, steps);
    ASSERT_FALSE(first.empty());
    EXPECT_FALSE(first == trained(program, 1, 1));  // it does train
    for (int threads : {1, 2, 3, 4})
      EXPECT_TRUE(first == trained(program, threads, steps)) << threads << " threads";
  }
}

}  // namespace
}  // namespace tilewright::same_bits_test
