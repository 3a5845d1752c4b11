// The members of a Hugging Face config.json, read with their types checked.
//
// The file is foreign: its text is limited, every error names the file, the member, what it is and
// what would be right, and what a model would otherwise silently not do is refused.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/json/tree.h"

namespace tilewright {

class ConfigFields {
 public:
  // `operation` begins the errors, `what` names the file. Raises `Error` unless `text` is an
  // object.
  ConfigFields(std::string_view text, std::string_view operation, std::string_view what);

  bool has(std::string_view name) const { return find(name) != nullptr; }  // and is not null
  // Absent and null members have the default; without one they are an error.
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  double number(std::string_view name, double missing) const;
  bool boolean(std::string_view name, bool missing) const;
  std::string text(std::string_view name) const;
  std::vector<std::int64_t> ids(std::string_view name) const;  // one id or a list of them
  // Raise `Error` for another value than the only one that is supported.
  void expect(std::string_view name, std::string_view supported) const;
  void expect_flag(std::string_view name, bool supported) const;
  void expect_absent(std::string_view name, std::string_view meaning) const;

 private:
  const json::Node* find(std::string_view name) const;
  json::Node root_;
  std::string_view operation_, what_;
};

// Raises `Error` unless low <= value <= high.
void check_config_range(std::string_view operation, std::string_view what, std::string_view name,
                        std::int64_t value, std::int64_t low, std::int64_t high);

// The member model_type of the file.
std::string model_type_of(const std::filesystem::path& config);

}  // namespace tilewright
