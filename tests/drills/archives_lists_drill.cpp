// ONNX models of long chains of views, which must take linear time.
#include <gtest/gtest.h>

#include <functional>

#include "runtime/base/error.h"
#include "tests/drills/archives.h"
#include "tests/drills/cases.h"
#include "tests/models/onnx/files.h"

namespace tilewright::drills {
namespace {

using namespace testing::onnx;

std::string constant(const std::string& name, const std::vector<std::int64_t>& values) {
  return numbers(1, {static_cast<std::int64_t>(values.size())}) + number(2, is_int64) +
         numbers(7, values) + bytes(8, name);
}
std::string long_chain(const std::function<std::string(int, std::string, std::string)>& link) {
  constexpr int count = 60'000;
  std::vector<std::string> nodes;
  for (int i = 0; i < count; ++i)
    nodes.push_back(link(i, i == 0 ? "x" : concat("v", i - 1),
                         i == count - 1 ? std::string("y") : concat("v", i)));
  return model(graph_of(
      {nodes,
       {constant("one", {2}), constant("two", {2, 1}), constant("zero", {0}), constant("end", {2})},
       {value("x", {"2"})},
       {bytes(1, "y") + bytes(2, bytes(1, number(1, is_float)))}}));
}

TEST(OnnxLists, OfViewsTakeLinearTime) {
  using Strings = std::vector<std::string>;
  const std::function<std::string(int, std::string, std::string)> all[] = {
      [](int i, const std::string& from, const std::string& to) {
        return node("Reshape", Strings{from, i % 2 == 0 ? "two" : "one"}, Strings{to});
      },
      [](int, const std::string& from, const std::string& to) {
        return node("Slice", Strings{from, "zero", "end"}, Strings{to});
      },
      [](int i, const std::string& from, const std::string& to) {
        return node(i % 2 == 0 ? "Unsqueeze" : "Squeeze", Strings{from, "zero"}, Strings{to});
      },
      [](int i, const std::string& from, const std::string& to) {
        return i % 2 == 0 ? node("Reshape", Strings{from, "two"}, Strings{to})
                          : node("Flatten", Strings{from}, Strings{to});
      },
  };
  each_case(std::size(all), [&](std::uint64_t number) {
    expect_safe("m.onnx", long_chain(all[number]), Verdict::either);
  });
}

}  // namespace
}  // namespace tilewright::drills
