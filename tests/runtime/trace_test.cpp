#include "runtime/trace.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/errors.h"

namespace tilewright {
namespace {

using nlohmann::json;

json written() {
  auto path = std::filesystem::temp_directory_path() / "tilewright_trace_test.json";
  write_trace(path.string());
  std::ifstream file(path);
  json trace = json::parse(file);
  std::filesystem::remove(path);
  return trace;
}

json span_named(const json& trace, const std::string& name) {
  for (const json& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["name"] == name) return event;
  return {};
}

TEST(Trace, SpansHaveTheirTimesKindsAndTracks) {
  start_trace();
  {
    TraceSpan outer("compile", "outer \"quoted\"\n");
    TraceSpan inner("launch", "inner");
  }
  std::thread([] { TraceSpan other("launch", "elsewhere"); }).join();
  add_trace_span("kernel", "gemm", "cuda:0", 1.5, 1.75);
  json trace = written();
  json outer = span_named(trace, "outer \"quoted\" "), inner = span_named(trace, "inner");
  EXPECT_EQ(outer["cat"], "compile");
  EXPECT_LE(outer["ts"], inner["ts"]);
  EXPECT_GE(outer["dur"], inner["dur"]);
  EXPECT_EQ(outer["tid"], inner["tid"]);
  EXPECT_NE(outer["tid"], span_named(trace, "elsewhere")["tid"]);
  json kernel = span_named(trace, "gemm");
  EXPECT_EQ(kernel["ts"], 1.5e6);
  EXPECT_EQ(kernel["dur"], 0.25e6);
}

TEST(Trace, NothingIsRecordedUnlessItIsAskedFor) {
  EXPECT_FALSE(is_tracing());
  { TraceSpan span("compile", "before"); }
  start_trace();
  EXPECT_TRUE(is_tracing());
  EXPECT_TRUE(span_named(written(), "before").is_null());
  EXPECT_FALSE(is_tracing());
}

TEST(Trace, TotalsAddUpWhatHasOneName) {
  start_trace();
  add_trace_span("kernel", "small", "cuda:0", 1, 2);
  for (int i = 0; i < 3; ++i) add_trace_span("kernel", "large", "cuda:0", i, i + 2);
  std::vector<TraceTotal> totals = trace_totals();
  ASSERT_EQ(totals.size(), 2U);
  EXPECT_EQ(totals[0].name, "large");
  EXPECT_EQ(totals[0].count, 3);
  EXPECT_EQ(totals[0].seconds, 6);
  EXPECT_EQ(totals[0].track, "cuda:0");
  written();
}

TEST(Trace, AFileThatCannotBeWrittenIsNamed) {
  start_trace();
  expect_contains(error_of([] { write_trace("/nonexistent/trace.json"); }),
                  "[trace] cannot create a file beside /nonexistent/trace.json");
}

}  // namespace
}  // namespace tilewright
