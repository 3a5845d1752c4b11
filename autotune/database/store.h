// Rows in the tables of an SQL database: found, joined with existing rows, listed, removed.
//
// Each row is checked as it is read; a wrong one is left out and handed to `on_reject`. Every
// function raises `SqlError`, and nothing else; TuningDatabase (tuning_database.h) is what shields
// callers from it. Not thread safe.
#pragma once

#include "autotune/database/diagnostics.h"
#include "autotune/database/row/stored_row.h"
#include "autotune/database/sql/sql_connection.h"

namespace tilewright::autotune {

class Store {
 public:
  explicit Store(std::unique_ptr<SqlConnection> connection,
                 std::function<void(const std::string&)> on_reject = {});

  // The rows of this key's compiler build, ok and fastest first, `limit` at the most.
  std::vector<TuningRow> best(const TuningKey& key, std::int64_t limit);
  // All of this key, whatever came of them.
  std::vector<TuningRow> rows(const TuningKey& key);
  // All of the question, by any build.
  std::vector<TuningRow> rows_of_question(const TuningKey& key);
  // Other builds that measured the question, the one that did last first.
  std::vector<Record> other_builds(const TuningKey& key);
  // Keys (with no compiler) of the same kernel hash, and of the same name, `limit` of each.
  std::vector<TuningKey> keys_like(const TuningKey& key, std::int64_t limit);

  // Joins every row with the existing one, in one transaction, which is on the disk on return. How
  // many changed.
  std::int64_t put(const std::vector<TuningRow>& rows);
  // In one transaction, so that either the old rows of the key by its build or `rows`, which are of
  // that key, are there, whatever becomes of the process.
  void replace(const TuningKey& key, const std::vector<TuningRow>& rows);
  void remove(const std::vector<TuningRow>& rows);

  // In the order of their ids, from one state of the database. `each` may not use this store.
  void each_key(const std::function<void(const TuningKey&)>& each);
  void each_row(const std::function<void(const TuningRow&)>& each);

  // Removes the rows that cannot be read, and keys and builds that no row names; how many rows.
  std::int64_t remove_rejected();
  DatabaseCounts counts();
  SqlConnection& connection() { return *connection_; }

 private:
  std::int64_t put_in_transaction(const std::vector<TuningRow>& rows);
  bool put_one(const TuningRow& row, const KeyNames& names);
  std::string name_after_adding(const TuningKey& key);
  std::optional<std::string> stored_name(std::int64_t key);
  std::variant<TuningRow, std::string> read_one(const StoredRow& stored, const TuningKey& key,
                                                KeyNames& names);
  void reject(const std::string& why) const;
  std::vector<TuningRow> read_rows(const TuningKey& key, Statement statement,
                                   std::initializer_list<SqlValue> parameters);
  std::optional<TuningKey> read_key_row(const SqlRow& cells, int first_column) const;

  std::unique_ptr<SqlConnection> connection_;
  std::function<void(const std::string&)> on_reject_;
};

}  // namespace tilewright::autotune
