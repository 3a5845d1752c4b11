// Windows of ONNX models that reach beyond the tensor (ceil_mode): what ONNX Runtime gives for
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "tests/errors.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::pooling_test {
namespace {

using namespace testing::onnx;
using Floats = std::vector<float>;

struct Windows {
  std::int64_t kernel, stride, pad;
  bool counts_padding = false;
};

class OnnxWindows : public ::testing::Test {
 protected:
  std::unique_ptr<OnnxModule> load(const char* op, const Windows& w) {
    std::string attributes = integers("kernel_shape", {w.kernel}) +
                             integers("strides", {w.stride}) + integers("pads", {w.pad, w.pad}) +
                             attribute("ceil_mode", 1);
    if (w.counts_padding) attributes += attribute("count_include_pad", 1);
    return load_onnx(
        folder_.write("model.onnx", model(graph_of({{node(op, {"x"}, {"y"}, attributes)},
                                                    {},
                                                    {value("x", {"1", "2", "3"})},
                                                    {value("y", {"1", "2", "n"})}}),
                                          19)));
  }
  void expect(const char* op, const Windows& windows, const Floats& right) {
    SCOPED_TRACE(concat(op, " of ", windows.kernel, ", stride ", windows.stride));
    auto module = load(op, windows);
    auto near = ::testing::Pointwise(::testing::FloatNear(1e-5F), right);
    EXPECT_THAT(module->forward({x_})[0].to_vector<float>(), near);
    EXPECT_THAT(compile(*module)({x_})[0].to_vector<float>(), near);
  }
  ScratchFolder folder_;
  Tensor x_ = Tensor::from(Floats{1, 5, 2, 4, -3, 6}, {1, 2, 3});
};

TEST_F(OnnxWindows, MayBeOneThatReachesOverEverything) {
  for (const Windows& w : {Windows{4, 2, 0}, Windows{6, 2, 1}}) {
    expect("AveragePool", w, {8.F / 3, 7.F / 3});
    expect("MaxPool", w, {5, 6});
    expect("LpPool", w, {5.477226F, 7.81025F});
  }
  expect("AveragePool", {6, 2, 1, true}, {1.6F, 1.4F});
}

TEST_F(OnnxWindows, AreNoneThatBeginBehindTheTensor) {
  expect("AveragePool", {2, 3, 0}, {3, 0.5});
  expect("AveragePool", {2, 2, 1}, {1, 3.5, 4, 1.5});
  expect("MaxPool", {2, 2, 1}, {1, 5, 4, 6});
  expect("LpPool", {2, 2, 1}, {1, 5.3851647F, 4, 6.708204F});
  for (std::int64_t stride : {3, 4})
    for (const char* op : {"AveragePool", "MaxPool", "LpPool"}) expect(op, {1, stride, 0}, {1, 4});
}

TEST_F(OnnxWindows, FitOrAreRefused) {
  auto module = load("MaxPool", {4, 1, 0});
  expect_contains(error_of([&] { module->forward({x_}); }), "windows of [4] do not fit [1x2x3]");
}

}  // namespace
}  // namespace tilewright::pooling_test
