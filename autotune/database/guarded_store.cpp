#include "autotune/database/guarded_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "autotune/database/salvage.h"
#include "autotune/database/sqlite_connection.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr int most_attempts = 4;
constexpr auto time_between_openings = std::chrono::seconds(5);
constexpr std::size_t most_messages = 20;

std::uint64_t inode_of(const std::filesystem::path& file) {
  struct stat facts {};
  return ::stat(file.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace

GuardedStore::GuardedStore(Location location, Access access)
    : location_(std::move(location)), access_(access), owner_(::getpid()) {
  diagnostics_.place = location_.text();
  attempt([](Store& store) { store.connection().description(); });
}

bool GuardedStore::attempt(const Action& action) { return attempt(action, most_attempts); }
bool GuardedStore::attempt_once(const Action& action) { return attempt(action, 1); }

bool GuardedStore::attempt(const Action& action, int times) {
  for (int i = 0; i < times; ++i) {
    try {
      if (!is_open()) return false;
      action(*primary_);
      return true;
    } catch (const SqlError& error) {
      note(error.what());
      if (!is_worth_another(error, i)) return false;
    } catch (const std::exception& error) {
      note(error.what());
      return false;
    }
  }
  return false;
}

void GuardedStore::attempt_everywhere(const Action& action) {
  attempt(action);
  if (memory_) try_memory(action);
}

void GuardedStore::put_in_memory(const std::vector<TuningRow>& rows) {
  try_memory([&](Store& store) { store.put(rows); });
}

void GuardedStore::reject(const std::string& why) {
  ++diagnostics_.rejected_rows;
  add_message("a row is left out: " + why);
}

bool GuardedStore::is_open() {
  if (owner_ != ::getpid()) leave_to_parent();
  if (primary_ != nullptr) return true;
  auto now = std::chrono::steady_clock::now();
  if (is_closed_for_good_ || now < next_opening_) return false;
  next_opening_ = now + time_between_openings;
  inode_ = inode_of(location_.file);
  primary_ = std::make_unique<Store>(open_connection(location_, access_),
                                     [this](const std::string& why) { reject(why); });
  inode_ = inode_of(location_.file);
  diagnostics_.place = primary_->connection().description();
  diagnostics_.keeps = access_ == Access::read_write && primary_->connection().is_writable();
  return true;
}

// What the parent has open must be neither used nor closed here.
void GuardedStore::leave_to_parent() {
  owner_ = ::getpid();
  static_cast<void>(primary_.release());
  close_for_good();
  add_message("a process after fork does not use its parent's database");
}

bool GuardedStore::is_worth_another(const SqlError& error, int attempt) {
  switch (error.kind) {
    case SqlFailure::busy:
      std::this_thread::sleep_for(std::chrono::milliseconds(5 << attempt));
      next_opening_ = {};
      return true;
    case SqlFailure::lost:
      primary_.reset();
      next_opening_ = {};
      return true;
    case SqlFailure::damaged: return mend();
    case SqlFailure::foreign: close_for_good(); return false;
    case SqlFailure::full:
    case SqlFailure::read_only:
    case SqlFailure::unavailable: diagnostics_.keeps = false; return false;
  }
  return false;
}

bool GuardedStore::mend() {
  primary_.reset();
  try {
    if (access_ == Access::read || location_.file.empty())
      throw SqlError(SqlFailure::unavailable, "it is not mended, since it is only read");
    SalvageReport report = replace_damaged(location_.file, inode_, location_.is_ours);
    if (!report.was_replaced_already)
      add_message(concat("the database was damaged: it is now ", report.moved_to.string(), ", and ",
                         report.rows, " rows of it were saved"));
    next_opening_ = {};
    return true;
  } catch (const std::exception& error) {
    note(error.what());
    close_for_good();
    return false;
  }
}

void GuardedStore::close_for_good() {
  primary_.reset();
  is_closed_for_good_ = true;
  diagnostics_.keeps = false;
}

void GuardedStore::try_memory(const Action& action) {
  try {
    if (!memory_)
      memory_ = std::make_unique<Store>(
          open_sqlite({}, SqliteAccess::read_write, SqliteJournal::rollback));
    action(*memory_);
  } catch (const std::exception& error) {
    note(error.what());
  }
}

void GuardedStore::note(const std::string& message) {
  ++diagnostics_.failures;
  add_message(message);
}

void GuardedStore::add_message(const std::string& message) {
  auto& known = diagnostics_.messages;
  if (known.size() < most_messages && std::ranges::find(known, message) == known.end())
    known.push_back(message);
}

}  // namespace tilewright::autotune
