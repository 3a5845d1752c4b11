// `tilewright db`, from its words to what it prints.
#include "tools/database/commands.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "autotune/database/tuning_database.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/errors.h"
#include "tests/scratch_folder.h"
#include "tests/setting.h"
#include "tools/console/misuse.h"
#include "tools/database/selection.h"

namespace tilewright::autotune::command_test {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Output {
  int code;
  std::string out;
};

class DatabaseCommand : public testing::Test {
 protected:
  DatabaseCommand() {
    TuningKey older = test_key();
    older.compiler.set("sources", "older");
    TuningKey other = test_key(2048);
    other.kernel = "matmul, \"tiled\"";
    other.kernel_hash = Hash{3, 4};
    std::int64_t day = 86'400'000;
    TuningDatabase(file("one.db"))
        .store({{test_key(), test_configuration(64), ok_observation({3e4, 3.1e4, 3.2e4})},
                {test_key(), test_configuration(32), ok_observation({1e4}, new_year_ms + 60'000)},
                {test_key(), test_configuration(16), failed_observation(Status::crashed)},
                {older, test_configuration(8), ok_observation({5e3}, new_year_ms - 400 * day)},
                {other, test_configuration(64), ok_observation({7e6})}});
  }
  std::string file(const std::string& name) const { return folder_.path() / name; }

  Output run(std::vector<std::string> words) const {
    CLI::App app;
    tools::add_db(app);
    if (std::ranges::find(words, "--db") == words.end()) {
      words.insert(words.begin() + 1, {"--db", file("one.db")});
    }
    std::reverse(words.begin(), words.end());
    testing::internal::CaptureStdout();
    int code = 0;
    try {
      app.parse(words);
    } catch (const CLI::RuntimeError& end) {
      code = end.get_exit_code();
    } catch (...) {
      testing::internal::GetCapturedStdout();
      throw;
    }
    return {code, testing::internal::GetCapturedStdout()};
  }

  ScratchFolder folder_;
};

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

// The messages of `db` for invalid words.
class DatabaseMisuse : public DatabaseCommand {
 protected:
  std::string misuse_of(const std::vector<std::string>& words) {
    try {
      run(words);
    } catch (const tools::Misuse& error) {
      return error.what();
    }
    return "";
  }
};

TEST_F(DatabaseMisuse, WhatIsNotStoredIsNamedWithWhatIsNearest) {
  EXPECT_THAT(
      misuse_of({"show", "rows_gleu"}),
      HasSubstr("[db] nothing is stored of \"rows_gleu\", neither a kernel's name nor an id; "
                "did you mean rows_gelu?; `tilewright db list` shows the 2 questions"));
  for (const char* command : {"list", "best", "history", "prune"})
    EXPECT_THAT(misuse_of({command, "nosuch"}), HasSubstr("nothing is stored of \"nosuch\""));
  EXPECT_THAT(misuse_of({"report", "nosuch", "--out", file("page.html")}),
              HasSubstr("nothing is stored of \"nosuch\""));
  EXPECT_THAT(misuse_of({"export", file("all.jsonl"), "--kernel", "nosuch"}),
              HasSubstr("nothing is stored of \"nosuch\""));
  EXPECT_FALSE(std::filesystem::exists(file("all.jsonl")));
}

TEST_F(DatabaseMisuse, ADatabaseOrFileThatIsNotThereIsNamedAndNotMade) {
  std::string none = file("none.db");
  for (const char* command : {"list", "show", "verify", "stats"})
    EXPECT_THAT(misuse_of({command, "--db", none}),
                HasSubstr("[db] there is no database \"" + none +
                          "\"; --db or TILEWRIGHT_TUNE_DB names one"));
  EXPECT_THAT(misuse_of({"diff", none}), HasSubstr("there is no database"));
  EXPECT_THAT(misuse_of({"merge", none}), HasSubstr("there is no database"));
  EXPECT_FALSE(std::filesystem::exists(none));
  EXPECT_THAT(misuse_of({"import", file("none.jsonl")}),
              HasSubstr("[db] there is no file \"" + file("none.jsonl") +
                        "\"; name files that `export` wrote"));
}

TEST_F(DatabaseMisuse, ValuesThatCannotBeAreNamed) {
  EXPECT_THAT(misuse_of({"why-miss", "rows_gelu", "--hash", "12"}),
              HasSubstr("[db] --hash is \"12\"; 32 hexadecimal digits are right"));
  EXPECT_THAT(misuse_of({"why-miss", "rows_gelu", "--problem", "7"}),
              HasSubstr("[db] --problem is \"7\""));
  EXPECT_THAT(misuse_of({"diff", "a.db", "b.db"}),
              HasSubstr("[db] diff takes one other database, not 2"));
  EXPECT_THAT(misuse_of({"prune"}), HasSubstr("[db] prune has no selection of rows to remove"));
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

TEST_F(DatabaseCommand, RowsGoToAFileAndIntoAnotherDatabase) {
  EXPECT_THAT(run({"export", file("all.jsonl")}).out, HasSubstr("5 rows"));
  std::string one = file("one.db"), two = file("two.db");
  EXPECT_EQ(run({"import", file("all.jsonl"), "--db", two}).code, 0);
  EXPECT_EQ(TuningDatabase(two).counts().rows, 5);
  EXPECT_EQ(run({"diff", "--db", one, two, "--format", "csv"}).out.find('\n') + 1,
            run({"diff", "--db", one, two, "--format", "csv"}).out.size())
      << "the header alone";
  TuningRow more(test_key(), test_configuration(128), ok_observation({9e3}));
  TuningDatabase(two).store({more});
  EXPECT_THAT(run({"diff", "--db", one, two, "--format", "csv"}).out,
              HasSubstr(",0,1,0,10000,9000,"));
  EXPECT_EQ(run({"merge", "--db", one, two}).code, 0);
  EXPECT_EQ(TuningDatabase(one).counts().rows, 6);
}

TEST_F(DatabaseCommand, WhyAFileIsNotMergedIsSaidOnce) {
  std::string none = folder_.write("none.db", "Dear diary");
  testing::internal::CaptureStderr();
  Output merged = run({"merge", none});
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "  cannot use " + none + ": file is not a database (26)\n");
  EXPECT_EQ(merged.out, none + ": 0 rows, not complete\n");
  EXPECT_EQ(merged.code, 1);
}

TEST_F(DatabaseMisuse, WhereThereIsNoPlaceForADatabaseTheReasonIsTold) {
  Setting unset("TILEWRIGHT_TUNE_DB", nullptr), off("TILEWRIGHT_CACHE_DIR", "off");
  folder_.write("some.jsonl", "");
  for (const char* command : {"list", "stats", "verify"})
    EXPECT_EQ(misuse_of({command, "--db", ""}),
              "[db] there is no database: TILEWRIGHT_CACHE_DIR is off; --db or TILEWRIGHT_TUNE_DB "
              "names one");
  EXPECT_THAT(misuse_of({"import", file("some.jsonl"), "--db", ""}),
              HasSubstr("[db] there is no database: TILEWRIGHT_CACHE_DIR is off"));
  EXPECT_THAT(misuse_of({"list", "--db", "sqlite://x"}),
              HasSubstr("\"sqlite://x\" is a URL of another kind"));
}

TEST_F(DatabaseCommand, AnExportThatFailsLeavesTheLastOneAsItWas) {
  run({"export", file("all.jsonl")});
  std::string before = read_file(file("all.jsonl"));
  folder_.write("none.db", "Dear diary");
  EXPECT_THROW(run({"export", file("all.jsonl"), "--db", file("none.db")}), Error);
  EXPECT_EQ(read_file(file("all.jsonl")), before);
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
    EXPECT_NE(entry.path().extension(), ".part");
}

// More than one buffer of it, so that the failure comes amid the rows.
TEST_F(DatabaseCommand, AnExportThatFindsNoRoomNamesTheFile) {
  std::vector<TuningRow> rows;
  for (std::int64_t i = 1; i <= 300; ++i)
    rows.emplace_back(test_key(), test_configuration(i), ok_observation({3e4, 3.1e4}));
  TuningDatabase(file("one.db")).store(rows);
  EXPECT_THAT(error_of([&] {
                run({"export", "/dev/full"});
              }),
              HasSubstr("[db] cannot write /dev/full: No space left on device"));
}

TEST_F(DatabaseCommand, WhatIsNoFileIsNotImported) {
  ASSERT_EQ(::mkfifo(file("pipe").c_str(), 0600), 0);
  for (const std::string& name : {file("pipe"), std::string("/dev/zero")})
    expect_contains(error_of([&] {
                      run({"import", name});
                    }),
                    "[db] cannot read " + name + ": it is not a regular file");
}

TEST_F(DatabaseCommand, ImportingWhatIsWrongSaysSoAndEndsWithOne) {
  folder_.write("bad.jsonl", "{\"kernel\":1}\n");
  Output bad = run({"import", file("bad.jsonl")});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.out, HasSubstr("0 rows, 1 row left out, not complete"));
}

TEST_F(DatabaseCommand, ImportingWhatCannotBeKeptCountsTheRows) {
  ASSERT_EQ(run({"export", file("all.jsonl")}).code, 0);
  folder_.write("file", "");
  Output lost = run({"import", "--db", file("file") + "/tuning.db", file("all.jsonl")});
  EXPECT_EQ(lost.code, 1);
  EXPECT_THAT(lost.out, HasSubstr("all.jsonl: 5 rows, 5 of them not kept\n"));
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
