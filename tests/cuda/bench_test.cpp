// The benches of a device at tiny sizes, on the fake driver and on the host.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/cuda/driver/error.h"
#include "tests/cuda/fake_driver.h"
#include "tests/errors.h"
#include "tools/bench/section.h"

namespace tilewright::tools {

// Beside the type, where GoogleTest looks for it.
static void PrintTo(const Section& section, std::ostream* stream) { *stream << section.name; }

}  // namespace tilewright::tools
namespace tilewright::tools::bench_test {
namespace {

using cuda::FakeDriver;

BenchSettings tiny(const Device& device) {
  BenchSettings settings;
  settings.device = device;
  settings.tiny = true;
  settings.rounds = 2;
  settings.quiet = true;
  return settings;
}

class Benches : public testing::TestWithParam<Section> {};
INSTANTIATE_TEST_SUITE_P(Sections, Benches, testing::ValuesIn(bench_sections()),
                         [](const auto& info) { return std::string(info.param.name); });

void expect_good(const BenchLog& log) {
  for (const nlohmann::json& row : log.rows()) {
    EXPECT_TRUE(row["ok"].get<bool>()) << row.dump(2);
    EXPECT_GT(row.value("seconds", 0.0), 0) << row.dump(2);
  }
}

TEST_P(Benches, RunOnAGpu) {
  FakeDriver fake;
  BenchLog log(GetParam().name, tiny(Device::cuda()));
  EXPECT_NO_THROW(GetParam().run(log)) << fake.fault();
  EXPECT_FALSE(log.rows().empty());
  expect_good(log);
}

TEST_P(Benches, RunOnTheHost) {
  BenchLog log(GetParam().name, tiny(Device::cpu()));
  GetParam().run(log);
  expect_good(log);
}

class BenchFile : public testing::Test {
 protected:
  ~BenchFile() override { std::filesystem::remove(path_); }
  std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> rows;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) rows.push_back(nlohmann::json::parse(line));
    return rows;
  }
  BenchSettings settings() const {
    BenchSettings settings = tiny(Device::cuda());
    settings.append = path_;
    return settings;
  }
  std::string path_ = (std::filesystem::temp_directory_path() /
                       concat("tilewright_bench_test_", ::getpid(), ".jsonl"))
                          .string();
};

const auto good = [] { return nlohmann::json{{"seconds", 1e-6}}; };

TEST_F(BenchFile, AFaultCostsOneCase) {
  {
    FakeDriver fake;
    BenchLog log("gemm", settings());
    log.run("first", good);
    log.run("second", []() -> nlohmann::json { raise_error("is wrong"); });
    EXPECT_THROW(log.run("third", []() -> nlohmann::json { throw cuda::ContextLost("lost"); }),
                 cuda::ContextLost);
    EXPECT_FALSE(log.all_ok());
  }
  FakeDriver fake;
  BenchLog log("gemm", settings());
  int calls = 0;
  for (const char* name : {"first", "second", "third", "fourth"})
    log.run(name, [&] {
      ++calls;
      return good();
    });
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(log.rows().size(), 1U);
  EXPECT_EQ(lines().size(), 8U);  // for each a line that it begins
}

TEST_F(BenchFile, ACaseThatEndedItsProcessIsNotTriedAgain) {
  std::ofstream(path_) << R"({"section":"gemm","case":"first","system":"tilewright","begins":true})"
                       << "\n";
  FakeDriver fake;
  BenchLog log("gemm", settings());
  log.run("first", good);
  ASSERT_EQ(log.rows().size(), 1U);
  EXPECT_EQ(log.rows()[0]["note"], "an earlier process ended in this case");
}

TEST_F(BenchFile, WhatTheTimeDidNotSufficeForIsNamed) {
  FakeDriver fake;
  BenchSettings late = settings();
  late.budget_s = -1;
  BenchLog log("gemm", late);
  log.run("first", good);
  EXPECT_EQ(log.rows().at(0)["note"], "no time was left");
  BenchLog again("gemm", settings());
  again.run("first", good);
  EXPECT_EQ(again.rows().at(0)["seconds"], 1e-6);
}

}  // namespace
}  // namespace tilewright::tools::bench_test
