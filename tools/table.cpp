#include "tools/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "runtime/base/error.h"

namespace tilewright::tools {

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows_[r].size(); ++i)
      line += i == 0 ? fmt::format("{:<{}}", rows_[r][i], widths[i])
                     : fmt::format("  {:>{}}", rows_[r][i], widths[i]);
    text += line + "\n";
    if (r == 0) text += std::string(line.size(), '-') + "\n";
  }
  return text;
}

std::string Table::csv() const {
  std::string text;
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) {
      bool is_quoted = row[i].find_first_of(",\"\r\n") != std::string::npos;
      if (is_quoted) text += '"';
      for (char c : row[i]) text += c == '"' ? "\"\"" : std::string(1, c);
      if (is_quoted) text += '"';
      text += i + 1 == row.size() ? '\n' : ',';
    }
  return text;
}

std::string Table::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (std::size_t r = 1; r < rows_.size(); ++r) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < rows_[r].size(); ++i) object[rows_[0][i]] = rows_[r][i];
    list.push_back(std::move(object));
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string Table::as(const std::string& format) const {
  require(format == "table" || format == "csv" || format == "json", "[table] the format is \"",
          format, "\"; table, csv and json are known");
  return format == "table" ? text() : format == "csv" ? csv() : json();
}

std::string duration_text(double seconds) {
  if (seconds < 1e-3) return fmt::format("{:.1f} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.2f} ms", seconds * 1e3);
  return fmt::format("{:.2f} s", seconds);
}

std::string ratio_text(double ratio) { return fmt::format("{:.2f}x", ratio); }

std::string bytes_text(double bytes) {
  if (bytes < 1e3) return fmt::format("{:.0f} B", bytes);
  if (bytes < 1e6) return fmt::format("{:.1f} kB", bytes / 1e3);
  if (bytes < 1e9) return fmt::format("{:.1f} MB", bytes / 1e6);
  return fmt::format("{:.2f} GB", bytes / 1e9);
}

}  // namespace tilewright::tools
