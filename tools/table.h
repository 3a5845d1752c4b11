// A plain text table: columns as wide as their widest cell, numbers to the right.
#pragma once

#include <string>
#include <vector>

namespace tilewright::tools {

class Table {
 public:
  explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text() const;

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
