// One row as JSON, and back, trusting nothing.
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>

#include "autotune/database/exchange.h"
#include "autotune/database/row/stored_row.h"
#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::autotune {
namespace {

// In the order in which it is written.
using Json = nlohmann::ordered_json;

Json as_json(const Record& record) {
  Json fields = Json::object();
  for (const auto& [name, value] : record.fields()) fields[name] = value;
  return fields;
}

Json as_json(const Observation& o) {
  Json fields{{"status", name_of(o.status)}, {"date", date_text(o.date_ms)}};
  if (!o.samples_ns.empty()) fields["samples_ns"] = o.samples_ns;
  for (const auto& [name, note] : {std::pair{"reason", &o.reason},
                                   {"clocks", &o.clocks},
                                   {"driver", &o.driver},
                                   {"tool", &o.tool}})
    if (!note->empty()) fields[name] = *note;
  if (o.is_default) fields["default"] = true;
  return fields;
}

// The error in a line, on its way out of the functions below.
struct Wrong {
  std::string why;
};

const Json& part(const Json& json, const char* name, Json::value_t type) {
  auto found = json.find(name);
  if (found == json.end()) throw Wrong{concat("\"", name, "\" is missing")};
  if (found->type() != type) throw Wrong{concat("\"", name, "\" is of another kind")};
  return *found;
}

std::string text_part(const Json& json, const char* name) {
  return part(json, name, Json::value_t::string).get<std::string>();
}

Record record_part(const Json& json, const char* name) {
  Record record;
  for (const auto& [field, value] : part(json, name, Json::value_t::object).items()) {
    if (!Record::is_name(field) || !value.is_string())
      throw Wrong{concat("\"", name, "\" has a value that is not allowed")};
    record.set(field, value.get_ref<const std::string&>());
  }
  return record;
}

Observation observation_of(const Json& json) {
  if (!json.is_object()) throw Wrong{"an observation is of another kind"};
  Observation o;
  std::string status = text_part(json, "status"), date = text_part(json, "date");
  if (!parse_status(status)) throw Wrong{concat("the status is \"", shown(status), "\"")};
  if (!parse_date(date)) throw Wrong{concat("the date is \"", shown(date), "\"")};
  o.status = *parse_status(status);
  o.date_ms = *parse_date(date);
  if (json.contains("samples_ns"))
    for (const Json& ns : part(json, "samples_ns", Json::value_t::array)) {
      if (!ns.is_number()) throw Wrong{"a sample is not a number"};
      o.samples_ns.push_back(ns.get<double>());
    }
  for (const auto& [name, note] : {std::pair{"reason", &o.reason},
                                   {"clocks", &o.clocks},
                                   {"driver", &o.driver},
                                   {"tool", &o.tool}})
    if (json.contains(name)) *note = text_part(json, name);
  if (json.contains("default"))
    o.is_default = part(json, "default", Json::value_t::boolean).get<bool>();
  if (auto problem = problem_of(o)) throw Wrong{*problem};
  return o;
}

TuningRow row_of(const Json& json) {
  TuningRow row;
  row.key.kernel = text_part(json, "kernel");
  std::optional<Hash> hash = Hash::parse(text_part(json, "kernel_hash"));
  if (!hash) throw Wrong{"\"kernel_hash\" is not a hash"};
  row.key.kernel_hash = *hash;
  row.key.problem = record_part(json, "problem");
  row.key.device = record_part(json, "device");
  row.key.compiler = record_part(json, "compiler");
  row.configuration = record_part(json, "configuration");
  for (const Json& observation : part(json, "observations", Json::value_t::array))
    row.observations = join(row.observations, {observation_of(observation)});
  if (auto problem = problem_of(row)) throw Wrong{*problem};
  return row;
}

}  // namespace

std::string json_of(const TuningRow& row) {
  Json observations = Json::array();
  for (const Observation& o : row.observations) observations.push_back(as_json(o));
  Json json{{"kernel", row.key.kernel},
            {"kernel_hash", row.key.kernel_hash.hex()},
            {"problem", as_json(row.key.problem)},
            {"device", as_json(row.key.device)},
            {"compiler", as_json(row.key.compiler)},
            {"configuration", as_json(row.configuration)},
            {"observations", observations}};
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

std::variant<TuningRow, std::string> parse_json(const std::string& line) {
  Json json = Json::parse(line, nullptr, false);
  if (!json.is_object()) return "it is not the JSON of a row";
  try {
    return row_of(json);
  } catch (const Wrong& wrong) {
    return wrong.why;
  }
}

std::string date_text(std::int64_t date_ms) {
  std::time_t seconds = date_ms / 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[64];
  std::snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", utc.tm_year + 1900,
                utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
                static_cast<int>(date_ms % 1000));
  return text;
}

std::optional<std::int64_t> parse_date(const std::string& text) {
  std::tm utc{};
  int ms = 0, end = 0;
  int fields =
      std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d.%3dZ%n", &utc.tm_year, &utc.tm_mon,
                  &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec, &ms, &end);
  if (fields != 7) return {};
  utc.tm_year -= 1900;
  utc.tm_mon -= 1;
  std::int64_t date_ms = static_cast<std::int64_t>(timegm(&utc)) * 1000 + ms;
  // Days that there are not, and other spellings, come out otherwise.
  if (date_ms < 0 || date_text(date_ms) != text) return {};
  return date_ms;
}

}  // namespace tilewright::autotune
