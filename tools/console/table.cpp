#include "tools/console/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "runtime/base/error.h"

namespace tilewright::tools {
namespace {

constexpr std::size_t least_width = 12;  // of a column that gives way

// The widest give way, one character at a time, until the line fits.
void narrow(std::vector<std::size_t>& widths, std::size_t width) {
  auto line = [&] { return std::reduce(widths.begin(), widths.end(), 2 * (widths.size() - 1)); };
  while (line() > width) {
    auto widest = std::ranges::max_element(widths);
    if (*widest <= least_width) return;
    --*widest;
  }
}

std::string cut(const std::string& text, std::size_t width) {
  return text.size() <= width ? text : text.substr(0, width - 3) + "...";
}

// "median_ns"
std::string full_name(const Column& column) {
  if (column.unit.empty()) return column.name;
  std::string name = column.name + "_" + column.unit;
  std::ranges::replace(name, ' ', '_');
  return name;
}

// A number that there is none of.
bool is_absent(const Column& column, const Cell& cell) {
  return !column.unit.empty() && !cell.number;
}

nlohmann::ordered_json json_number(double number) {
  constexpr double exact = 1LL << 53;
  if (number == std::floor(number) && std::abs(number) < exact)
    return static_cast<std::int64_t>(number);
  return number;
}

std::string csv_line(const std::vector<std::string>& texts) {
  std::string line;
  for (const std::string& text : texts) {
    if (&text != &texts.front()) line += ',';
    bool is_quoted = text.find_first_of(",\"\r\n") != std::string::npos;
    if (is_quoted) line += '"';
    for (char c : text) line += c == '"' ? "\"\"" : std::string(1, c);
    if (is_quoted) line += '"';
  }
  return line + '\n';
}

}  // namespace

Column detail(const char* name) {
  Column column(name);
  column.is_detail = true;
  return column;
}

std::string Table::text(std::size_t width) const {
  std::vector<std::size_t> shown, widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (width > 0 && columns_[i].is_detail) continue;
    shown.push_back(i);
    widths.push_back(columns_[i].name.size());
    for (const auto& row : rows_) widths.back() = std::max(widths.back(), row[i].text.size());
  }
  if (width > 0) narrow(widths, width);
  auto line_of = [&](auto text_of) {
    std::string line;
    for (std::size_t i = 0; i < shown.size(); ++i) {
      std::string text = cut(text_of(shown[i]), widths[i]);
      line += i == 0 ? fmt::format("{:<{}}", text, widths[i])
                     : fmt::format("  {:>{}}", text, widths[i]);
    }
    return line + "\n";
  };
  std::string text = line_of([&](std::size_t i) { return columns_[i].name; });
  text += std::string(text.size() - 1, '-') + "\n";
  for (const auto& row : rows_) text += line_of([&](std::size_t i) { return row[i].text; });
  return text;
}

std::string Table::csv() const {
  std::vector<std::string> names;
  for (const Column& column : columns_) names.push_back(full_name(column));
  std::string text = csv_line(names);
  for (const auto& row : rows_) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < row.size(); ++i)
      texts.push_back(row[i].number                    ? fmt::format("{}", *row[i].number)
                      : is_absent(columns_[i], row[i]) ? ""
                                                       : row[i].text);
    text += csv_line(texts);
  }
  return text;
}

std::string Table::json() const {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const auto& row : rows_) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < row.size(); ++i) {
      nlohmann::ordered_json& value = object[full_name(columns_[i])];
      if (row[i].number)
        value = json_number(*row[i].number);
      else if (!is_absent(columns_[i], row[i]))
        value = row[i].text;
    }
    list.push_back(std::move(object));
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string Table::as(const std::string& format, std::size_t width) const {
  require(format == "table" || format == "csv" || format == "json", "[table] the format is \"",
          format, "\"; table, csv and json are known");
  return format == "table" ? text(width) : format == "csv" ? csv() : json();
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
