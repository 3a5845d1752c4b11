#include "autotune/database/row/device_record.h"

#include <gtest/gtest.h>

#include "autotune/database/row/compiler_record.h"

namespace tilewright::autotune::device_record_test {
namespace {

TEST(DeviceRecord, TheHostIsTheSameEachTimeAndOtherWithOtherThreads) {
  const dsl::Target& target = dsl::host_target();
  Record host = host_record(target, 2);
  EXPECT_EQ(host, host_record(target, 2));
  EXPECT_NE(host, host_record(target, 4));
  EXPECT_EQ(*host.find("features"), target.features);
  EXPECT_EQ(host.integer("threads"), 2);
  EXPECT_FALSE(host.find("name")->empty());
  EXPECT_NE(host, host_record(dsl::target_named("sse"), 2));
}

TEST(DeviceRecord, AGpuIsKnownByWhatItsDriverTells) {
  dsl::Target target = dsl::target_named("sm_90a");
  Record gpu = gpu_record(target, "NVIDIA H200", 132, 150'000'000'000);
  EXPECT_EQ(gpu.text(),
            "architecture=sm_90a kind=gpu memory_bytes=150000000000 multiprocessors=132 "
            "name=NVIDIA%20H200");
}

TEST(CompilerRecord, NamesVersionLlvmAndSources) {
  const Record& compiler = compiler_record();
  EXPECT_EQ(compiler.fields().size(), 3U);
  EXPECT_EQ(*compiler.find("version"), "0.1.0");
  EXPECT_EQ(compiler.find("sources")->size(), 16U);
  EXPECT_TRUE(compiler.find("llvm")->starts_with("22."));
}

}  // namespace
}  // namespace tilewright::autotune::device_record_test
