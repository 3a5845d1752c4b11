#include "autotune/database/store.h"

#include <algorithm>
#include <deque>
#include <set>
#include <tuple>

#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr int row_columns = 9;

StoredRow columns_of(const SqlRow& cells) {
  return {
      cells.integer(0), cells.integer(1), std::string(cells.text(2)), std::string(cells.text(3)),
      cells.real(4),    cells.real(5),    cells.integer(6),           std::string(cells.text(7)),
      cells.integer(8)};
}

StoredKey key_columns_of(const SqlRow& cells, int first) {
  return {cells.integer(first), std::string(cells.text(first + 1)),
          std::string(cells.text(first + 2)), std::string(cells.text(first + 3)),
          std::string(cells.text(first + 4))};
}

// Reads the rows of `all_rows`, keeping the key and the build of the row before.
class RowReader {
 public:
  std::variant<TuningRow, std::string> read(const SqlRow& cells) {
    if (cells.is_null(row_columns)) return "the key of a row is missing";
    if (cells.is_null(row_columns + 5)) return "the compiler of a row is missing";
    StoredRow stored = columns_of(cells);
    if (!key_ || stored.key != key_id_) {
      key_.reset();
      auto read = read_key(key_columns_of(cells, row_columns));
      if (auto* problem = std::get_if<std::string>(&read)) return std::move(*problem);
      key_ = std::move(std::get<TuningKey>(read));
      key_id_ = stored.key;
      has_build_ = false;
    }
    if (!has_build_ || stored.build != build_id_) {
      has_build_ = false;
      names_.reset();
      auto read = read_compiler({stored.build, std::string(cells.text(row_columns + 5))});
      if (auto* problem = std::get_if<std::string>(&read)) return std::move(*problem);
      key_->compiler = std::move(std::get<Record>(read));
      build_id_ = stored.build;
      has_build_ = true;
    }
    if (!names_) names_.emplace(*key_);
    return read_row(stored, *key_, *names_);
  }

 private:
  std::optional<TuningKey> key_;
  std::optional<KeyNames> names_;
  std::int64_t key_id_ = 0, build_id_ = 0;
  bool has_build_ = false;
};

// Where a row lies in the table.
struct RowAddress {
  const KeyNames* names;
  const TuningRow* row;
  auto order() const { return std::tie(names->key, names->build, row->configuration); }
};

}  // namespace

Store::Store(std::unique_ptr<SqlConnection> connection,
             std::function<void(const std::string&)> on_reject)
    : connection_(std::move(connection)), on_reject_(std::move(on_reject)) {}

void Store::reject(const std::string& why) const {
  if (on_reject_) on_reject_(why);
}

std::vector<TuningRow> Store::read_rows(const TuningKey& key, Statement statement,
                                        std::initializer_list<SqlValue> parameters) {
  std::vector<StoredRow> stored;
  connection_->run(statement, parameters,
                   [&](const SqlRow& cells) { stored.push_back(columns_of(cells)); });
  std::vector<TuningRow> rows;
  KeyNames names(key);
  for (const StoredRow& one : stored) {
    auto read = read_one(one, key, names);
    if (auto* problem = std::get_if<std::string>(&read))
      reject(*problem);
    else
      rows.push_back(std::move(std::get<TuningRow>(read)));
  }
  return rows;
}

std::optional<std::string> Store::stored_name(std::int64_t key) {
  std::optional<std::string> name;
  connection_->run(Statement::find_key, {key}, [&](const SqlRow& cells) { name = cells.text(1); });
  return name;
}

// The caller may know the key by another name than the one that the checksum covers.
std::variant<TuningRow, std::string> Store::read_one(const StoredRow& stored, const TuningKey& key,
                                                     KeyNames& names) {
  auto read = read_row(stored, key, names);
  if (std::holds_alternative<TuningRow>(read)) return read;
  std::optional<std::string> name = stored_name(names.key);
  if (!name || *name == names.kernel) return read;
  names.kernel = *name;
  return read_row(stored, key, names);
}

std::vector<TuningRow> Store::best(const TuningKey& key, std::int64_t limit) {
  return read_rows(key, Statement::best_rows, {key_id(key), build_id(key.compiler), limit});
}

std::vector<TuningRow> Store::rows(const TuningKey& key) {
  std::vector<TuningRow> rows = rows_of_question(key);
  std::erase_if(rows, [&](const TuningRow& t) { return t.key.compiler != key.compiler; });
  return rows;
}

std::vector<Record> Store::other_builds(const TuningKey& key) {
  std::vector<Record> builds;
  connection_->run(Statement::builds_of_key, {key_id(key)}, [&](const SqlRow& cells) {
    auto read = read_compiler({cells.integer(0), std::string(cells.text(1))});
    if (auto* problem = std::get_if<std::string>(&read))
      reject(*problem);
    else if (std::get<Record>(read) != key.compiler)
      builds.push_back(std::move(std::get<Record>(read)));
  });
  return builds;
}

std::vector<TuningRow> Store::rows_of_question(const TuningKey& key) {
  std::vector<Record> builds = other_builds(key);
  builds.push_back(key.compiler);
  std::vector<StoredRow> stored;
  connection_->run(Statement::rows_of_key, {key_id(key)},
                   [&](const SqlRow& cells) { stored.push_back(columns_of(cells)); });
  std::vector<TuningRow> rows;
  for (const StoredRow& one : stored) {
    TuningKey full = key;
    for (const Record& build : builds)
      if (build_id(build) == one.build) full.compiler = build;
    KeyNames names(full);
    auto read = read_one(one, full, names);
    if (auto* problem = std::get_if<std::string>(&read))
      reject(*problem);
    else
      rows.push_back(std::move(std::get<TuningRow>(read)));
  }
  return rows;
}

std::optional<TuningKey> Store::read_key_row(const SqlRow& cells, int first_column) const {
  auto read = read_key(key_columns_of(cells, first_column));
  if (auto* problem = std::get_if<std::string>(&read)) {
    reject(*problem);
    return {};
  }
  return std::move(std::get<TuningKey>(read));
}

std::vector<TuningKey> Store::keys_like(const TuningKey& key, std::int64_t limit) {
  std::vector<TuningKey> keys;
  std::set<std::int64_t> seen;
  auto add = [&](const SqlRow& cells) {
    if (std::optional<TuningKey> read = read_key_row(cells, 0))
      if (seen.insert(key_id(*read)).second) keys.push_back(std::move(*read));
  };
  StoredKey stored = stored_key(key);
  connection_->run(Statement::keys_of_hash, {stored.kernel_hash, limit}, add);
  connection_->run(Statement::keys_named, {stored.kernel, limit}, add);
  return keys;
}

bool Store::put_one(const TuningRow& row, const KeyNames& names) {
  TuningRow joined = row;
  // Again only where another connection changes the same row between two statements.
  for (int attempt = 0; attempt < 100; ++attempt) {
    StoredRow t = stored_row(joined, names);
    std::initializer_list<SqlValue> columns = {t.key,     t.build,        t.configuration,
                                               t.status,  t.median_ns,    t.spread_ns,
                                               t.date_ms, t.observations, t.checksum};
    if (connection_->run(Statement::add_row, columns) > 0) return true;
    std::optional<StoredRow> there;
    connection_->run(Statement::find_row, {t.key, t.build, t.configuration},
                     [&](const SqlRow& cells) { there = columns_of(cells); });
    if (!there) continue;
    auto read = read_row(*there, row.key, names);
    if (auto* problem = std::get_if<std::string>(&read)) {
      reject(*problem);  // and is replaced
    } else {
      const auto& stored = std::get<TuningRow>(read);
      joined.observations = join(row.observations, stored.observations);
      if (joined.observations == stored.observations) return false;
      t = stored_row(joined, names);
    }
    if (connection_->run(Statement::replace_row,
                         {t.key, t.build, t.configuration, t.status, t.median_ns, t.spread_ns,
                          t.date_ms, t.observations, t.checksum, there->checksum}) > 0)
      return true;
  }
  throw SqlError(SqlFailure::busy, "others keep changing a row");
}

// A question is stored under the alphabetically first of the names that it was given, so that
// merges agree. If that name changes, the checksums of its rows are computed again.
std::string Store::name_after_adding(const TuningKey& key) {
  StoredKey t = stored_key(key);
  std::optional<std::string> before = stored_name(t.id);
  if (before && *before <= t.kernel) return *before;
  std::vector<TuningRow> renamed;
  if (before) renamed = rows_of_question(key);
  connection_->run(Statement::add_key, {t.id, t.kernel, t.kernel_hash, t.problem, t.device});
  for (const TuningRow& row : renamed) {
    KeyNames names(row.key);
    names.kernel = t.kernel;
    StoredRow s = stored_row(row, names);
    connection_->run(Statement::set_checksum, {s.key, s.build, s.configuration, s.checksum});
  }
  return t.kernel;
}

std::int64_t Store::put(const std::vector<TuningRow>& rows) {
  Transaction transaction(*connection_);
  std::int64_t changed = put_in_transaction(rows);
  transaction.commit();
  return changed;
}

void Store::replace(const TuningKey& key, const std::vector<TuningRow>& rows) {
  Transaction transaction(*connection_);
  connection_->run(Statement::remove_rows_of_key, {key_id(key), build_id(key.compiler)});
  put_in_transaction(rows);
  transaction.commit();
}

std::int64_t Store::put_in_transaction(const std::vector<TuningRow>& rows) {
  // One order for all writers: two of them never wait for each other.
  std::deque<KeyNames> names;
  std::vector<RowAddress> places;
  for (const TuningRow& row : rows) {
    bool is_alike = !places.empty() && places.back().row->key == row.key;
    if (!is_alike) names.emplace_back(row.key);
    places.push_back({&names.back(), &row});
  }
  std::ranges::sort(places, {}, &RowAddress::order);
  std::int64_t changed = 0;
  const KeyNames* before = nullptr;
  std::string name;
  for (const auto& [of_key, row] : places) {
    if (before == nullptr || before->key != of_key->key || before->build != of_key->build ||
        before->kernel != of_key->kernel) {
      name = name_after_adding(row->key);
      StoredBuild build = stored_build(row->key);
      connection_->run(Statement::add_build, {build.id, build.compiler});
    }
    before = of_key;
    if (name == of_key->kernel) {
      changed += put_one(*row, *of_key) ? 1 : 0;
    } else {
      KeyNames names = *of_key;
      names.kernel = name;
      changed += put_one(*row, names) ? 1 : 0;
    }
  }
  return changed;
}

void Store::remove(const std::vector<TuningRow>& rows) {
  Transaction transaction(*connection_);
  for (const TuningRow& row : rows)
    connection_->run(Statement::remove_row,
                     {key_id(row.key), build_id(row.key.compiler), row.configuration.text()});
  connection_->run(Statement::remove_unused_keys, {});
  connection_->run(Statement::remove_unused_builds, {});
  transaction.commit();
}

void Store::each_key(const std::function<void(const TuningKey&)>& each) {
  connection_->run(Statement::all_keys, {}, [&](const SqlRow& cells) {
    if (std::optional<TuningKey> key = read_key_row(cells, 0)) each(*key);
  });
}

void Store::each_row(const std::function<void(const TuningRow&)>& each) {
  RowReader reader;
  connection_->run(Statement::all_rows, {}, [&](const SqlRow& cells) {
    auto read = reader.read(cells);
    if (auto* problem = std::get_if<std::string>(&read))
      reject(*problem);
    else
      each(std::get<TuningRow>(read));
  });
}

std::int64_t Store::remove_rejected() {
  std::vector<StoredRow> wrong;
  RowReader reader;
  Transaction transaction(*connection_);
  connection_->run(Statement::all_rows, {}, [&](const SqlRow& cells) {
    if (std::holds_alternative<std::string>(reader.read(cells))) wrong.push_back(columns_of(cells));
  });
  for (const StoredRow& t : wrong)
    connection_->run(Statement::remove_row, {t.key, t.build, t.configuration});
  connection_->run(Statement::remove_unused_keys, {});
  connection_->run(Statement::remove_unused_builds, {});
  transaction.commit();
  return static_cast<std::int64_t>(wrong.size());
}

DatabaseCounts Store::counts() {
  auto count = [&](Statement statement) {
    std::int64_t number = 0;
    connection_->run(statement, {}, [&](const SqlRow& cells) { number = cells.integer(0); });
    return number;
  };
  return {count(Statement::count_rows), count(Statement::count_keys),
          count(Statement::count_builds), connection_->size_bytes()};
}

}  // namespace tilewright::autotune
