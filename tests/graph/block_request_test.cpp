// The table of block sizes, and what follows from it.
#include "graph/lower/blocks/block_request.h"

#include <gmock/gmock.h>

#include <set>
#include <sstream>

#include "graph/lower/lowering.h"
#include "graph/run/plan.h"
#include "tests/errors.h"
#include "tests/graph/captured.h"

namespace tilewright::graph::block_request_test {
namespace {

TEST(BlockSizes, HaveNamesThatKeysOfDatabasesAndPlansKeep) {
  std::vector<std::string_view> names;
  for (const BlockSize& one : all_block_sizes()) names.push_back(one.name);
  names.resize(7);
  EXPECT_THAT(names, testing::ElementsAre("rows", "columns", "piece", "depth", "splits", "cluster",
                                          "tail"));
}

TEST(BlockSizes, HaveNamesAndMembersOfTheirOwn) {
  BlockSizes sizes;
  std::int64_t next = 0;
  for (const BlockSize& one : all_block_sizes()) {
    EXPECT_EQ(block_size_named(one.name), &one);
    sizes.*one.size = ++next;
  }
  next = 0;
  for (const BlockSize& one : all_block_sizes()) EXPECT_EQ(sizes.*one.size, ++next) << one.name;
  EXPECT_EQ(block_size_named("row"), nullptr);
}

TEST(BlockSizes, AreToldIfTheyAreNotZero) {
  EXPECT_EQ(text_of(BlockSizes{}), "nothing");
  EXPECT_EQ(text_of(BlockSizes{.rows = 64, .chunk = 8, .tail = -1}), "rows=64 piece=8 tail=-1");
}

TEST(BlockSizes, AreTunedByLoweringsThatThereAre) {
  std::set<std::string> lowerings, named;
  for (const Lowering* lowering : all_lowerings()) lowerings.emplace(lowering->name);
  for (const BlockSize& one : all_block_sizes()) {
    std::istringstream words{std::string(one.tuned)};
    for (std::string word; words >> word;) {
      EXPECT_TRUE(lowerings.contains(word)) << one.name << ": " << word;
      EXPECT_TRUE(one.is_tuned_by(word));
      named.insert(word);
    }
  }
  EXPECT_EQ(named, (std::set<std::string>{"attention", "custom", "product", "rows"}));
  EXPECT_FALSE(block_size_named("depth")->is_tuned_by("rows"));
  EXPECT_FALSE(block_size_named("rows")->is_tuned_by("row"));
}

TEST(BlockSizes, MayBeAskedForIfTuningTriesThem) {
  for (const BlockSize& one : all_block_sizes()) {
    EXPECT_EQ(why_impossible(one, 0), "") << one.name;
    EXPECT_NE(why_impossible(one, one.least - 1), "") << one.name;
    EXPECT_NE(why_impossible(one, one.most + 1), "") << one.name;
    for (std::int64_t tried : one.tried.list()) EXPECT_EQ(why_impossible(one, tried), "");
    if (one.tried.is_doubling()) {
      EXPECT_EQ(why_impossible(one, one.tried.from), "");
      EXPECT_EQ(why_impossible(one, one.tried.to), "");
    }
    EXPECT_EQ(one.tuned.empty(), one.tried.to == 0 && one.tried.count == 0) << one.name;
  }
}

TEST(BlockSizes, ThatArePossibleAreAllThatAPlanTakes) {
  Graph graph = captured({{8, 8}}, [](std::vector<Tensor>& x) { return std::vector{x[0] + 1}; });
  EXPECT_EQ(error_of([&] { make_plan(graph, {.blocks = {.rows = 3}}); }), "no error");
  EXPECT_THAT(error_of([&] { make_plan(graph, {.blocks = {.rows = -3}}); }),
              testing::HasSubstr("[plan] the block size rows=-3 is below 0"));
  EXPECT_THAT(error_of([&] { make_plan(graph, {.blocks = {.cluster = 16}}); }),
              testing::HasSubstr("[plan] the block size cluster=16 is above 8"));
}

TEST(BlockSizes, OfAProgramAreThoseAskedForUpToAllThereIs) {
  EXPECT_EQ(settled(0, 64, 100), 64);
  EXPECT_EQ(settled(32, 64, 100), 32);
  EXPECT_EQ(settled(128, 64, 100), 100);
  EXPECT_EQ(settled(0, 128, 100), 128);  // the lowering knows why
  EXPECT_EQ(settled(128, 128, 100), 128);
  EXPECT_EQ(settled(200, 128, 100), 128);
  EXPECT_EQ(settled(128, 64), 128);
}

}  // namespace
}  // namespace tilewright::graph::block_request_test
