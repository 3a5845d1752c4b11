// A store that raises nothing: whatever happens to the database, the caller goes on.
//
// It opens the database when it is first used, waits for others as long as the process may
// (patience.h), opens anew what was lost or replaced, salvages what is damaged, and keeps in the
// memory of the process what the database could not take. What ends the use of a database for good
// is said on stderr, once a process. Thread safe under its mutex, which the caller holds.
#pragma once

#include <chrono>
#include <mutex>

#include "autotune/database/sql/location.h"
#include "autotune/database/store.h"
#include "autotune/database/tuning_database.h"

namespace tilewright::autotune {

class GuardedStore {
 public:
  using Action = std::function<void(Store&)>;
  GuardedStore(Location location, Access access);

  // Whether `action` ended on the database itself. It may be begun several times.
  bool attempt(const Action& action);
  // Likewise, begun once: for what hands on rows as they come.
  bool attempt_once(const Action& action);
  // On the database and on what is in memory beside it.
  void attempt_everywhere(const Action& action);
  void attempt_in_memory(const Action& action);

  void reject(const std::string& why);
  const Diagnostics& diagnostics() const { return diagnostics_; }
  const std::string& last_failure() const { return last_failure_; }
  std::mutex mutex;

 private:
  bool attempt(const Action& action, int times);
  bool is_done(const Action& action, int times);
  bool is_open();
  void leave_to_parent();
  // What can be done about it is done.
  bool is_worth_another(const SqlError& error, int attempt);
  bool mend();
  bool is_whole_after_all();
  void say_once(const std::string& message) const;
  void close_for_good();
  void note(const std::string& message);
  void add_message(const std::string& message);

  Location location_;
  Access access_;
  std::int64_t owner_;  // process
  std::unique_ptr<Store> primary_, memory_;
  std::uint64_t inode_ = 0;
  std::string last_failure_;
  bool is_closed_for_good_ = false;
  std::chrono::steady_clock::time_point next_opening_{};
  Diagnostics diagnostics_;
};

}  // namespace tilewright::autotune
