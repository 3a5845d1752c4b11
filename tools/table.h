// A table: for a terminal, with columns as wide as their widest cell and numbers to the right, or
// for other programs.
#pragma once

#include <string>
#include <vector>

namespace tilewright::tools {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;
  std::string csv() const;   // RFC 4180, but for the ends of lines
  std::string json() const;  // a list of objects, names from the header; all values are texts
  // "table", "csv" or "json"; raises `Error` for another.
  std::string as(const std::string& format) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

// "12.3 us", "4.56 ms", "1.20 s"
std::string duration_text(double seconds);
// "1.2x"
std::string ratio_text(double ratio);
// "64.0 MB"
std::string bytes_text(double bytes);

}  // namespace tilewright::tools
