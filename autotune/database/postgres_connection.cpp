#include "autotune/database/postgres_connection.h"

#include <array>
#include <charconv>
#include <cstdlib>

#include "autotune/database/libpq.h"
#include "autotune/database/schema.h"
#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

// Values of libpq's enums, which its header fixes.
constexpr int connection_ok = 0;
constexpr int command_ok = 1, tuples_ok = 2, single_tuple = 9;
constexpr int sqlstate_field = 'C';
// All that change the tables take this lock: "TWTN".
constexpr int schema_lock = application_id;

SqlFailure kind_of(std::string_view sqlstate) {
  if (sqlstate == "40001" || sqlstate == "40P01" || sqlstate == "55P03") return SqlFailure::busy;
  if (sqlstate.starts_with("53")) return SqlFailure::full;  // insufficient resources
  if (sqlstate == "25006" || sqlstate == "42501") return SqlFailure::read_only;
  if (sqlstate.starts_with("08") || sqlstate.starts_with("57P")) return SqlFailure::lost;
  return SqlFailure::unavailable;
}

class PostgresRow final : public SqlRow {
 public:
  PostgresRow(const Libpq& api, const PGresult* result) : api_(api), result_(result) {}
  bool is_null(int column) const override { return api_.PQgetisnull(result_, 0, column) != 0; }
  std::int64_t integer(int column) const override { return number<std::int64_t>(column); }
  double real(int column) const override { return number<double>(column); }
  std::string_view text(int column) const override {
    return {api_.PQgetvalue(result_, 0, column),
            static_cast<std::size_t>(api_.PQgetlength(result_, 0, column))};
  }

 private:
  template <typename T>
  T number(int column) const {
    T value{};
    std::string_view digits = text(column);
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
  }
  const Libpq& api_;
  const PGresult* result_;
};

class PostgresConnection final : public SqlConnection {
 public:
  PostgresConnection(const Libpq& api, const std::string& url, Access access)
      : api_(api), access_(access) {
    std::string place = url + (url.find('?') == url.npos ? "?" : "&") + "connect_timeout=5";
    connection_ = api_.PQconnectdb(place.c_str());
    try {
      if (connection_ == nullptr || api_.PQstatus(connection_) != connection_ok)
        throw SqlError(SqlFailure::unavailable, "cannot connect to the server: " + message());
      prepare_session();
      bring_up_to_date();
    } catch (...) {
      api_.PQfinish(connection_);
      throw;
    }
  }
  ~PostgresConnection() override { api_.PQfinish(connection_); }

  std::int64_t run(Statement which, std::span<const SqlValue> parameters,
                   const EachRow& each) override {
    prepare(which);
    std::vector<std::string> texts;
    for (const SqlValue& value : parameters) texts.push_back(text_of_value(value));
    std::vector<const char*> values;
    for (const std::string& text : texts) values.push_back(text.c_str());
    std::string name = name_of_statement(which);
    if (api_.PQsendQueryPrepared(connection_, name.c_str(), static_cast<int>(values.size()),
                                 values.data(), nullptr, nullptr, 0) == 0)
      fail(nullptr);
    api_.PQsetSingleRowMode(connection_);
    return take_results(each);
  }

  void begin() override { execute("BEGIN"); }
  void commit() override { execute("COMMIT"); }
  void roll_back() noexcept override { api_.PQclear(api_.PQexec(connection_, "ROLLBACK")); }

  // What a server keeps whole by itself; a row's own checksum is looked at when it is read.
  std::vector<std::string> problems() override { return {}; }
  void compact() override { execute("VACUUM tuning_rows, tuning_keys, compiler_builds"); }
  std::int64_t size_bytes() override {
    return number(
        "SELECT pg_total_relation_size('tuning_rows') + pg_total_relation_size('tuning_keys') + "
        "pg_total_relation_size('compiler_builds')");
  }
  bool is_writable() override { return access_ == Access::read_write; }
  std::string description() override {
    int version = api_.PQserverVersion(connection_);
    return concat("PostgreSQL ", version / 10000, ".", version % 10000,
                  is_writable() ? "" : ", read only", ", ", api_.PQdb(connection_), " on ",
                  api_.PQhost(connection_));
  }

 private:
  // Statements are prepared once they are used, under their numbers.
  static std::string name_of_statement(Statement which) {
    return "s" + std::to_string(static_cast<int>(which));
  }

  static std::string text_of_value(const SqlValue& value) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) return std::to_string(*integer);
    if (const auto* text = std::get_if<std::string_view>(&value)) return std::string(*text);
    char digits[32];
    auto [end, problem] = std::to_chars(digits, digits + sizeof digits, std::get<double>(value));
    return {digits, end};
  }

  void prepare(Statement which) {
    bool& is_prepared = prepared_[static_cast<std::size_t>(which)];
    if (is_prepared) return;
    PGresult* result =
        api_.PQprepare(connection_, name_of_statement(which).c_str(), text_of(which), 0, nullptr);
    finish(result);
    is_prepared = true;
  }

  // Every result of a statement is taken, whatever becomes of the first, or the connection could
  // not be used again.
  std::int64_t take_results(const EachRow& each) {
    std::int64_t changed = 0;
    std::exception_ptr problem;
    while (PGresult* result = api_.PQgetResult(connection_)) {
      try {
        int status = api_.PQresultStatus(result);
        if (status == single_tuple) {
          if (each && !problem) each(PostgresRow(api_, result));
        } else if (status == command_ok || status == tuples_ok) {
          changed = std::strtoll(api_.PQcmdTuples(result), nullptr, 10);
        } else {
          fail(result);
        }
      } catch (...) {
        if (!problem) problem = std::current_exception();
      }
      api_.PQclear(result);
    }
    if (problem) std::rethrow_exception(problem);
    return changed;
  }

  void finish(PGresult* result) {
    int status = api_.PQresultStatus(result);
    if (status != command_ok && status != tuples_ok) {
      try {
        fail(result);
      } catch (...) {
        api_.PQclear(result);
        throw;
      }
    }
    api_.PQclear(result);
  }

  void execute(const std::string& text) { finish(api_.PQexec(connection_, text.c_str())); }

  std::int64_t number(const std::string& text) {
    PGresult* result = api_.PQexec(connection_, text.c_str());
    std::int64_t value = 0;
    if (api_.PQresultStatus(result) == tuples_ok && api_.PQntuples(result) > 0)
      value = PostgresRow(api_, result).integer(0);
    finish(result);
    return value;
  }

  void prepare_session() {
    // Else they go to stderr.
    api_.PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    execute("SET client_min_messages = warning");
    execute("SET search_path = tilewright");
    execute("SET lock_timeout = '20s'");
    if (access_ == Access::read) execute("SET default_transaction_read_only = on");
  }

  bool has_tables() {
    return number(
               "SELECT count(*) FROM pg_tables WHERE schemaname = 'tilewright' AND "
               "tablename = 'schema_version'") > 0;
  }

  void bring_up_to_date() {
    std::int64_t version = has_tables() ? number("SELECT version FROM schema_version") : 0;
    if (version > schema_version)
      throw SqlError(SqlFailure::foreign, concat("the server has schema ", version,
                                                 ", of a newer version of Tilewright; ",
                                                 "this one knows up to ", schema_version));
    if (version == schema_version) return;
    if (access_ == Access::read)
      throw SqlError(SqlFailure::unavailable, "there are no tables of this version on the server");
    Transaction transaction(*this);
    execute(concat("SELECT pg_advisory_xact_lock(", schema_lock, ")"));
    if (!has_tables()) {
      execute("CREATE SCHEMA IF NOT EXISTS tilewright");
      execute("CREATE TABLE schema_version (version BIGINT NOT NULL)");
      execute("INSERT INTO schema_version VALUES (0)");
    }
    // Another may have done it meanwhile.
    for (std::int64_t at = number("SELECT version FROM schema_version"); at < schema_version; ++at)
      for (const std::string& step : schema_step(static_cast<int>(at), SqlDialect::postgres))
        execute(step);
    execute(concat("UPDATE schema_version SET version = ", schema_version));
    transaction.commit();
  }

  std::string message() const {
    std::string text = connection_ == nullptr ? "" : api_.PQerrorMessage(connection_);
    while (text.ends_with('\n')) text.pop_back();
    return text;
  }

  [[noreturn]] void fail(const PGresult* result) {
    const char* state =
        result == nullptr ? nullptr : api_.PQresultErrorField(result, sqlstate_field);
    bool is_lost = api_.PQstatus(connection_) != connection_ok;
    SqlFailure kind = is_lost ? SqlFailure::lost : kind_of(state == nullptr ? "" : state);
    throw SqlError(kind, "the server: " + message());
  }

  static constexpr std::size_t statement_count =
#define TILEWRIGHT_SQL(name, text) 1 +
#include "autotune/database/statements.def"
#undef TILEWRIGHT_SQL
      0;

  const Libpq& api_;
  Access access_;
  PGconn* connection_ = nullptr;
  std::array<bool, statement_count> prepared_{};
};

}  // namespace

std::unique_ptr<SqlConnection> open_postgres(const std::string& url, Access access) {
  const Libpq* api = libpq();
  if (api == nullptr)
    throw SqlError(SqlFailure::unavailable,
                   "PostgreSQL's client library, libpq.so.5, is not installed");
  return std::make_unique<PostgresConnection>(*api, url, access);
}

}  // namespace tilewright::autotune
