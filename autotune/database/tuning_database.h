// The tuning database, as the rest of the library uses it.
//
//   TuningDatabase database;                        // of the user, shared by all processes
//   Lookup found = database.lookup(key, is_in_space);
//   if (found.best) use(*found.best);               // measured with this compiler build
//   else search(found.seeds, database.rows(key));   // from the former, leaving out the latter
//   database.store({TuningRow(key, configuration, observation)});
//   Miss why = database.why_miss(key);              // for a person who asks
//
// Nothing here raises an error. If the database cannot be written, is full, is damaged, or does not
// exist, rows stay in the memory of this process; a damaged file is salvaged and replaced; invalid
// rows are left out. `diagnostics` reports the events. A `store` that returns true has brought its
// rows to the disk.
//
// Any thread may call at any time. A child after fork has the rows that were in memory and nothing
// else: it must make a database of its own.
#pragma once

#include <functional>
#include <memory>

#include "autotune/database/diagnostics.h"
#include "autotune/database/row/tuning_row.h"
#include "autotune/database/sql/access.h"
#include "runtime/owned.h"

namespace tilewright::autotune {

class GuardedStore;

struct Lookup {
  std::optional<TuningRow> best;  // the fastest that this compiler build measured
  // If there is no winner: winner and runner-up of the build that measured the question last. Good
  // guesses, to be measured again before they are used.
  std::vector<TuningRow> seeds;
};

// Why `lookup` had no `best`.
struct Miss {
  // The stored key that differs in the fewest fields; its differences, most important first. None:
  // nothing is stored of this kernel, by hash or by name.
  std::optional<TuningKey> nearest;
  std::vector<Difference> differences;  // none: the key is there
  std::int64_t failed = 0;              // of the key itself: rows, if no row is ok
  std::string text() const;             // one or two sentences
};

// What became of `replace`.
struct Replacement {
  bool is_kept = false;   // on the disk
  std::int64_t rows = 0;  // that are there now by this key and build, where it is kept
  std::string why_not;    // empty where it is kept
};

class TuningDatabase {
 public:
  using Accept = std::function<bool(const Configuration&)>;

  // `where`: a file, or postgresql://...; of "" the one that TILEWRIGHT_TUNE_DB names, or else the
  // one in the cache folder.
  explicit TuningDatabase(const std::string& where = "", Access access = Access::read_write);
  ~TuningDatabase();
  TuningDatabase(TuningDatabase&&) noexcept;
  TuningDatabase& operator=(TuningDatabase&&) noexcept;

  // `accept` says whether a configuration is in the present space of choices; others are passed
  // over.
  Lookup lookup(const TuningKey& key, const Accept& accept = {});
  // All that this build tried of the key, whatever came of it.
  std::vector<TuningRow> rows(const TuningKey& key);
  // The best of other keys of the same kernel, by hash or name, on the same device: the nearest
  // problems first.
  std::vector<TuningRow> neighbours(const TuningKey& key, std::size_t limit,
                                    const Accept& accept = {});
  // Joined with what is there of them. True if they will outlive this process.
  bool store(const std::vector<TuningRow>& rows);
  // `rows`, which are of that key, in the place of all that is there of it by its build: in one
  // step, so that a process that is killed leaves the one or the other. If a row is wrong, or the
  // database cannot take them, the old rows stay.
  Replacement replace(const TuningKey& key, const std::vector<TuningRow>& rows);
  Miss why_miss(const TuningKey& key);
  Diagnostics diagnostics() const;

  // For tools. In an order that only the contents decide; false if it ended before all were seen.
  bool each_row(const std::function<void(const TuningRow&)>& each);
  bool each_key(const std::function<void(const TuningKey&)>& each);  // without compilers
  std::vector<TuningRow> rows_of_question(const TuningKey& key);     // by any build
  bool remove(const std::vector<TuningRow>& rows);
  DatabaseCounts counts();
  // The problems that the database finds in its structures.
  std::vector<std::string> problems();
  // Removes rows that cannot be read, mends indexes, salvages anything damaged beyond that, and
  // frees unused space; returns how many rows were removed.
  std::int64_t clean();

 private:
  Owned<GuardedStore> state_;
};

}  // namespace tilewright::autotune
