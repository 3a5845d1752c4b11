#include "autotune/database/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <pthread.h>

#include <sstream>
#include <system_error>
#include <thread>

#include "runtime/base/error.h"
#include "tests/autotune/database/rows.h"
#include "tests/property/seeds.h"
#include "tests/scratch_folder.h"

namespace tilewright::autotune::exchange_test {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

std::string exported(TuningDatabase& database) {
  std::ostringstream out;
  export_rows(database, out);
  return out.str();
}

// A database in memory of few keys and configurations, so that two of them share some.
TuningDatabase random_database(const std::string& file, std::uint64_t& state) {
  TuningDatabase database(file);
  std::vector<TuningRow> rows;
  for (std::uint64_t i = 0; i < 1 + next_random(state) % 12; ++i) {
    TuningKey key = test_key(1 + static_cast<std::int64_t>(next_random(state) % 3));
    if (next_random(state) % 2 == 0) key.compiler.set("sources", "other");
    if (next_random(state) % 4 == 0) key.kernel = "a name of its own";
    rows.push_back({key, test_configuration(static_cast<std::int64_t>(next_random(state) % 4)),
                    random_observation(state)});
  }
  database.store(rows);
  return database;
}

// A system that refuses threads, as a container with few processes does: no stack is as large.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&former_);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, std::size_t{1} << 46);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&former_);
    pthread_attr_destroy(&former_);
  }

 private:
  pthread_attr_t former_;
};

TEST(Exchange, KeepsRowsWhereTheSystemRefusesThreads) {
  ScratchFolder folder;
  std::uint64_t state = 7;
  TuningDatabase from = random_database(folder.path() / "from", state);
  TuningDatabase merged(folder.path() / "merged"), imported(folder.path() / "imported");
  std::string text = exported(from);
  std::istringstream lines(text);
  {
    NoThreads none;
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
    EXPECT_TRUE(merge(from, merged).is_complete);
    EXPECT_TRUE(import_rows(lines, imported).is_complete);
  }
  EXPECT_EQ(exported(merged), text);
  EXPECT_EQ(exported(imported), text);
}

TEST(ExchangeProperty, MergingIsCommutativeAssociativeAndIdempotent) {
  for (std::uint64_t seed : seeds_of_test(20)) {
    ScratchFolder folder;
    auto merged = [&](const std::string& name, std::vector<char> order) {
      TuningDatabase into(folder.path() / name);
      for (char which : order) {
        TuningDatabase from(folder.path() / std::string(1, which));
        EXPECT_TRUE(merge(from, into).is_complete);
      }
      return exported(into);
    };
    std::uint64_t state = seed;
    for (char which : {'a', 'b', 'c'})
      random_database(folder.path() / std::string(1, which), state);
    std::string expected = merged("abc", {'a', 'b', 'c'});
    EXPECT_EQ(merged("bca", {'b', 'c', 'a'}), expected);
    EXPECT_EQ(merged("cabcab", {'c', 'a', 'b', 'c', 'a', 'b'}), expected);
    // (a with b) with c, and a with (b with c).
    merged("d", {'b', 'c'});
    EXPECT_EQ(merged("ad", {'d', 'a'}), expected);
    ASSERT_FALSE(HasFailure()) << reproduction(seed);
  }
}

TEST(Exchange, AnExportComesBackWholeOnAnyMachine) {
  ScratchFolder folder;
  std::uint64_t state = 3;
  TuningDatabase from = random_database(folder.path() / "from.db", state);
  std::istringstream text(exported(from));
  TuningDatabase into(folder.path() / "into.db");
  MergeReport report = import_rows(text, into);
  EXPECT_TRUE(report.is_complete);
  EXPECT_EQ(report.read, from.counts().rows);
  EXPECT_EQ(report.rejected, 0);
  EXPECT_THAT(report.messages, IsEmpty());
  EXPECT_EQ(exported(into), text.str());
}

TEST(Exchange, ARowAsAJsonLine) {
  TuningRow row(test_key(), test_configuration(64), ok_observation({30.5, 31}));
  EXPECT_EQ(json_of(row),
            R"({"kernel":"rows_gelu","kernel_hash":")" + row.key.kernel_hash.hex() +
                R"(","problem":{"columns":"4096","dtype":"f32","rows":"1024"},)"
                R"("device":{"features":"+avx2,+fma","name":"Some CPU @ 2.00GHz","threads":"2"},)"
                R"("compiler":{"llvm":"22.1.0","sources":"abc","version":"0.1.0"},)"
                R"("configuration":{"columns":"64","order":"rows first","rows":"64"},)"
                R"("observations":[{"status":"ok","date":"2026-01-01T00:00:00.000Z",)"
                R"("samples_ns":[30.5,31.0],"clocks":"mhz=2000","tool":"0.1.0"}]})");
  EXPECT_EQ(std::get<TuningRow>(parse_json(json_of(row))), row);
}

TEST(Exchange, LinesThatAreWrongAreLeftOutAndNamed) {
  ScratchFolder folder;
  TuningRow row(test_key(), test_configuration(64), ok_observation({30}));
  std::string good = json_of(row);
  auto problem = [&](const std::string& from, const std::string& to) {
    std::string line = good;
    line.replace(line.find(from), from.size(), to);
    auto read = parse_json(line);
    return std::holds_alternative<std::string>(read) ? std::get<std::string>(read) : "none";
  };
  EXPECT_EQ(problem("[30.0]", "[-30.0]"), "a sample is -30 ns");
  EXPECT_EQ(problem("[30.0]", "[1e999]"), "it is not the JSON of a row");
  EXPECT_EQ(problem("[30.0]", "[\"30\"]"), "a sample is not a number");
  EXPECT_EQ(problem("[30.0]", "30"), "\"samples_ns\" is of another kind");
  EXPECT_EQ(problem("\"ok\"", "\"fine\""), "the status is \"fine\"");
  EXPECT_EQ(problem("2026-01-01", "2026-02-31"), "the date is \"2026-02-31T00:00:00.000Z\"");
  EXPECT_EQ(problem("\"rows\":\"64\"", "\"r s\":\"64\""),
            "\"configuration\" has a value that is not allowed");
  EXPECT_EQ(problem("\"device\"", "\"devise\""), "\"device\" is missing");
  EXPECT_EQ(problem(row.key.kernel_hash.hex(), "12"), "\"kernel_hash\" is not a hash");
  EXPECT_EQ(problem("}]}", "}]"), "it is not the JSON of a row");
}

TEST(Exchange, AFileThatWasCutOrEditedIsSaidToBeAndItsRestIsTaken) {
  ScratchFolder folder;
  std::uint64_t state = 8;
  TuningDatabase from = random_database(folder.path() / "from.db", state);
  std::string text = exported(from);
  auto import = [&](std::string bytes) {
    std::istringstream in(std::move(bytes));
    static int number = 0;
    TuningDatabase into(folder.path() / concat(++number, ".db"));
    return import_rows(in, into);
  };
  std::size_t last = text.rfind("{\"rows\":");
  MergeReport cut = import(text.substr(0, last));
  EXPECT_FALSE(cut.is_complete);
  EXPECT_EQ(cut.read, from.counts().rows);
  std::string edited = text;
  edited.replace(edited.find("4096"), 4, "4097");
  EXPECT_THAT(import(edited).messages, Contains(HasSubstr("the file was cut or edited")));
  EXPECT_EQ(import(edited).read, from.counts().rows);
  MergeReport other = import("nothing of ours\n" + std::string(100, '[') + "\n\n");
  EXPECT_EQ(other.read, 0);
  EXPECT_EQ(other.rejected, 2);
}

TEST(ExchangeProperty, AnyBytesAreImportedWithoutHarm) {
  ScratchFolder folder;
  std::uint64_t state = 8;
  TuningDatabase from = random_database(folder.path() / "from.db", state);
  const std::string text = exported(from);
  TuningDatabase into(folder.path() / "into.db");
  for (std::uint64_t seed : seeds_of_test(300)) {
    std::uint64_t random = seed;
    std::string bytes = text;
    for (std::uint64_t i = 0; i < 1 + next_random(random) % 5; ++i) {
      std::size_t at = next_random(random) % bytes.size();
      switch (next_random(random) % 3) {
        case 0: bytes[at] = static_cast<char>(next_random(random)); break;
        case 1: bytes.erase(at, next_random(random) % 20); break;
        default: bytes.insert(at, bytes.substr(next_random(random) % bytes.size(), 30)); break;
      }
    }
    std::istringstream in(bytes);
    MergeReport report = import_rows(in, into);
    EXPECT_TRUE(!report.is_complete || bytes == text) << reproduction(seed);
  }
  EXPECT_THAT(into.problems(), IsEmpty());
  EXPECT_EQ(into.diagnostics().rejected_rows, 0);
}

TEST(Exchange, DatesReadBack) {
  EXPECT_EQ(date_text(new_year_ms + 1), "2026-01-01T00:00:00.001Z");
  EXPECT_EQ(parse_date("2026-01-01T00:00:00.001Z"), new_year_ms + 1);
  for (const char* text : {"", "2026-1-01T00:00:00.001Z", "2026-01-01T24:00:00.001Z",
                           "2026-01-01T00:00:00.001Z ", "1969-01-01T00:00:00.001Z"})
    EXPECT_FALSE(parse_date(text)) << text;
}

}  // namespace
}  // namespace tilewright::autotune::exchange_test
