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
struct Place {
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
  std::vector<TuningRow> rows;
  KeyNames names(key);
  connection_->run(statement, parameters, [&](const SqlRow& cells) {
    auto read = read_row(columns_of(cells), key, names);
    if (auto* problem = std::get_if<std::string>(&read))
      reject(*problem);
    else
      rows.push_back(std::move(std::get<TuningRow>(read)));
  });
  return rows;
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
  std::vector<TuningRow> rows;
  connection_->run(Statement::rows_of_key, {key_id(key)}, [&](const SqlRow& cells) {
    StoredRow stored = columns_of(cells);
    TuningKey full = key;
    for (const Record& build : builds)
      if (build_id(build) == stored.build) full.compiler = build;
    auto read = read_row(stored, full, KeyNames(full));
    if (auto* problem = std::get_if<std::string>(&read))
      reject(*problem);
    else
      rows.push_back(std::move(std::get<TuningRow>(read)));
  });
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

std::int64_t Store::put(const std::vector<TuningRow>& rows) {
  // One order for all writers: two of them never wait for each other.
  std::deque<KeyNames> names;
  std::vector<Place> places;
  for (const TuningRow& row : rows) {
    bool is_alike = !places.empty() && places.back().row->key == row.key;
    if (!is_alike) names.emplace_back(row.key);
    places.push_back({&names.back(), &row});
  }
  std::ranges::sort(places, {}, &Place::order);
  std::int64_t changed = 0;
  Transaction transaction(*connection_);
  const KeyNames* before = nullptr;
  for (const auto& [of_key, row] : places) {
    if (before == nullptr || before->key != of_key->key || before->build != of_key->build) {
      StoredKey key = stored_key(row->key);
      StoredBuild build = stored_build(row->key);
      connection_->run(Statement::add_key,
                       {key.id, key.kernel, key.kernel_hash, key.problem, key.device});
      connection_->run(Statement::add_build, {build.id, build.compiler});
    }
    changed += put_one(*row, *of_key) ? 1 : 0;
    before = of_key;
  }
  transaction.commit();
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
