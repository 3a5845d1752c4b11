// A user's folder: a tuning database with rows, another one and an export with other rows, a small
// model, a tile program, and the last export. Each drill works in a copy of its own, and at the end
// the database must be what it was, or more.
#pragma once

#include <nlohmann/json.hpp>

#include "tests/drills/child.h"
#include "tests/drills/tuned_file.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {

using Words = std::vector<std::string>;

// The rows of tuning.db, and those of new.db and new.jsonl.
const Rows& old_rows();
const Rows& new_rows();
// The lines of both.
const Lines& all_lines();
// The contents of out.jsonl.
extern const char* const last_export;

// Small words for what takes the command some time otherwise.
Words generate_words();  // some ids, as JSON
Words tune_words();      // keeps what it measures, of `tuned_kernel`
extern const char* const tuned_kernel;

class Workplace {
 public:
  Workplace() { fill(folder_.path()); }
  // Another folder as it is here at the beginning.
  static void fill(const std::filesystem::path& folder);
  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path write(std::string_view name, std::string_view bytes) const {
    return folder_.write(name, bytes);
  }
  // `tilewright` with these words, here, with tuning.db as the database.
  Command command(Words words) const { return command_in(path(), std::move(words)); }
  static Command command_in(const std::filesystem::path& folder, Words words);

 private:
  ScratchFolder folder_;
};

// Expects that the folder's database is whole, was not moved away, has all old rows and takes rows.
void expect_usable(const std::filesystem::path& folder);
// The result of generate_words(); null if the run left no record.
nlohmann::json ids_of(const Outcome& outcome);
// True if the ids are those of an undisturbed run.
bool has_said_ids(const Outcome& outcome);

}  // namespace tilewright::drills
