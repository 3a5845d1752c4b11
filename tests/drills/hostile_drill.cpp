// Databases and export files that somebody made to do harm, and rows that are in order and lie.
// None crashes a run, holds it up, fills its memory, changes what it computes, or reaches the
// terminal.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"
#include "tests/autotune/database/rows.h"
#include "tests/autotune/database/sqlite_file.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/drills/tiny_model.h"
#include "tests/drills/workplace.h"

namespace tilewright::drills {
namespace {

namespace fs = std::filesystem;
using autotune::run_sql;

// Nothing of a foreign name may steer the terminal.
void expect_no_control(const std::string& text) {
  auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 32 && c != '\n') || c == 127;
  };
  EXPECT_TRUE(std::ranges::none_of(text, is_control))
      << nlohmann::json(text).dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

// Everything that reads a database, over this one. Rows that get through are rows that were there.
void read_in_every_way(const Workplace& place, const char* file, const Lines& right) {
  auto size = static_cast<std::int64_t>(fs::file_size(place.path() / file));
  const std::vector<Words> commands = {{"db", "merge", file, "--db", "into.db"},
                                       {"db", "verify", "--db", file},
                                       {"db", "stats", "--db", file},
                                       {"db", "list", "--db", file},
                                       {"db", "show", "--db", file},
                                       {"db", "report", "--out", "page.html", "--db", file}};
  for (const Words& words : commands) {
    SCOPED_TRACE(words[1]);
    Outcome outcome = run(place.command(words));
    expect_answer(outcome, size);
    expect_no_control(outcome.out);
    expect_no_control(outcome.err);
  }
  if (fs::exists(place.path() / "into.db")) {
    EXPECT_TRUE(includes_all(right, lines_in(place.path() / "into.db")));
  }
  EXPECT_EQ(read_file(place.path() / "page.html").find("<script"), std::string::npos);
}

// Attacks on a healthy database, as SQL.
const std::vector<std::string>& attacks() {
  const std::string endless =
      "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x+1 FROM c) SELECT ";
  static const std::vector<std::string> all = {
      "DROP TABLE tuning_rows; CREATE VIEW tuning_rows AS " + endless +
          "x key,1 build,'' configuration,'ok' status,1.0 median_ns,1.0 spread_ns,1 date_ms,"
          "'' observations,1 checksum FROM c",
      "DROP TABLE tuning_keys; CREATE VIEW tuning_keys AS " + endless +
          "x id,'k' kernel,'' kernel_hash,'' problem,'' device FROM c",
      "CREATE TRIGGER t AFTER INSERT ON tuning_rows BEGIN DELETE FROM tuning_rows; END",
      "CREATE TABLE extra(a); INSERT INTO extra VALUES(1)",
      "CREATE INDEX other ON tuning_rows(length(randomblob(1000000)))",
      "ALTER TABLE tuning_rows ADD COLUMN more GENERATED ALWAYS AS (randomblob(1000000))",
      "UPDATE tuning_keys SET kernel = hex(zeroblob(4000000))",
      "UPDATE tuning_rows SET observations = hex(zeroblob(1000000))",
      "PRAGMA user_version=99",
      "PRAGMA application_id=7",
      "PRAGMA writable_schema=1; UPDATE sqlite_master SET sql='CREATE TABLE tuning_rows(a)' "
      "WHERE name='tuning_rows'",
      "PRAGMA writable_schema=1; UPDATE sqlite_master SET rootpage=1",
  };
  return all;
}

TEST(HostileDatabases, AreRefusedOrReadWithinBounds) {
  each_case(attacks().size(), [](std::uint64_t number) {
    Workplace place;
    run_sql(place.path() / "new.db", attacks()[number]);
    SCOPED_TRACE(attacks()[number]);
    read_in_every_way(place, "new.db", lines_of(new_rows()));
    expect_usable(place.path());
  });
}

const char* const columns[][2] = {
    {"tuning_keys", "kernel"},  {"tuning_keys", "kernel_hash"},  {"tuning_keys", "problem"},
    {"tuning_keys", "device"},  {"compiler_builds", "compiler"}, {"tuning_rows", "configuration"},
    {"tuning_rows", "status"},  {"tuning_rows", "median_ns"},    {"tuning_rows", "spread_ns"},
    {"tuning_rows", "date_ms"}, {"tuning_rows", "observations"}, {"tuning_rows", "checksum"}};

const char* const values[] = {"NULL",
                              "''",
                              "char(27) || ']0;gone' || char(7)",
                              "'<script>alert(1)</script>'",
                              "hex(zeroblob(200000))",
                              "x'00ff00'",
                              "-1",
                              "0",
                              "1e308",
                              "9e999",
                              "9223372036854775807",
                              "replace(hex(zeroblob(50000)), '0', '[')",
                              "'=cmd|x!A1'",
                              "'../../../etc/passwd'",
                              "'a=1 a=1'"};

TEST(HostileRows, AreLeftOutOrReadWithinBounds) {
  each_case(175, [](std::uint64_t number) {
    const auto& [table, column] = columns[number % std::size(columns)];
    const char* value = values[number / std::size(columns)];
    std::string sql = concat("UPDATE OR IGNORE ", table, " SET ", column, " = ", value,
                             " WHERE rowid IN (SELECT rowid FROM ", table, " LIMIT 3)");
    // Rows lie in the order of their key, and have no number of their own.
    if (std::string_view(table) == "tuning_rows")
      sql = concat("UPDATE OR IGNORE tuning_rows SET ", column, " = ", value, " WHERE key < 4");
    Workplace place;
    run_sql(place.path() / "new.db", sql);
    SCOPED_TRACE(sql);
    // A name is for people, and is in the checksum: with it a row is another one, or none.
    read_in_every_way(place, "new.db", lines_of(new_rows()));
    expect_usable(place.path());
  });
}

std::string repeated(const std::string& text, std::size_t count) {
  std::string all;
  for (std::size_t i = 0; i < count; ++i) all += text;
  return all;
}

std::string hostile_export(std::uint64_t number, const std::string& right) {
  std::size_t second = right.find('\n') + 1, third = right.find('\n', second) + 1;
  std::string head = right.substr(0, second), row = right.substr(second, third - second);
  switch (number) {
    case 0: return "";
    case 1: return head;
    case 2: return right.substr(0, right.size() / 2);
    case 3: return repeated("[", 2'000'000);
    case 4: return head + repeated("{\"kernel\":", 100'000);
    case 5: return std::string(8 << 20, '\0');
    case 6: return head + repeated(row, 20'000) + "{\"rows\":20000}\n";
    case 7: return "\xff\xfe" + right;
    case 8: return head + std::string(32 << 20, 'x');
    case 9: return "PK\x03\x04" + right;
    case 10: return head + "{\"kernel\":\"\x1b]0;gone\x07\"}\n" + row;
    default: return right + right;
  }
}

TEST(HostileFiles, AreReadWithinBoundsAndRowByRow) {
  each_case(12, [](std::uint64_t number) {
    Workplace place;
    std::string bytes = hostile_export(number, read_file(place.path() / "new.jsonl"));
    place.write("made.jsonl", bytes);
    Outcome outcome = run(place.command({"db", "import", "made.jsonl", "--db", "into.db"}));
    expect_answer(outcome, static_cast<std::int64_t>(bytes.size()));
    EXPECT_EQ(outcome.status, 1) << outcome.text();
    expect_no_control(outcome.err);
    EXPECT_TRUE(includes_all(lines_of(new_rows()), lines_in(place.path() / "into.db")));
  });
}

// Whatever is wrong with a program or with the words of a command: the message has no byte that the
// terminal would obey.
TEST(HostileWords, DoNotReachTheTerminal) {
  const std::string steering = "\x1b]0;gone\x07";
  const std::vector<Words> commands = {{"opt", "made.tile"},
                                       {"ptx", "made.tile"},
                                       {"opt", "made.graph"},
                                       {"opt", steering},
                                       {"opt", "made.tile", "--passes", steering},
                                       {"opt", "made.tile", "--target", steering},
                                       {"opt", "made.tile", "--emit", steering},
                                       {"ptx", "made.tile", "--target", steering},
                                       {"opt", "made.tile", steering},
                                       {"opt", "--" + steering},
                                       {"generate", steering},
                                       {"db", steering},
                                       {steering}};
  each_case(commands.size(), [&](std::uint64_t number) {
    Workplace place;
    place.write("made.tile", "func @f() { " + steering + " }");
    place.write("made.graph", "graph {\n  " + steering + "\n}\n");
    Outcome outcome = run(place.command(commands[number]));
    expect_answer(outcome);
    EXPECT_EQ(outcome.status, 2) << outcome.text();
    expect_no_control(outcome.out);
    expect_no_control(outcome.err);
  });
}

// Rows of the very question that a run asks, with other choices and wonderful times.
void poison(const fs::path& file, Chance& chance) {
  Rows rows;
  {
    autotune::TuningDatabase database(file, autotune::Access::read);
    database.each_row([&](const autotune::TuningRow& row) { rows.push_back(row); });
  }
  const std::int64_t numbers[] = {0, 1, 2, 3, 4, 8, 16, 17, 32, 64, 128, 1024, -1, INT64_MAX};
  Rows poisoned;
  for (const autotune::TuningRow& row : rows) {
    autotune::Configuration other = row.configuration;
    for (const auto& field : row.configuration.fields())
      if (chance.below(3) == 0) other.set(field.name, numbers[chance.below(std::size(numbers))]);
    poisoned.emplace_back(row.key, other, autotune::ok_observation({1, 1, 1}));
  }
  autotune::TuningDatabase(file).store(poisoned);
}

TEST(PoisonedRows, ChangeNoResult) {
  // Products that are worth a search on the fastest of hosts.
  const TinySizes sizes{.hidden = 64, .inner = 512};
  Words tuned = {"generate", "model",  "--prompt", std::string(48, 'm'), "--max-tokens",
                 "60",       "--json", "--mode",   "max-autotune",       "--tune-seconds"};
  // The first has time to measure something, however busy the machine is.
  Words measured = tuned;
  measured.push_back("3");
  tuned.push_back("0.3");
  Workplace first;
  write_tiny_model(first.path() / "model", sizes);
  fs::remove(first.path() / "tuning.db");
  Outcome usual = run(first.command(measured));
  ASSERT_EQ(usual.status, 0) << usual.text();
  ASSERT_GT(ids_of(usual).size(), 4u);
  ASSERT_FALSE(lines_in(first.path() / "tuning.db").empty()) << "it keeps nothing to poison";
  each_case(60, [&](std::uint64_t number) {
    Chance chance(number);
    Workplace place;
    write_tiny_model(place.path() / "model", sizes);
    fs::copy_file(first.path() / "tuning.db", place.path() / "tuning.db",
                  fs::copy_options::overwrite_existing);
    poison(place.path() / "tuning.db", chance);
    Outcome outcome = run(place.command(tuned));
    expect_answer(outcome, 1 << 20);
    EXPECT_EQ(outcome.status, 0) << outcome.text();
    EXPECT_EQ(ids_of(outcome), ids_of(usual)) << outcome.text();
  });
}

// Where temporary files go is everybody's: a link lies where a name could be foreseen.
TEST(HostileFolders, OfTemporaryFilesLeadNowhere) {
  Workplace place;
  place.write("victim", "mine");
  Command command = place.command({});
  command.words = {"/bin/sh", "-c",
                   "mkdir -p t/tilewright-ptx-$$-0 && "
                   "ln -s ../../victim t/tilewright-ptx-$$-0/kernel.ptx && "
                   "exec \"$0\" ptx program.tile --ptxas /bin/true",
                   command.words[0]};
  command.settings.push_back("TMPDIR=" + (place.path() / "t").string());
  Outcome outcome = run(command);
  expect_answer(outcome);
  EXPECT_EQ(outcome.status, 0) << outcome.text();
  EXPECT_EQ(read_file(place.path() / "victim"), "mine");
  EXPECT_EQ(std::distance(fs::directory_iterator(place.path() / "t"), fs::directory_iterator()), 1)
      << "something is left behind";
}

TEST(HostileNames, AreNoWordsOfAShell) {
  for (const char* name :
       {"x'; touch gone; '", "$(touch gone)", "x\"; touch gone; \"", "x;touch gone"})
    for (const char* where : {"option", "TILEWRIGHT_PTXAS", "TMPDIR"}) {
      SCOPED_TRACE(concat(name, " as ", where));
      Workplace place;
      fs::create_directory(place.path() / name);
      Command command = place.command({"ptx", "program.tile"});
      if (std::string_view(where) == "option")
        command.words.insert(command.words.end(), {"--ptxas", name});
      else
        command.settings.push_back(concat(where, "=", name));
      expect_answer(run(command));
      EXPECT_FALSE(fs::exists(place.path() / "gone"));
    }
}

TEST(HostileWords, ThatNoCommandTakesAreNamedAndNotCut) {
  Words generate = {"generate", "model", "--prompt", "abc"};
  const std::pair<Words, const char*> cases[] = {
      {{"--seed", "18446744073709551616"}, "--seed"},
      {{"--max-tokens", "9223372036854775808"}, "--max-tokens"},
      {{"--max-tokens", "9223372036854775807"}, "--max-tokens"},
      {{"--max-tokens", "-1"}, "--max-tokens"}};
  Workplace place;
  for (const auto& [more, said] : cases) {
    Words words = generate;
    words.insert(words.end(), more.begin(), more.end());
    Outcome outcome = run(place.command(words));
    expect_answer(outcome);
    EXPECT_EQ(outcome.status, 2) << more[1] << outcome.text();
    EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.text();
  }
  for (const char* command : {"opt", "ptx"}) {
    Outcome outcome = run(place.command({command, "model"}));
    EXPECT_EQ(outcome.status, 2) << outcome.text();
    EXPECT_NE(outcome.err.find("\"model\" is a folder"), std::string::npos) << outcome.text();
  }
}

}  // namespace
}  // namespace tilewright::drills
