// The boundary to an SQL database: statements go in, rows come out, failures are of a few kinds.
//
// There are two behind it, SQLite (sqlite_connection.h) and PostgreSQL (postgres_connection.h);
// both get their statements from one table, statements.def. A connection is used by one thread at a
// time and never in a child after fork.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tilewright::autotune {

enum class Statement {
#define TILEWRIGHT_SQL(name, text) name,
#include "autotune/database/sql/statements.def"
#undef TILEWRIGHT_SQL
};
const char* text_of(Statement statement);

// The kind of a failure determines how to handle it.
enum class SqlFailure {
  busy,         // others hold it: try again
  full,         // of the disk: reading goes on
  read_only,    // likewise
  damaged,      // the file has changed since it was written
  lost,         // the connection, or the file was replaced: reopen
  foreign,      // somebody else's database, or of a newer version of this program: leave it alone
  unavailable,  // anything else
};

class SqlError : public std::runtime_error {
 public:
  SqlError(SqlFailure kind, const std::string& what) : std::runtime_error(what), kind(kind) {}
  SqlFailure kind;
};

using SqlValue = std::variant<std::int64_t, double, std::string_view>;

// A row of results. Texts are valid until the next row; null is 0 or "".
class SqlRow {
 public:
  virtual bool is_null(int column) const = 0;
  virtual std::int64_t integer(int column) const = 0;
  virtual double real(int column) const = 0;
  virtual std::string_view text(int column) const = 0;

 protected:
  ~SqlRow() = default;
};
using EachRow = std::function<void(const SqlRow&)>;

// Every function raises `SqlError`.
class SqlConnection {
 public:
  virtual ~SqlConnection() = default;
  // How many rows it changed. `each` may run no other statement on this connection.
  virtual std::int64_t run(Statement statement, std::span<const SqlValue> parameters,
                           const EachRow& each) = 0;
  std::int64_t run(Statement statement, std::initializer_list<SqlValue> parameters,
                   const EachRow& each = {}) {
    return run(statement, std::span(parameters.begin(), parameters.size()), each);
  }
  virtual void begin() = 0;  // a transaction that writes
  virtual void commit() = 0;
  virtual void roll_back() noexcept = 0;

  // Nothing, or the problems that the database itself finds in its structures.
  virtual std::vector<std::string> problems() = 0;
  virtual void compact() = 0;  // gives room that rows no longer take back to the file system
  // Rebuilds them from the tables, if nothing but their entries is wrong. Else raises
  // `SqlError::damaged` and writes nothing.
  virtual void mend_indexes() = 0;
  virtual std::int64_t size_bytes() = 0;
  virtual bool is_writable() = 0;
  // "SQLite 3.40.1, WAL, ..." and where it is; no password.
  virtual std::string description() = 0;
};

// Begins a transaction, and rolls back unless `commit` is called.
class Transaction {
 public:
  explicit Transaction(SqlConnection& connection) : connection_(&connection) { connection.begin(); }
  ~Transaction() {
    if (connection_ != nullptr) connection_->roll_back();
  }
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit() {
    connection_->commit();
    connection_ = nullptr;
  }

 private:
  SqlConnection* connection_;
};

}  // namespace tilewright::autotune
