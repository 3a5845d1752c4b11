#include "tests/drills/workplace.h"

#include <gtest/gtest.h>

#include "tests/drills/tiny_model.h"

namespace tilewright::drills {

namespace fs = std::filesystem;

const char* const last_export = "the last good export\n";
const char* const tuned_kernel = "layer_norm of 768";

const Rows& old_rows() {
  static const Rows made = batch_of_rows(0, 12);
  return made;
}

const Rows& new_rows() {
  static const Rows made = batch_of_rows(1, 12);
  return made;
}

const Lines& all_lines() {
  static const Lines made = [] {
    Lines all = lines_of(old_rows());
    all.merge(lines_of(new_rows()));
    return all;
  }();
  return made;
}

Words generate_words() {
  return {"generate", "model", "--prompt", "abc", "--max-tokens", "9", "--json"};
}

Words tune_words() {
  return {"tune",     "--keep", "--trials",         "2",     "--seconds", "2",
          "--rounds", "2",      "--sample-seconds", "0.001", tuned_kernel};
}

void Workplace::fill(const fs::path& folder) {
  static const ScratchFolder made;
  if (!fs::exists(made.path() / "model")) {
    make_database(made.path() / "tuning.db", old_rows());
    make_database(made.path() / "new.db", new_rows());
    write_export(made.path() / "new.jsonl", new_rows());
    made.write("out.jsonl", last_export);
    made.write("program.tile",
               "func @f(%p: ptr<f32>) {\n  %x = constant 1 : f32\n  store %p, %x\n}\n");
    write_tiny_model(made.path() / "model");
  }
  fs::copy(made.path(), folder, fs::copy_options::recursive | fs::copy_options::overwrite_existing);
}

Command Workplace::command_in(const fs::path& folder, Words words) {
  Command command = tilewright_command(folder, std::move(words));
  command.settings = {"TILEWRIGHT_TUNE_DB=" + (folder / "tuning.db").string()};
  return command;
}

void expect_usable(const fs::path& folder) {
  Outcome verified = run(Workplace::command_in(folder, {"db", "verify"}));
  EXPECT_EQ(verified.status, 0) << verified.text();
  EXPECT_TRUE(includes_all(lines_in(folder / "tuning.db"), lines_of(old_rows())))
      << "rows are lost";
  EXPECT_EQ(count_moved_away(folder), 0) << "a healthy database was moved away";
  Outcome imported = run(Workplace::command_in(folder, {"db", "import", "new.jsonl"}));
  EXPECT_EQ(imported.status, 0) << imported.text();
  EXPECT_TRUE(includes_all(lines_in(folder / "tuning.db"), all_lines()));
}

nlohmann::json ids_of(const Outcome& outcome) {
  auto report = nlohmann::json::parse(outcome.out, nullptr, false);
  return report.is_object() ? report.value("ids", nlohmann::json()) : nlohmann::json();
}

bool has_said_ids(const Outcome& outcome) {
  static const nlohmann::json usual = [] {
    Workplace place;
    Outcome undisturbed = run(place.command(generate_words()));
    EXPECT_EQ(undisturbed.status, 0) << undisturbed.text();
    return ids_of(undisturbed);
  }();
  return usual.size() > 4 && ids_of(outcome) == usual;
}

}  // namespace tilewright::drills
