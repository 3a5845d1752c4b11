#include "autotune/database/sql/postgres_connection.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>

#include "autotune/database/sql/libpq.h"
#include "autotune/database/sql/patience.h"
#include "autotune/database/sql/schema.h"
#include "runtime/base/error.h"
#include "runtime/base/thread_end.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::autotune {
namespace {

// Values of libpq's enums, which its header fixes.
constexpr int connection_ok = 0;
constexpr int command_ok = 1, tuples_ok = 2, single_tuple = 9;
constexpr int sqlstate_field = 'C';
constexpr int polling_failed = 0, polling_reads = 1, polling_is_done = 3;
using Milliseconds = std::chrono::milliseconds;
// A server gets at least this long, even if the process has used up its waiting time.
constexpr Milliseconds least_wait{200};
constexpr Milliseconds of_statement = Patience::of_process;
constexpr Milliseconds of_vacuum = std::chrono::minutes(10);
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
    try {
      connect(url);
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
  void roll_back() noexcept override {
    try {
      if (!is_silent_) execute("ROLLBACK");
    } catch (const std::exception&) {
      // The server does it by itself when the connection ends.
    }
  }

  // A server checks its own structures; the checksums of rows are checked when they are read.
  std::vector<std::string> problems() override { return {}; }
  void compact() override {
    limit_ = of_vacuum;
    execute("VACUUM tuning_rows, tuning_keys, compiler_builds");
    limit_ = of_statement;
  }
  void mend_indexes() override {}
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

  // connect_timeout of the URL, in seconds; nothing if it names none.
  static std::optional<Milliseconds> named_limit(const std::string& url) {
    constexpr std::string_view name = "connect_timeout=";
    std::size_t at = url.find(name);
    if (at == url.npos || at == 0 || (url[at - 1] != '?' && url[at - 1] != '&')) return {};
    int seconds = 0;
    const char* digits = url.data() + at + name.size();
    std::from_chars(digits, url.data() + url.size(), seconds);
    if (seconds <= 0) return {};
    return std::chrono::seconds(seconds);
  }

  // True if the socket became ready within this time.
  bool is_ready(short events, Milliseconds limit, Patience& patience) {
    auto begin = std::chrono::steady_clock::now();
    pollfd wanted{api_.PQsocket(connection_), events, 0};
    int ready = ::poll(&wanted, 1, static_cast<int>(limit.count()));
    auto waited = std::chrono::steady_clock::now() - begin;
    patience.take(std::chrono::duration_cast<Milliseconds>(waited));
    return ready != 0;
  }

  // libpq's own limit would hold for each of the addresses and kinds of encryption that it tries.
  void connect(const std::string& url) {
    auto end = std::chrono::steady_clock::now() +
               named_limit(url).value_or(std::max(Patience::left(), least_wait));
    connection_ = api_.PQconnectStart(url.c_str());
    bool is_broken = connection_ == nullptr || api_.PQstatus(connection_) == 1;
    Patience patience;
    for (int next = is_broken ? polling_failed : 2; next != polling_is_done;
         next = api_.PQconnectPoll(connection_)) {
      if (next == polling_failed)
        throw SqlError(SqlFailure::unavailable, "cannot connect to the server: " + message());
      auto left = std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !is_ready(next == polling_reads ? POLLIN : POLLOUT, left, patience))
        throw SqlError(SqlFailure::unavailable, "cannot connect to the server: it does not answer");
    }
    patience.give_back();
  }

  // Null after the last of a statement.
  PGresult* next_result() {
    Patience patience;
    auto end = std::chrono::steady_clock::now() +
               (limit_ == of_vacuum ? limit_ : std::max(Patience::left(), least_wait));
    while (api_.PQisBusy(connection_) != 0) {
      auto left = std::chrono::duration_cast<Milliseconds>(end - std::chrono::steady_clock::now());
      if (left.count() <= 0 || !is_ready(POLLIN, left, patience)) {
        is_silent_ = true;
        throw SqlError(SqlFailure::unavailable, "the server does not answer any more");
      }
      if (api_.PQconsumeInput(connection_) == 0) break;
    }
    PGresult* result = api_.PQgetResult(connection_);
    int status = result == nullptr ? command_ok : api_.PQresultStatus(result);
    bool is_good = status == command_ok || status == tuples_ok || status == single_tuple;
    if (is_good || limit_ == of_vacuum) patience.give_back();
    return result;
  }

  void prepare(Statement which) {
    bool& is_prepared = prepared_[static_cast<std::size_t>(which)];
    if (is_prepared) return;
    if (api_.PQsendPrepare(connection_, name_of_statement(which).c_str(), text_of(which), 0,
                           nullptr) == 0)
      fail(nullptr);
    take_results({});
    is_prepared = true;
  }

  // Takes every result of a statement, even if the first is an error, since otherwise the
  // connection could not be used again.
  std::int64_t take_results(const EachRow& each) {
    std::int64_t changed = 0;
    std::exception_ptr problem;
    while (PGresult* result = next_result()) {
      try {
        int status = api_.PQresultStatus(result);
        if (status == single_tuple) {
          if (each && !problem) each(PostgresRow(api_, result));
        } else if (status == tuples_ok && each && api_.PQntuples(result) > 0) {
          if (!problem) each(PostgresRow(api_, result));
        } else if (status == command_ok || status == tuples_ok) {
          changed = std::strtoll(api_.PQcmdTuples(result), nullptr, 10);
        } else {
          fail(result);
        }
      } catch (const ForcedUnwind&) {
        throw;
      } catch (...) {
        if (!problem) problem = std::current_exception();
      }
      api_.PQclear(result);
    }
    if (problem) std::rethrow_exception(problem);
    return changed;
  }

  void execute(const std::string& text, const EachRow& each = {}) {
    if (api_.PQsendQuery(connection_, text.c_str()) == 0) fail(nullptr);
    take_results(each);
  }

  // The number that a statement with one row gives.
  std::int64_t number(const std::string& text) {
    std::int64_t value = 0;
    execute(text, [&](const SqlRow& row) { value = row.integer(0); });
    return value;
  }

  void prepare_session() {
    // Else they go to stderr.
    api_.PQsetNoticeProcessor(
        connection_, [](void*, const char*) {}, nullptr);
    execute("SET client_min_messages = warning");
    execute("SET search_path = tilewright");
    execute(concat("SET lock_timeout = '", of_statement.count() * 3 / 4, "ms'"));
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
    return shown(text, 300);
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
#include "autotune/database/sql/statements.def"
#undef TILEWRIGHT_SQL
      0;

  const Libpq& api_;
  Access access_;
  PGconn* connection_ = nullptr;
  Milliseconds limit_ = of_statement;
  bool is_silent_ = false;
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
