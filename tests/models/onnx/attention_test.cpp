// Attention as exporters write it to ONNX files: products, a mask of places, a softmax.
#include <gtest/gtest.h>

#include <set>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::attention_test {
namespace {

using namespace testing::onnx;

std::string one(std::string_view name, std::int64_t value) {
  return number(2, is_int64) + numbers(7, {value}) + bytes(8, name);
}
std::string list(std::string_view name, std::int64_t value) {
  return numbers(1, {1}) + one(name, value);
}

// Each of x, [batch, 2, length, 4], looks at those before it.
std::string causal_model() {
  return model(
      graph_of({{node("Transpose", {"x"}, {"turned"}, integers("perm", {0, 1, 3, 2})),
                 node("MatMul", {"x", "turned"}, {"products"}),
                 node("Mul", {"products", "half"}, {"scaled"}), node("Shape", {"x"}, {"sizes"}),
                 node("Gather", {"sizes", "two"}, {"length"}),
                 node("Range", {"zero", "length", "one"}, {"places"}),
                 node("Unsqueeze", {"places", "last"}, {"rows"}),
                 node("LessOrEqual", {"places", "rows"}, {"seen"}),
                 node("Where", {"seen", "nothing", "lowest"}, {"mask"}),
                 node("Add", {"scaled", "mask"}, {"masked"}),
                 node("Softmax", {"masked"}, {"weights"}, attribute("axis", -1)),
                 node("MatMul", {"weights", "x"}, {"y"})},
                {tensor("half", {}, floats_as_bytes({0.5F})),
                 tensor("nothing", {}, floats_as_bytes({0})),
                 tensor("lowest", {}, floats_as_bytes({-3.4028235e38F})), one("zero", 0),
                 one("one", 1), one("two", 2), list("last", 1)},
                {value("x", {"batch", "2", "length", "4"})},
                {value("y", {"batch", "2", "length", "4"})}}),
      17);
}

TEST(OnnxAttention, IsOneRegionForManySizes) {
  ScratchFolder folder;
  const auto module = load_onnx(folder.write("model.onnx", causal_model()));
  auto compiled = compile(*module, {.dynamic = Dynamic::always, .device = Device::cpu()});
  std::set<std::string> programs;
  for (auto [batch, length] :
       std::initializer_list<std::pair<std::int64_t, std::int64_t>>{{2, 70}, {3, 81}, {4, 99}}) {
    const Tensor x = sin(ramp({batch, 2, length, 4}));
    const Tensor wanted = scaled_dot_product_attention(x, x, x, {.causal = true});
    EXPECT_LE(relative_difference(compiled({x})[0].to_vector<float>(), wanted.to_vector<float>()),
              2e-6);
  }
  for (const PlanReport& plan : compiled.report()) {
    ASSERT_EQ(plan.regions.size(), 1);
    EXPECT_EQ(plan.regions[0].kind, "attention");
    programs.insert(plan.regions[0].key);
  }
  EXPECT_EQ(programs.size(), 1);
}

}  // namespace
}  // namespace tilewright::attention_test
