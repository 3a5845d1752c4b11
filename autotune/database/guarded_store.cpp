#include "autotune/database/guarded_store.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "autotune/database/salvage.h"
#include "autotune/database/sql/patience.h"
#include "autotune/database/sql/sqlite_connection.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr int most_attempts = 4;
constexpr auto time_between_openings = std::chrono::seconds(5);
constexpr std::size_t most_known_messages = 20;

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
  bool is_answered = is_done(action, times);
  if (!is_answered) ++diagnostics_.unanswered;
  return is_answered;
}

bool GuardedStore::is_done(const Action& action, int times) {
  for (int i = 0; i < times; ++i) {
    try {
      if (!is_open()) return false;
      action(*primary_);
      return true;
    } catch (const SqlError& error) {
      note(error.what());
      if (error.kind != SqlFailure::read_only) why_not_written_ = error;
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
  if (memory_) attempt_in_memory(action);
}

// A read-only file is so by intention, and a process without HOME has no place by its nature. But a
// full disk, and a place that was named and is not there, are news to the user.
void GuardedStore::say_not_kept() const {
  if (!why_not_written_ || access_ == Access::read) return;
  bool is_full = why_not_written_->kind == SqlFailure::full;
  bool is_named = !location_.url.empty() || (!location_.file.empty() && !location_.is_ours);
  bool is_missing = why_not_written_->kind == SqlFailure::unavailable && is_named;
  if (is_full || is_missing)
    say_once(concat(why_not_written_->what(), "; other results are kept in memory"));
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
  auto connection = open_connection(location_, access_,
                                    [this](const SqlError& error) { why_not_written_ = error; });
  primary_ = std::make_unique<Store>(std::move(connection),
                                     [this](const std::string& why) { reject(why); });
  inode_ = inode_of(location_.file);
  diagnostics_.place = primary_->connection().description();
  diagnostics_.keeps = access_ == Access::read_write && primary_->connection().is_writable();
  return true;
}

// In a child after fork, the parent's open files must be neither used nor closed.
void GuardedStore::leave_to_parent() {
  owner_ = ::getpid();
  static_cast<void>(primary_.release());
  close_for_good();
  add_message("a process after fork does not use its parent's database");
}

bool GuardedStore::is_worth_another(const SqlError& error, int attempt) {
  switch (error.kind) {
    case SqlFailure::busy: {
      Patience patience;
      next_opening_ = {};
      if (patience.sleep(std::chrono::milliseconds(5 << attempt))) return true;
      say_once(concat(location_.text(), " is held by others, and this process has waited for them ",
                      Patience::of_process.count() / 1000,
                      " s in all; other results are kept in memory"));
      return false;
    }
    case SqlFailure::lost:
      primary_.reset();
      next_opening_ = {};
      return true;
    case SqlFailure::damaged: return mend();
    case SqlFailure::foreign:
      close_for_good();
      say_left_alone(error.what());
      return false;
    case SqlFailure::unavailable:
      if (!location_.url.empty() && Patience::left().count() == 0) {
        close_for_good();
        say_once(concat(location_.text(), " does not answer, and this process has waited ",
                        Patience::of_process.count() / 1000,
                        " s; its measurements stay in memory"));
      }
      [[fallthrough]];
    case SqlFailure::full:
    case SqlFailure::read_only: diagnostics_.keeps = false; return false;
  }
  return false;
}

// Looks again whether the file is sound: a single failed read makes SQLite say that it is
// malformed.
bool GuardedStore::is_whole_after_all() {
  try {
    Store store(open_connection(location_, access_));
    store.counts();
    return store.connection().problems().empty();
  } catch (const SqlError& error) {
    // These failures do not confirm that the file is damaged.
    return error.kind == SqlFailure::unavailable || error.kind == SqlFailure::busy;
  }
}

bool GuardedStore::mend() {
  primary_.reset();
  next_opening_ = {};
  try {
    if (is_whole_after_all()) return true;
    if (access_ == Access::read || location_.file.empty()) {  // it is not mended by a reader
      close_for_good();
      return false;
    }
    SalvageReport report = replace_damaged(location_.file, inode_, location_.is_ours);
    if (!report.was_replaced_already)
      add_message(concat("the database was damaged: it is now ", report.moved_to.string(), ", and ",
                         report.rows, " rows of it were saved"));
    return true;
  } catch (const std::exception& error) {
    note(error.what());
    close_for_good();
    const auto* failure = dynamic_cast<const SqlError*>(&error);
    if (failure != nullptr && failure->kind == SqlFailure::foreign) say_left_alone(error.what());
    return false;
  }
}

void GuardedStore::close_for_good() {
  primary_.reset();
  is_closed_for_good_ = true;
  diagnostics_.keeps = false;
}

void GuardedStore::attempt_in_memory(const Action& action) {
  try {
    if (!memory_)
      memory_ = std::make_unique<Store>(
          open_sqlite({}, SqliteAccess::read_write, SqliteJournal::rollback));
    action(*memory_);
  } catch (const std::exception& error) {
    note(error.what());
  }
}

void GuardedStore::say_once(const std::string& message) const {
  static std::atomic<std::int64_t> said_by = 0;  // process: a child after fork speaks for itself
  std::int64_t own = ::getpid();
  if (said_by.exchange(own) != own) std::fprintf(stderr, "tilewright: %s\n", message.c_str());
}

void GuardedStore::say_left_alone(const std::string& why) const {
  say_once(concat(why, "; it is left alone, and nothing is kept"));
}

void GuardedStore::note(const std::string& message) {
  ++diagnostics_.failures;
  last_failure_ = message;
  add_message(message);
}

void GuardedStore::add_message(const std::string& message) {
  auto& known = diagnostics_.messages;
  if (known.size() < most_known_messages && std::ranges::find(known, message) == known.end())
    known.push_back(message);
}

}  // namespace tilewright::autotune
