#include "runtime/trace.h"

#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/base/text/number_text.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"

namespace tilewright::trace_test {
namespace {

using nlohmann::json;

json written() {
  ScratchFolder folder;  // another test may run at the same time
  const auto path = folder.path() / "trace.json";
  write_trace(path.string());
  std::ifstream file(path);
  return json::parse(file);
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

// As in a program that has called setlocale(LC_ALL, "de_DE.UTF-8"). Only the package locales has
// files that tell localedef of characters.
TEST(Trace, HasNumbersThatNoLocaleChanges) {
  ScratchFolder folder;
  folder.write("source",
               "comment_char %\nescape_char /\nLC_NUMERIC\ndecimal_point \",\"\n"
               "thousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n");
  folder.write("ascii",
               "<code_set_name> ANSI_X3.4-1968\n<comment_char> %\n<escape_char> /\nCHARMAP\n"
               "<U0000>..<U007F> /x00 ASCII\nEND CHARMAP\n");
  std::string place = folder.path().string();
  int made = std::system(("localedef -c -f " + place + "/ascii -i " + place + "/source " + place +
                          "/comma > /dev/null 2>&1")
                             .c_str());
  Setting path("LOCPATH", place.c_str());
  if (made < 0 || std::setlocale(LC_NUMERIC, "comma") == nullptr)
    GTEST_SKIP() << "no locale can be made here (localedef)";
  start_trace();
  add_trace_span("kernel", "gemm", "cuda:0", 1.5, 1.75);
  write_trace(folder.path() / "trace.json");
  std::string text = fixed_text(1.5, 1) + " " + general_text(2.5);
  std::setlocale(LC_NUMERIC, "C");
  EXPECT_EQ(text, "1.5 2.5");
  json trace = json::parse(read_file(folder.path() / "trace.json"), nullptr, false);
  ASSERT_FALSE(trace.is_discarded());
  EXPECT_EQ(span_named(trace, "gemm")["dur"], 0.25e6);
}

TEST(Trace, AFileThatCannotBeWrittenIsNamed) {
  start_trace();
  expect_contains(error_of([] { write_trace("/nonexistent/trace.json"); }),
                  "[trace] cannot create a file beside /nonexistent/trace.json");
}

}  // namespace
}  // namespace tilewright::trace_test
