// `tilewright db`, from its words to what it prints.
#include "tools/database/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/database_command.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tools/console/misuse.h"
#include "tools/database/selection.h"

namespace tilewright::autotune::command_test {
namespace {

using namespace testing_commands;

using testing::HasSubstr;
using testing::Not;

TEST_F(DatabaseCommand, ListHasALineAQuestion) {
  Output list = run({"list", "--wide"});
  EXPECT_THAT(list.out, HasSubstr("rows_gelu"));
  EXPECT_THAT(list.out, HasSubstr("columns=4096 dtype=f32 rows=1024"));
  EXPECT_THAT(list.out, HasSubstr("10.0 us  columns=64 order=rows%20first rows=32"));
  EXPECT_EQ(std::ranges::count(list.out, '\n'), 4) << list.out;
  EXPECT_EQ(std::ranges::count(run({"list", "matmul"}).out, '\n'), 3);
}

TEST_F(DatabaseCommand, WhatCannotBeReadIsToldAndIsNoEmptyTable) {
  for (const char* command : {"list", "show", "best", "history", "stats"}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(run({command, "--db", folder_.path()}).code, 1) << command;
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("rows are missing")) << command;
    EXPECT_EQ(run({command}).code, 0) << command;
  }
}

TEST_F(DatabaseCommand, NothingIsWrittenInPlaceOfTheDatabase) {
  std::string before = run({"list"}).out;
  std::filesystem::create_symlink(file("one.db"), file("link.db"));
  for (const char* command : {"export", "report"})
    for (const char* out : {"one.db", "link.db"}) {
      std::vector<std::string> words = {command};
      if (words[0] == "report") words.push_back("--out");
      words.push_back(file(out));
      expect_contains(error_of([&] { run(words); }), "is the database itself, which would be lost");
    }
  EXPECT_EQ(run({"list"}).out, before);
}

TEST_F(DatabaseCommand, EveryTableComesAsCsvAndAsJsonToo) {
  for (const char* command : {"list", "show", "best", "history", "stats"}) {
    std::string json = run({command, "--format", "json"}).out;
    nlohmann::json list = nlohmann::json::parse(json, nullptr, false);
    ASSERT_TRUE(list.is_array() && !list.empty()) << command;
    std::string csv = run({command, "--format", "csv"}).out;
    EXPECT_EQ(std::ranges::count(csv, '\n'), static_cast<long>(list.size()) + 1) << command;
  }
  EXPECT_THAT(run({"list", "--format", "csv"}).out, HasSubstr("\"matmul, \"\"tiled\"\"\""));
}

TEST_F(DatabaseCommand, TablesFitAHundredColumnsUnlessAllIsWanted) {
  auto widest = [](const std::string& text) {
    std::size_t widest = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) widest = std::max(widest, line.size());
    return widest;
  };
  for (const char* command : {"list", "show", "best", "history"}) {
    EXPECT_LE(widest(run({command}).out), 100U) << command;
    EXPECT_GT(widest(run({command, "--wide"}).out), 100U) << command;
  }
  EXPECT_THAT(run({"list"}).out, HasSubstr("..."));
  EXPECT_THAT(run({"list", "--wide"}).out, Not(HasSubstr("...")));
}

TEST_F(DatabaseCommand, ForProgramsTimesAreNumbersInTheUnitThatTheColumnNames) {
  EXPECT_THAT(run({"list", "--format", "csv"}).out,
              HasSubstr("id,kernel,problem,device,rows,ok,best_ns,configuration\n"));
  auto list = nlohmann::json::parse(run({"show", "rows_gelu", "--format", "json"}).out);
  EXPECT_EQ(list.at(0).at("median_ns"), 5000);
  EXPECT_TRUE(list.back().at("median_ns").is_null()) << "it crashed";
}

TEST_F(DatabaseCommand, KernelsAreFoundByWhatTuningWasAskedFor) {
  TuningKey key = test_key(77);
  key.kernel = "sum mul sub";
  Observation observation = ok_observation({1e4});
  observation.tool = tools::tool_of_tuning("layer_norm of 77");
  TuningDatabase(file("one.db")).store({{key, test_configuration(64), observation}});
  EXPECT_THAT(run({"list", "layer_norm", "--wide"}).out,
              HasSubstr("layer_norm of 77 (sum mul sub)"));
  EXPECT_THAT(run({"list", "sum mul", "--wide"}).out, HasSubstr("layer_norm of 77 (sum mul sub)"));
  EXPECT_THAT(run({"list", "rows_gelu"}).out, Not(HasSubstr("layer_norm")));
  EXPECT_THAT(run({"why-miss", "layer_norm of 77"}).out, HasSubstr("the key is there"));
  EXPECT_THAT(run({"why-miss", key.question().hex().substr(0, 6)}).out,
              HasSubstr("the key is there"));
  EXPECT_THAT(run({"export", file("norm.jsonl"), "--kernel", "layer_norm"}).out,
              HasSubstr(": 1 row\n"));
}

TEST_F(DatabaseCommand, ShowHasTheFastestFirstAndFailuresLast) {
  std::string out = run({"show", "rows_gelu", "--format", "csv"}).out;
  EXPECT_LT(out.find("rows=8,ok"), out.find("rows=32,ok"));
  EXPECT_LT(out.find("rows=64,ok"), out.find("rows=16,crashed"));
  EXPECT_THAT(out, HasSubstr("it was so"));
}

TEST_F(DatabaseCommand, BestIsOfTheBuildThatTriedTheQuestionLast) {
  std::string out = run({"best", "rows_gelu", "--format", "csv"}).out;
  EXPECT_THAT(out, HasSubstr("10000,columns=64 order=rows%20first rows=32,0,31000"));
}

TEST_F(DatabaseCommand, HistoryHasTheBestUntilThen) {
  std::string out = run({"history", "rows_gelu", "--format", "csv"}).out;
  EXPECT_THAT(out, HasSubstr("2024-11-27 00:00"));
  EXPECT_THAT(out, HasSubstr("ok,10000,5000,mhz=2000"));
}

TEST_F(DatabaseCommand, WhyMissNamesTheField) {
  EXPECT_THAT(run({"why-miss", "rows_gelu", "--problem", "columns=4096 dtype=f32 rows=1025"}).out,
              HasSubstr("differs in problem.rows: wanted 1025, stored 1024"));
  EXPECT_THAT(run({"why-miss", "rows_gelu", "--compiler", "llvm=22.1.0 version=0.1.0"}).out,
              HasSubstr("compiler.sources: wanted (absent), stored"));
  EXPECT_THAT(run({"why-miss", "rows_gelu"}).out, HasSubstr("the key is there"));
  EXPECT_THAT(run({"why-miss", "softmax"}).out, HasSubstr("nothing is stored of this kernel"));
}

TEST_F(DatabaseCommand, PruneRemovesWhatAllConditionsName) {
  EXPECT_THAT(run({"prune", "--failed"}).out, HasSubstr("1 row removed"));
  EXPECT_THAT(run({"prune", "--keep-builds", "1"}).out, HasSubstr("1 row removed"));
  EXPECT_THAT(run({"prune", "matmul"}).out, HasSubstr("1 row removed"));
  EXPECT_EQ(TuningDatabase(file("one.db")).counts().rows, 2);
  EXPECT_THROW(run({"prune"}), Error);
}

// A number below 0 was taken for one that was not given, and all the rest went.
TEST_F(DatabaseCommand, PruneTakesNoNumberBelowZero) {
  for (const char* option : {"--older-than", "--keep-builds"})
    EXPECT_THROW(run({"prune", "matmul", option, "-1"}), CLI::ValidationError) << option;
  EXPECT_EQ(TuningDatabase(file("one.db")).counts().rows, 5);
}

TEST_F(DatabaseCommand, PruneMakesNoDatabase) {
  std::string none = file("none.db");
  EXPECT_THAT(error_of([&] { run({"prune", "--failed", "--db", none}); }), HasSubstr(none));
  EXPECT_FALSE(std::filesystem::exists(none));
}

TEST_F(DatabaseCommand, VerifyFindsAndRepairsWrongRows) {
  EXPECT_EQ(run({"verify"}).code, 0);
  run_sql(file("one.db"), "UPDATE tuning_rows SET median_ns = 1 WHERE status = 'crashed'");
  Output verify = run({"verify"});
  EXPECT_EQ(verify.code, 1);
  EXPECT_THAT(verify.out, HasSubstr("4 rows are right, 1 is not"));
  run({"verify", "--repair"});
  EXPECT_EQ(run({"verify"}).code, 0);
}

TEST_F(DatabaseCommand, TheReportIsOnePageInWhichNamesStayText) {
  TuningKey key = test_key(7);
  key.kernel = "<script>alert(1)</script>";
  key.device.set("name", "<img src=x onerror=\"alert(2)\">");
  Observation by_default = ok_observation({2e4});
  by_default.is_default = true;
  TuningDatabase(file("one.db"))
      .store({{key, Configuration().set("order", "'><b>&amp;"), by_default},
              {key, test_configuration(4), ok_observation({1e4, 1.1e4}, new_year_ms + 1)}});
  ASSERT_EQ(run({"report", "--out", file("page.html")}).code, 0);
  std::string page = read_file(file("page.html"));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)&lt;/script&gt;"));
  EXPECT_THAT(page, HasSubstr("&lt;img src=x onerror=&quot;alert(2)&quot;&gt;"));
  for (const char* word :
       {"<script", "<img", "<b>", "http:", "https:", "src=\"", "@import", "url("})
    EXPECT_THAT(page, Not(HasSubstr(word)));
  EXPECT_THAT(page, HasSubstr("<td class=\"number\">1.90x</td>")) << "best against default";
  EXPECT_THAT(page, HasSubstr("class=\"default\" cx="));
  auto count = [&](const std::string& word) {
    std::size_t found = 0;
    for (std::size_t at = 0; (at = page.find(word, at)) != page.npos; ++at) ++found;
    return found;
  };
  for (const char* tag : {"svg", "table", "text", "title", "div"})
    EXPECT_EQ(count(concat("<", tag)), count(concat("</", tag))) << tag;
}

}  // namespace
}  // namespace tilewright::autotune::command_test
