// ONNX models as a stranger would send them: cut off, cyclic, deeply nested, of unknown operators
// and element types, with tensors in files elsewhere, and with numbers that ask for terabytes.
#include <gtest/gtest.h>

#include "runtime/base/error.h"
#include "tests/drills/archives.h"
#include "tests/drills/cases.h"
#include "tests/models/onnx/files.h"

namespace tilewright::drills {
namespace {

using namespace testing::onnx;

void expect_refused(const std::string& bytes) { expect_safe("m.onnx", bytes, Verdict::refused); }

std::string onnx_file() {
  return model(graph_of({{node("Add", {"x", "w"}, {"z"}), node("Relu", {"z"}, {"y"})},
                         {tensor("w", {2}, floats_as_bytes({1, 2}))},
                         {value("x", {"2"})},
                         {value("y", {"2"})}}));
}

TEST(OnnxArchives, AreReadWhereNothingIsWrong) { expect_read("m.onnx", onnx_file()); }

TEST(OnnxArchives, ThatAreCutOffAreRefused) {
  constexpr std::uint64_t places = 40;
  each_case(places, [](std::uint64_t number) {
    const std::string whole = onnx_file();
    expect_refused(whole.substr(0, whole.size() * number / places));
  });
}

// y = an operator of x and of integers that the host knows.
std::string onnx_of(const std::string& op, const std::vector<std::int64_t>& numbers,
                    const std::vector<std::string>& inputs, const std::string& more = "") {
  std::string integers = testing::onnx::numbers(1, {static_cast<std::int64_t>(numbers.size())}) +
                         number(2, is_int64) + testing::onnx::numbers(7, numbers) + bytes(8, "n");
  return model(graph_of(
      {{node(op, inputs, {"y"}, more)}, {integers}, {value("x", {"2"})}, {value("y", {"2"})}}));
}
// A branch in a branch in a branch.
std::string nested(int depth) {
  std::string graph;
  for (int i = 0; i < depth; ++i) {
    graph = bytes(
        1, bytes(4, "If") + bytes(5, bytes(1, "then_branch") + bytes(6, graph) + number(20, 5)));
    if (graph.size() > 4'000'000) break;
  }
  return model(graph);
}

// Tensors that overlap in the file of the model itself.
std::string overlapping() {
  constexpr std::int64_t elements = 1 << 18;
  GraphParts parts{{node("Add", {"x", "x"}, {"y"})}, {}, {value("x", {"2"})}, {value("y", {"2"})}};
  for (std::int64_t i = 0; i < 400; ++i)
    parts.tensors.push_back(
        tensor_elsewhere(concat("w", i), {elements}, "m.onnx", std::to_string(4 * i)));
  return model(graph_of(parts)) + bytes(6, std::string(4 * elements, ' '));
}

std::vector<std::string> hostile_models() {
  const std::int64_t huge = std::int64_t{1} << 40, most = INT64_MAX;
  std::vector<std::string> all;
  for (std::int64_t size : {huge, most, std::int64_t{-3}}) {
    all.push_back(onnx_of("ConstantOfShape", {size}, {"n"}));
    all.push_back(onnx_of("Expand", {size, 2}, {"x", "n"}));
    all.push_back(onnx_of("Tile", {size}, {"x", "n"}));
    all.push_back(onnx_of("Reshape", {size}, {"x", "n"}));
    all.push_back(onnx_of("Pad", {0, size}, {"x", "n"}));
    all.push_back(onnx_of("Gather", {size}, {"x", "n"}));
    all.push_back(onnx_of("Unsqueeze", {size}, {"x", "n"}));
    all.push_back(onnx_of("Split", {size, 2 - size}, {"x", "n"}));
  }
  for (int depth : {50, 1'000, 2'000}) all.push_back(nested(depth));
  for (const char* place : {"../../../../etc/passwd", "/etc/passwd", "m.onnx/../../x", "/dev/zero",
                            "in.safetensors\x1b]0;gone\x07", ".", ""})
    all.push_back(model(graph_of({{node("Add", {"x", "w"}, {"y"})},
                                  {tensor_elsewhere("w", {2}, place)},
                                  {value("x", {"2"})},
                                  {value("y", {"2"})}})));
  for (std::int64_t size : {huge, most, std::int64_t{-1}, std::int64_t{3}})
    for (int dtype : {1, 8, 14, 99, -1})
      all.push_back(model(graph_of({{node("Add", {"x", "w"}, {"y"})},
                                    {tensor("w", {size}, floats_as_bytes({1, 2}), dtype)},
                                    {value("x", {"2"})},
                                    {value("y", {"2"})}})));
  all.push_back(overlapping());
  for (const char* op : {"Novel", "Loop", "Scan", "\x1b]0;gone\x07"})
    all.push_back(onnx_of(op, {1}, {"x", "n"}));
  return all;
}

TEST(OnnxArchives, ThatAskForTooMuchAreRefused) {
  const std::vector<std::string> all = hostile_models();
  each_case(all.size(), [&](std::uint64_t number) { expect_refused(all[number]); });
}

TEST(OnnxArchives, DamagedAtRandomAreSafe) {
  each_case(60, [](std::uint64_t number) {
    Chance chance(number);
    std::string bytes = onnx_file();
    for (std::uint64_t changes = 1 + chance.below(4); changes > 0; --changes) {
      const std::size_t at = chance.below(bytes.size());
      if (chance.below(3) == 0)
        bytes.insert(at, 1, static_cast<char>(chance.below(256)));
      else if (chance.below(3) == 0)
        bytes.erase(at, 1 + chance.below(8));
      else
        bytes[at] = static_cast<char>(chance.below(256));
    }
    expect_safe("m.onnx", bytes, Verdict::either);
  });
}

}  // namespace
}  // namespace tilewright::drills
