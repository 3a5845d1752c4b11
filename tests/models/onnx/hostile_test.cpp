// ONNX files whose numbers are meant to do harm: sums and products of them that leave 64 bits, axes
// that are not there, files that are read again and again. Each is an Error, at once and compiled.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "graph/compile/compile.h"
#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/models/onnx/files.h"
#include "tests/scratch_folder.h"

namespace tilewright::hostile_test {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using namespace testing::onnx;

std::string error_of(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

struct Case {
  std::string node;
  std::vector<std::int64_t> numbers;  // the tensor "i"
  Shape x;
  const char* says;
};

void expect_errors(const Case& c) {
  ScratchFolder folder;
  const std::vector<std::int64_t> count = {std::ssize(c.numbers)};
  std::vector<std::string> axes;
  for (int axis = 0; axis < c.x.rank(); ++axis) axes.push_back(concat("axis", axis));
  auto module = load_onnx(folder.write(
      "model.onnx",
      model(graph_of(
                {{c.node},
                 {numbers(1, count) + number(2, is_int64) + numbers(7, c.numbers) + bytes(8, "i"),
                  numbers(1, {1}) + number(2, is_int64) + numbers(7, {1}) + bytes(8, "one")},
                 {value("x", axes)},
                 {value("y", {"b"})}}),
            18)));
  const Tensor x = ones(c.x);
  EXPECT_THAT(error_of([&] { module->forward({x}); }), ContainsRegex(c.says)) << c.node;
  const auto fast = compile(*module);
  EXPECT_THAT(error_of([&] { fast({x}); }), ContainsRegex(c.says)) << c.node;
}

constexpr std::int64_t large = std::int64_t{1} << 62;
constexpr const char* too_large = "too many|2.63";

TEST(HostileOnnx, SizesThatLeave64BitsAreErrors) {
  const std::string pad = node("Pad", {"x", "i"}, {"y"});
  expect_errors({pad, {large, 0}, {4}, too_large});
  expect_errors({pad, {large, large}, {4}, too_large});
  expect_errors({pad, {INT64_MAX - 2, INT64_MAX - 2}, {4}, too_large});
  expect_errors({pad, {0, large / 2, 0, 0}, {4, 4}, too_large});
  expect_errors({pad, {large / 4, large / 4, 0, 0}, {2, 2}, too_large});
  const std::string crop = node("CenterCropPad", {"x", "i"}, {"y"});
  for (std::int64_t size : {INT64_MAX, large, INT64_MIN}) {
    expect_errors({crop, {size, 4}, {4, 4}, too_large});
  }
}

TEST(HostileOnnx, SquaresThatAre0In64BitsAreErrors) {
  for (std::int64_t block : {std::int64_t{1} << 32, large, INT64_MAX})
    expect_errors({node("DepthToSpace", {"x"}, {"y"}, attribute("blocksize", block)),
                   {0},
                   {1, 4, 2, 1},
                   "less than 2.31"});
}

TEST(HostileOnnx, RanksFromDataAreBounded) {
  const char* too_many = "axes; at most 64";
  for (std::size_t axes : {65, 5000})
    for (const char* op : {"Reshape", "Expand"}) {
      const std::vector<std::int64_t> ones_of(axes, 1);
      expect_errors({node(op, {"x", "i"}, {"y"}), ones_of, {1}, too_many});
    }
  expect_errors(
      {node("ConstantOfShape", {"i"}, {"y"}), std::vector<std::int64_t>(65, 1), {1}, too_many});
  // Numbers of the host, of which there is one.
  expect_errors(
      {node("Reshape", {"one", "i"}, {"y"}), std::vector<std::int64_t>(65, 1), {1}, too_many});
}

TEST(HostileOnnx, AxesOfScalarsAreErrors) {
  const std::string domain = bytes(7, "ai.onnx.ml");
  expect_errors({node("ArrayFeatureExtractor", {"x", "i"}, {"y"}, domain),
                 {0},
                 {},
                 "x is a scalar; it must have an axis"});
}

// 2,000 weights of a body do not repeat the name of its node, of 1 MB.
TEST(HostileOnnx, LongNamesOfNodesAreCut) {
  ScratchFolder folder;
  GraphParts then{{node("Relu", {"x"}, {"p"})}, {}, {}, {bytes(1, "p")}};
  for (int i = 0; i < 2000; ++i)
    then.tensors.push_back(tensor(concat("w", i), {1}, std::string(4, '\0')));
  auto branch = [](std::string_view name, const GraphParts& parts) {
    return bytes(5, bytes(1, name) + bytes(6, bytes(2, "inner") + graph_of(parts)) + number(20, 5));
  };
  GraphParts other{{node("Relu", {"x"}, {"p"})}, {}, {}, {bytes(1, "p")}};
  const std::string content =
      model(graph_of({{node("If", {"c"}, {"y"},
                            bytes(3, std::string(1 << 20, 'n')) + branch("then_branch", then) +
                                branch("else_branch", other))},
                      {},
                      {value("x", {"2"}), value("c", {}, 9)},
                      {value("y", {"2"})}}));
  auto module = load_onnx(folder.write("model.onnx", content));
  const auto state = module->state();
  EXPECT_EQ(state.size(), 2000U);
  for (const auto& [name, tensor] : state) ASSERT_LE(name.size(), 300U);
}

// 200 names for all of a file of 4 MiB are one tensor, and parts of it that overlap are few.
TEST(HostileOnnx, OtherFilesAreNotReadWithoutEnd) {
  ScratchFolder folder;
  folder.write("w.bin", std::string(4 << 20, '\0'));
  auto file = [&](int count, bool overlaps) {
    GraphParts parts{{node("Relu", {"x"}, {"y"})}, {}, {value("x", {"2"})}, {value("y", {"2"})}};
    for (int i = 0; i < count; ++i)
      parts.tensors.push_back(tensor_elsewhere(concat("w", i), {(1 << 20) - (overlaps ? i : 0)},
                                               "w.bin", overlaps ? std::to_string(4 * i) : "0"));
    return folder.write("model.onnx", model(graph_of(parts)));
  };
  auto module = load_onnx(file(200, false));
  EXPECT_EQ(module->forward({ones({2})})[0].to_vector<float>(), (std::vector<float>{1, 1}));
  EXPECT_THAT(error_of([&] { load_onnx(file(200, true)); }), HasSubstr("they overlap too often"));
}

}  // namespace
}  // namespace tilewright::hostile_test
