// Casts to floats of 8 bits with and without saturation, against ONNX's reference (onnx 1.23).
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "graph/compile/compile.h"
#include "graph/tensor/functional.h"
#include "models/onnx/onnx_module.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::onnx_float8_casts_test {
namespace {

using namespace testing::onnx;

constexpr int f8e4m3fn = 17, f8e4m3fnuz_number = 18, f8e5m2_number = 19;
constexpr float inf = std::numeric_limits<float>::infinity();
constexpr float mark = 0.125F;  // in the place of NaN
using Floats = std::vector<float>;

Floats with_marks(const Tensor& values) {
  return where(values != values, 0.125, values).to_vector<float>();
}

TEST(OnnxFloat8Casts, SaturateAsTheAttributeSays) {
  struct Case {
    int type;
    bool saturates;
    Floats wanted;
  };
  const Floats given = {448, 464, 464.1F, 500, 1e5F, inf, -inf, std::nanf(""), -500, 248};
  const Case cases[] = {
      {f8e4m3fn, true, {448, 448, 448, 448, 448, 448, -448, mark, -448, 256}},
      {f8e4m3fn, false, {448, 448, mark, mark, mark, mark, mark, mark, mark, 256}},
      {f8e5m2_number, true, {448, 448, 448, 512, 57344, 57344, -57344, mark, -512, 256}},
      {f8e5m2_number, false, {448, 448, 448, 512, inf, inf, -inf, mark, -512, 256}},
      {f8e4m3fnuz_number, true, {240, 240, 240, 240, 240, 240, -240, mark, -240, 240}},
      {f8e4m3fnuz_number, false, Floats(10, mark)}};
  ScratchFolder folder;
  for (const Case& each : cases) {
    const std::string cast = node(
        "Cast", {"x"}, {"y"}, attribute("to", each.type) + attribute("saturate", each.saturates));
    const auto module = load_onnx(folder.write(
        "model.onnx", model(graph_of({{cast, node("Cast", {"y"}, {"z"}, attribute("to", is_float))},
                                      {},
                                      {value("x", {"10"})},
                                      {value("z", {"10"})}}),
                            19)));
    const Tensor x = Tensor::from(given, {10});
    EXPECT_EQ(with_marks(module->forward({x})[0]), each.wanted) << each.type << each.saturates;
    EXPECT_EQ(with_marks(compile(*module)({x})[0]), each.wanted) << each.type << each.saturates;
  }
}

}  // namespace
}  // namespace tilewright::onnx_float8_casts_test
