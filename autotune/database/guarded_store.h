// A store that raises nothing: whatever happens to the database, the caller goes on.
//
// It opens the database at its first use, waits for other processes as long as it may (patience.h),
// reopens it if it was lost or replaced, salvages damaged files, and keeps rows that the database
// could not take in the memory of the process. If a database cannot be used any more, this is
// reported on stderr, once per process. Thread safe under its mutex, which the caller holds.
#pragma once

#include <chrono>
#include <mutex>
#include <optional>

#include "autotune/database/diagnostics.h"
#include "autotune/database/sql/location.h"
#include "autotune/database/store.h"

namespace tilewright::autotune {

class GuardedStore {
 public:
  using Action = std::function<void(Store&)>;
  GuardedStore(Location location, Access access);

  // Runs `action` on the database; whether it succeeded. It may be started several times.
  bool attempt(const Action& action);
  // Likewise, but started only once: for actions that pass rows on as they come.
  bool attempt_once(const Action& action);
  // Acts on the database and on the rows in memory beside it.
  void attempt_everywhere(const Action& action);
  void attempt_in_memory(const Action& action);

  // If rows could not be kept: prints the reason once, where there is a place that would keep them.
  void say_not_kept() const;

  void reject(const std::string& why);
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const std::string& last_failure() const { return last_failure_; }
  std::mutex mutex;

 private:
  bool attempt(const Action& action, int times);
  bool is_done(const Action& action, int times);
  bool is_open();
  void leave_to_parent();
  // Makes possible repairs; returns whether another attempt makes sense.
  bool is_worth_another(const SqlError& error, int attempt);
  bool mend();
  bool is_whole_after_all();
  void say_once(const std::string& message) const;
  void say_left_alone(const std::string& why) const;
  void close_for_good();
  void note(const std::string& message);
  void add_message(const std::string& message);

  Location location_;
  Access access_;
  std::int64_t owner_;  // process
  std::unique_ptr<Store> primary_, memory_;
  std::uint64_t inode_ = 0;
  std::string last_failure_;
  std::optional<SqlError> why_not_written_;  // the last failure that says so
  bool is_closed_for_good_ = false;
  std::chrono::steady_clock::time_point next_opening_{};
  Diagnostics diagnostics_;
};

}  // namespace tilewright::autotune
