#include "autotune/database/row/stored_row.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "runtime/base/error.h"
#include "runtime/files/foreign_text.h"

namespace tilewright::autotune {
namespace {

constexpr std::size_t longest_kernel_name = 256;

std::int64_t low_word(const Hash& hash) { return static_cast<std::int64_t>(hash.low); }

// Names of kernels are for people: each character that cannot be printed is shown as a question
// mark, everywhere the same.
std::string readable(std::string_view name) {
  return shown(name.substr(0, longest_kernel_name), longest_kernel_name);
}

std::string text_of(const std::vector<double>& samples) {
  std::string text;
  char digits[32];
  for (double ns : samples) {
    auto [end, problem] = std::to_chars(digits, digits + sizeof digits, ns);
    if (!text.empty()) text += ',';
    text.append(digits, end);
  }
  return text;
}

std::optional<std::vector<double>> read_samples(std::string_view text) {
  std::vector<double> samples;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at != end) {
    double ns = 0;
    auto [stop, problem] = std::from_chars(at, end, ns);
    if (problem != std::errc() || samples.size() == most_samples) return {};
    samples.push_back(ns);
    if (stop != end && (*stop != ',' || stop + 1 == end)) return {};
    at = stop == end ? end : stop + 1;
  }
  return samples;
}

Record record_of(const Observation& o) {
  Record record;
  record.set("status", name_of(o.status)).set("date_ms", o.date_ms);
  if (!o.samples_ns.empty()) record.set("samples_ns", text_of(o.samples_ns));
  if (!o.reason.empty()) record.set("reason", o.reason);
  if (!o.clocks.empty()) record.set("clocks", o.clocks);
  if (!o.driver.empty()) record.set("driver", o.driver);
  if (!o.tool.empty()) record.set("tool", o.tool);
  if (o.is_default) record.set("default", "yes");
  return record;
}

std::variant<Observation, std::string> read_observation(std::string_view line) {
  std::optional<Record> record = Record::parse(line);
  if (!record) return "an observation is not a record";
  Observation o;
  bool has_status = false, has_date = false;
  for (const auto& [name, value] : record->fields()) {
    if (name == "status") {
      std::optional<Status> status = parse_status(value);
      if (!status) return concat("the status is \"", shown(value), "\"");
      o.status = *status;
      has_status = true;
    } else if (name == "date_ms") {
      std::optional<std::int64_t> date = record->integer(name);
      if (!date) return concat("the date is \"", shown(value), "\"");
      o.date_ms = *date;
      has_date = true;
    } else if (name == "samples_ns") {
      std::optional<std::vector<double>> samples = read_samples(value);
      if (!samples) return concat("the samples are \"", shown(value), "\"");
      o.samples_ns = std::move(*samples);
    } else if (name == "reason") {
      o.reason = value;
    } else if (name == "clocks") {
      o.clocks = value;
    } else if (name == "driver") {
      o.driver = value;
    } else if (name == "tool") {
      o.tool = value;
    } else if (name == "default" && value == "yes") {
      o.is_default = true;
    } else {
      return concat("an observation has \"", name, "\"");
    }
  }
  if (!has_status || !has_date) return "an observation lacks its status or its date";
  if (auto problem = problem_of(o)) return *problem;
  return o;
}

Hasher hasher_of(const StoredRow& t, const KeyNames& names) {
  return Hasher()
      .add(names.question)
      .add(names.compiler)
      .add(t.configuration)
      .add(t.status)
      .add(t.median_ns)
      .add(t.spread_ns)
      .add(t.date_ms)
      .add(t.observations);
}

bool has_right_checksum(const StoredRow& t, const KeyNames& names) {
  Hasher hasher = hasher_of(t, names);
  // The checksum may be that of the first version, or of the present one.
  return t.checksum == low_word(hasher.finish()) ||
         t.checksum == low_word(hasher.add(names.kernel).finish());
}

bool is_near(double a, double b) { return std::abs(a - b) <= 1e-9 * (std::abs(a) + std::abs(b)); }

}  // namespace

std::int64_t key_id(const TuningKey& key) { return low_word(key.question()); }

std::int64_t build_id(const Record& compiler) {
  return low_word(Hasher().add(compiler.text()).finish());
}

KeyNames::KeyNames(const TuningKey& k)
    : question(k.question()),
      compiler(k.compiler.text()),
      kernel(readable(k.kernel)),
      key(low_word(question)),
      build(build_id(k.compiler)) {}

StoredKey stored_key(const TuningKey& key) {
  return {key_id(key), readable(key.kernel), key.kernel_hash.hex(), key.problem.text(),
          key.device.text()};
}

StoredBuild stored_build(const TuningKey& key) {
  return {build_id(key.compiler), key.compiler.text()};
}

StoredRow stored_row(const TuningRow& row, const KeyNames& names) {
  StoredRow stored;
  stored.key = names.key;
  stored.build = names.build;
  stored.configuration = row.configuration.text();
  stored.status = name_of(row.status());
  stored.median_ns = row.median_ns();
  stored.spread_ns = row.spread_ns();
  stored.date_ms = row.date_ms();
  for (const Observation& o : row.observations) {
    if (!stored.observations.empty()) stored.observations += '\n';
    stored.observations += record_of(o).text();
  }
  stored.checksum = low_word(hasher_of(stored, names).add(names.kernel).finish());
  return stored;
}

std::variant<TuningKey, std::string> read_key(const StoredKey& stored) {
  TuningKey key;
  key.kernel = readable(stored.kernel);
  std::optional<Hash> hash = Hash::parse(stored.kernel_hash);
  std::optional<Record> problem = Record::parse(stored.problem);
  std::optional<Record> device = Record::parse(stored.device);
  if (!hash) return concat("the hash of a kernel is \"", shown(stored.kernel_hash), "\"");
  if (!problem) return concat("a problem is \"", shown(stored.problem), "\"");
  if (!device) return concat("a device is \"", shown(stored.device), "\"");
  key.kernel_hash = *hash;
  key.problem = std::move(*problem);
  key.device = std::move(*device);
  if (key_id(key) != stored.id) return "a key does not match its id";
  return key;
}

std::variant<Record, std::string> read_compiler(const StoredBuild& stored) {
  std::optional<Record> compiler = Record::parse(stored.compiler);
  if (!compiler) return concat("a compiler is \"", shown(stored.compiler), "\"");
  if (build_id(*compiler) != stored.id) return "a compiler does not match its id";
  return *std::move(compiler);
}

std::variant<TuningRow, std::string> read_row(const StoredRow& stored, const TuningKey& key,
                                              const KeyNames& names) {
  if (!has_right_checksum(stored, names)) return "a checksum is wrong";
  TuningRow row;
  row.key = key;
  std::optional<Configuration> configuration = Configuration::parse(stored.configuration);
  if (!configuration) return concat("a configuration is \"", shown(stored.configuration), "\"");
  row.configuration = std::move(*configuration);
  std::string_view lines = stored.observations;
  while (!lines.empty()) {
    std::size_t end = std::min(lines.find('\n'), lines.size());
    auto read = read_observation(lines.substr(0, end));
    if (auto* problem = std::get_if<std::string>(&read)) return std::move(*problem);
    if (row.observations.size() == most_observations) return "a row has too many observations";
    row.observations.push_back(std::move(std::get<Observation>(read)));
    lines.remove_prefix(std::min(end + 1, lines.size()));
  }
  if (row.observations.empty()) return "a row has no observation";
  if (!are_in_order(row.observations)) return "observations are not in order";
  bool agrees = stored.status == name_of(row.status()) && stored.date_ms == row.date_ms() &&
                is_near(stored.median_ns, row.median_ns()) &&
                is_near(stored.spread_ns, row.spread_ns());
  if (!agrees) return "the columns of a row do not match its observations";
  return row;
}

std::optional<std::string> problem_of(const TuningRow& row) {
  for (const Record* part :
       {&row.key.problem, &row.key.device, &row.key.compiler, &row.configuration})
    if (!part->has_short_text())
      return concat("a record is too long: ", part->text().substr(0, 80), "...");
  if (row.observations.empty()) return "it has no observation";
  for (const Observation& o : row.observations)
    if (auto problem = problem_of(o)) return problem;
  return {};
}

}  // namespace tilewright::autotune
