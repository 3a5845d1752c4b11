#include "models/files/tree.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"

namespace tilewright::json_tree_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(JsonTree, GivesTheElementsOfAListOneByOneAndKeepsNone) {
  std::vector<std::string> seen;
  json::Node root =
      json::read_tree(R"({"a": {"list": [{"list": [1]}, 2, []]}, "b": {"x": 1, "y": [2]}, "c": 3})",
                      "t", "w", {.nodes = 8}, {},
                      {{"a/list",
                        [&](std::string_view key, const json::Node& node) {
                          seen.push_back(concat(key, ":", describe(node)));
                        }},
                       {"b", [&](std::string_view key, const json::Node& node) {
                          seen.push_back(concat(key, ":", describe(node)));
                        }}});
  EXPECT_THAT(seen, ElementsAre(":an object", ":2", ":an array", "x:1", "y:an array"));
  EXPECT_TRUE(root.find("a")->find("list")->items.empty());
  EXPECT_TRUE(root.find("b")->members.empty());
  EXPECT_EQ(root.find("c")->scalar.integer, 3);
}

TEST(JsonTree, BoundsEachElementByItself) {
  auto read = [](const std::string& text) {
    return error_of([&] {
      json::read_tree(text, "t", "w", {.nodes = 5}, {},
                      {{"a", [](std::string_view, const json::Node&) {}}});
    });
  };
  EXPECT_EQ(read(R"({"a": [[1, 2], [1, 2], [1, 2], [1, 2]]})"), "no error");
  EXPECT_THAT(read(R"({"a": [[1, 2, 3, 4]]})"), HasSubstr("more than 5 JSON values"));
  EXPECT_THAT(read(R"({"a": {"x": 1, "x": 2}})"), HasSubstr("\"x\" appears twice"));
}

}  // namespace
}  // namespace tilewright::json_tree_test
