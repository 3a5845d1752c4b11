// A table: for a terminal, or for other programs. On a terminal columns are as wide as their widest
// cell, numbers stand to the right, and where a limit is given the widest columns give way. Other
// programs get numbers as numbers, with their unit in the name of the column.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tilewright::tools {

struct Column {
  std::string name;
  std::string unit = {};   // of the numbers: "ns"; "": its cells are texts or counts
  bool is_detail = false;  // left out on a terminal unless all is wanted

  Column(const char* name) : name(name) {}
  Column(std::string name, std::string unit) : name(std::move(name)), unit(std::move(unit)) {}
};
// Left out on a terminal unless all is wanted.
Column detail(const char* name);

struct Cell {
  std::string text;              // for people
  std::optional<double> number;  // for programs, in the column's unit; none: the text

  Cell(std::string text) : text(std::move(text)) {}
  Cell(const char* text) : text(text) {}
  Cell(std::string text, double number) : text(std::move(text)), number(number) {}
};

class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  void add(std::vector<Cell> row) { rows_.push_back(std::move(row)); }
  // `width`: of a line, at most, as long as no column need be narrower than its name and 12
  // characters for it; cut cells end in "...". 0: all, details included.
  std::string text(std::size_t width = 0) const;
  std::string csv() const;   // RFC 4180, but for the ends of lines; a number is its digits
  std::string json() const;  // a list of objects, names from the columns
  // "table", "csv" or "json"; raises `Error` for another. `width` is the table's.
  std::string as(const std::string& format, std::size_t width = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

// "12.3 us", "4.56 ms", "1.20 s"
std::string duration_text(double seconds);
// "1.2x"
std::string ratio_text(double ratio);
// "64.0 MB"
std::string bytes_text(double bytes);

}  // namespace tilewright::tools
