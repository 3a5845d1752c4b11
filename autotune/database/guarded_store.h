// A store that raises nothing: whatever happens to the database, the caller goes on.
//
// It opens the database when it is first used, tries again what others were in the way of, opens
// anew what was lost or replaced, salvages what is damaged, and keeps in the memory of the process
// what the database could not take. Thread safe under its mutex, which the caller holds.
#pragma once

#include <chrono>
#include <mutex>

#include "autotune/database/location.h"
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
  void put_in_memory(const std::vector<TuningRow>& rows);

  void reject(const std::string& why);
  const Diagnostics& diagnostics() const { return diagnostics_; }
  std::mutex mutex;

 private:
  bool attempt(const Action& action, int times);
  bool is_open();
  void leave_to_parent();
  // What can be done about it is done.
  bool is_worth_another(const SqlError& error, int attempt);
  bool mend();
  void close_for_good();
  void try_memory(const Action& action);
  void note(const std::string& message);
  void add_message(const std::string& message);

  Location location_;
  Access access_;
  std::int64_t owner_;  // process
  std::unique_ptr<Store> primary_, memory_;
  std::uint64_t inode_ = 0;
  bool is_closed_for_good_ = false;
  std::chrono::steady_clock::time_point next_opening_{};
  Diagnostics diagnostics_;
};

}  // namespace tilewright::autotune
