#include "runtime/launch_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>

namespace tilewright::launch_table_test {
namespace {

template <typename T>
T read(const std::vector<std::byte>& table, std::size_t at) {
  T value;
  std::memcpy(&value, &table[at], sizeof value);
  return value;
}

TEST(LaunchTable, HasRoomForWhatFitsIntoAParameter) {
  for (std::size_t params : {1, 2, 6, 17, 100})
    for (bool has_sizes : {false, true}) {
      LaunchTable most = LaunchTable::of(params, has_sizes, 1'000'000);
      EXPECT_LE(most.bytes(), LaunchTable::most_bytes);
      EXPECT_GT(most.bytes(), LaunchTable::most_bytes / 2);
      LaunchTable two = LaunchTable::of(params, has_sizes, 2);
      EXPECT_EQ(two.capacity, 2);
      EXPECT_EQ(two.arguments_at() % 8, 0);
    }
  EXPECT_EQ(LaunchTable::of(6, false, 148).capacity, 74);
}

TEST(LaunchTable, SaysWhereEachLaunchBeginsAndItsArguments) {
  LaunchTable table = LaunchTable::of(2, true, 3);
  std::vector<Grid> grids = {Grid(2, 3), Grid(0), Grid(5)};
  std::vector<Argument> arguments(6);
  for (std::size_t i = 0; i < 6; ++i) arguments[i].integer = static_cast<std::int64_t>(10 + i);
  std::vector<std::byte> bytes(static_cast<std::size_t>(table.bytes()));
  table.fill(bytes, grids, arguments.data());
  const std::int32_t begins[] = {0, 6, 6, INT32_MAX};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read<std::int32_t>(bytes, 4 * i), begins[i]);
  auto sizes = static_cast<std::size_t>(table.sizes_at());
  EXPECT_EQ(read<std::int32_t>(bytes, sizes + 4), 3);
  EXPECT_EQ(read<std::int32_t>(bytes, sizes + 24), 5);
  auto values = static_cast<std::size_t>(table.arguments_at());
  for (std::size_t i = 0; i < 6; ++i)
    EXPECT_EQ(read<std::int64_t>(bytes, values + 8 * i), arguments[i].integer);
  EXPECT_EQ(programs_of(grids), 11);
}

// Each launch counts the programs of its own grid, in its own counter.
TEST(LaunchTable, OnTheHostEveryProgramOfEveryLaunchRunsOnce) {
  Artifact artifact;
  artifact.name = "count";
  artifact.params = {{"counters", true, DType::i32}};
  artifact.host = [](const Argument* arguments, const std::int64_t* grid, std::int64_t begin,
                     std::int64_t end, void*) {
    auto* counters = static_cast<std::atomic<int>*>(const_cast<void*>(arguments[0].pointer));
    for (; begin < end && begin < grid[0] * grid[1] * grid[2]; ++begin) ++counters[begin];
  };
  const std::vector<Grid> grids = {Grid(3), Grid(0), Grid(700), Grid(1), Grid(0), Grid(4, 5)};
  for (bool spread : {false, true}) {
    std::vector<std::vector<std::atomic<int>>> counters;
    std::vector<Argument> arguments;
    for (const Grid& grid : grids) {
      counters.emplace_back(static_cast<std::size_t>(grid.count()));
      arguments.push_back({.pointer = counters.back().data()});
    }
    launch(artifact, grids, arguments.data(), spread);
    for (const auto& of_launch : counters)
      for (const auto& count : of_launch) EXPECT_EQ(count, 1);
  }
}

}  // namespace
}  // namespace tilewright::launch_table_test
