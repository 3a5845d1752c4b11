#include "autotune/database/tuning_database.h"

#include <algorithm>

#include "autotune/database/guarded_store.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"

namespace tilewright::autotune {
namespace {

constexpr std::int64_t most_rows_looked_at = 1000;

void keep_accepted(std::vector<TuningRow>& rows, const TuningDatabase::Accept& accept) {
  if (accept) std::erase_if(rows, [&](const TuningRow& t) { return !accept(t.configuration); });
}

// The fastest by this compiler build, or else by the one that tried it last and has any.
std::vector<TuningRow> best_by_any(Store& store, TuningKey key,
                                   const TuningDatabase::Accept& accept) {
  std::vector<Record> builds = store.other_builds(key);
  builds.insert(builds.begin(), key.compiler);
  for (const Record& build : builds) {
    key.compiler = build;
    std::vector<TuningRow> best = store.best(key, most_rows_looked_at);
    keep_accepted(best, accept);
    if (!best.empty()) return best;
  }
  return {};
}

}  // namespace

TuningDatabase::TuningDatabase(const std::string& where, Access access)
    : state_(std::make_unique<GuardedStore>(locate(where), access)) {}
TuningDatabase::~TuningDatabase() = default;
TuningDatabase::TuningDatabase(TuningDatabase&&) noexcept = default;
TuningDatabase& TuningDatabase::operator=(TuningDatabase&&) noexcept = default;

Lookup TuningDatabase::lookup(const TuningKey& key, const Accept& accept) {
  GatedLock lock(state_->mutex);
  Lookup found;
  state_->attempt_everywhere([&](Store& store) {
    // The others only if the first is wrong, or not wanted.
    std::vector<TuningRow> best = store.best(key, 1);
    keep_accepted(best, accept);
    if (best.empty()) best = store.best(key, most_rows_looked_at);
    keep_accepted(best, accept);
    if (!best.empty() && (!found.best || best[0].median_ns() < found.best->median_ns()))
      found.best = std::move(best[0]);
  });
  if (found.best) return found;
  state_->attempt_everywhere([&](Store& store) {
    if (!found.seeds.empty()) return;
    found.seeds = best_by_any(store, key, accept);
    if (found.seeds.size() > 2) found.seeds.erase(found.seeds.begin() + 2, found.seeds.end());
  });
  return found;
}

std::vector<TuningRow> TuningDatabase::rows(const TuningKey& key) {
  std::vector<TuningRow> rows = rows_of_question(key);
  std::erase_if(rows, [&](const TuningRow& t) { return t.key.compiler != key.compiler; });
  return rows;
}

std::vector<TuningRow> TuningDatabase::rows_of_question(const TuningKey& key) {
  GatedLock lock(state_->mutex);
  std::vector<TuningRow> rows;
  state_->attempt_everywhere([&](Store& store) {
    for (TuningRow& row : store.rows_of_question(key)) {
      auto same = std::ranges::find_if(rows, [&](const TuningRow& t) {
        return t.key == row.key && t.configuration == row.configuration;
      });
      if (same == rows.end())
        rows.push_back(std::move(row));
      else
        same->observations = join(same->observations, row.observations);
    }
  });
  return rows;
}

std::vector<TuningRow> TuningDatabase::neighbours(const TuningKey& key, std::size_t limit,
                                                  const Accept& accept) {
  GatedLock lock(state_->mutex);
  std::vector<TuningRow> found;
  state_->attempt_everywhere([&](Store& store) {
    std::vector<TuningKey> keys = store.keys_like(key, most_rows_looked_at);
    std::erase_if(keys, [&](const TuningKey& k) {
      return k.device != key.device || k.question() == key.question();
    });
    auto distance = [&](const TuningKey& k) { return problem_distance(key.problem, k.problem); };
    std::ranges::stable_sort(keys, {}, distance);
    std::vector<TuningRow> near;
    for (TuningKey& other : keys) {
      if (near.size() >= limit) break;
      other.compiler = key.compiler;
      std::vector<TuningRow> best = best_by_any(store, other, accept);
      if (!best.empty()) near.push_back(std::move(best[0]));
    }
    found.insert(found.end(), near.begin(), near.end());
  });
  return found;
}

bool TuningDatabase::store(const std::vector<TuningRow>& rows) {
  GatedLock lock(state_->mutex);
  auto is_wrong = [&](const TuningRow& row) {
    std::optional<std::string> problem = problem_of(row);
    if (problem) state_->reject(*problem);
    return problem.has_value();
  };
  std::vector<TuningRow> some;  // where not all are good
  bool all_are_good = std::ranges::none_of(rows, is_wrong);
  if (!all_are_good)
    std::ranges::remove_copy_if(rows, std::back_inserter(some),
                                [](const TuningRow& row) { return problem_of(row).has_value(); });
  const std::vector<TuningRow>& good = all_are_good ? rows : some;
  if (good.empty()) return all_are_good;
  bool is_kept = state_->attempt([&](Store& store) { store.put(good); });
  if (!is_kept) {
    state_->attempt_in_memory([&](Store& store) { store.put(good); });
    state_->say_not_kept();
  }
  return is_kept && all_are_good;
}

Replacement TuningDatabase::replace(const TuningKey& key, const std::vector<TuningRow>& rows) {
  GatedLock lock(state_->mutex);
  for (const TuningRow& row : rows)
    if (std::optional<std::string> problem = problem_of(row)) {
      state_->reject(*problem);
      return {false, 0, "a row cannot be stored: " + *problem};
    }
  bool is_kept = state_->attempt([&](Store& store) { store.replace(key, rows); });
  if (is_kept) return {true, static_cast<std::int64_t>(rows.size()), {}};
  state_->attempt_in_memory([&](Store& store) { store.replace(key, rows); });
  return {false, 0, state_->last_failure()};
}

Miss TuningDatabase::why_miss(const TuningKey& key) {
  GatedLock lock(state_->mutex);
  Miss miss;
  state_->attempt_everywhere([&](Store& store) {
    std::vector<TuningKey> stored;
    for (TuningKey& like : store.keys_like(key, most_rows_looked_at)) {
      like.compiler = key.compiler;
      std::vector<Record> builds = store.other_builds(like);
      if (!store.rows(like).empty()) builds.push_back(key.compiler);
      for (const Record& build : builds) {
        like.compiler = build;
        stored.push_back(like);
      }
    }
    for (const TuningKey& other : stored) {
      std::vector<Difference> found = differences(key, other);
      bool is_nearer = !miss.nearest || found.size() < miss.differences.size();
      if (is_nearer) {
        miss.nearest = other;
        miss.differences = std::move(found);
      }
    }
  });
  if (!miss.nearest || !miss.differences.empty()) return miss;
  state_->attempt_everywhere([&](Store& store) {
    for (const TuningRow& row : store.rows(key)) miss.failed += row.is_ok() ? 0 : 1;
  });
  return miss;
}

std::string Miss::text() const {
  if (!nearest) return "nothing is stored of this kernel, neither by its hash nor by its name";
  if (differences.empty() && failed > 0)
    return concat("the key is there, with ", failed, " rows that failed");
  if (differences.empty()) return "the key is there";
  const Difference& first = differences[0];
  std::string text = concat("the nearest key that is stored differs in ", first.field, ": wanted ",
                            first.wanted, ", stored ", first.stored);
  for (std::size_t i = 1; i < differences.size(); ++i)
    text += concat(i == 1 ? "; also in " : ", ", differences[i].field);
  return text;
}

bool TuningDatabase::each_row(const std::function<void(const TuningRow&)>& each) {
  GatedLock lock(state_->mutex);
  return state_->attempt_once([&](Store& store) { store.each_row(each); });
}

bool TuningDatabase::each_key(const std::function<void(const TuningKey&)>& each) {
  GatedLock lock(state_->mutex);
  return state_->attempt_once([&](Store& store) { store.each_key(each); });
}

bool TuningDatabase::remove(const std::vector<TuningRow>& rows) {
  GatedLock lock(state_->mutex);
  return state_->attempt([&](Store& store) { store.remove(rows); });
}

DatabaseCounts TuningDatabase::counts() {
  GatedLock lock(state_->mutex);
  DatabaseCounts counts;
  state_->attempt([&](Store& store) { counts = store.counts(); });
  return counts;
}

std::vector<std::string> TuningDatabase::problems() {
  GatedLock lock(state_->mutex);
  std::vector<std::string> found;
  bool done = state_->attempt([&](Store& store) { found = store.connection().problems(); });
  if (!done) found.push_back("the database cannot be read");
  return found;
}

std::int64_t TuningDatabase::clean() {
  GatedLock lock(state_->mutex);
  std::int64_t removed = 0;
  state_->attempt([&](Store& store) {
    SqlConnection& connection = store.connection();
    connection.mend_indexes();
    removed += store.remove_rejected();
    connection.compact();
    std::vector<std::string> left = connection.problems();
    if (!left.empty()) throw SqlError(SqlFailure::damaged, left[0]);
  });
  return removed;
}

Diagnostics TuningDatabase::diagnostics() const {
  GatedLock lock(state_->mutex);
  return state_->diagnostics();
}

}  // namespace tilewright::autotune
