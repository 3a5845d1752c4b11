// The members of a Hugging Face config.json, read with their types checked.
//
// The file is foreign: its text is limited, every error names the file, the member, its value and a
// valid one. Members that were not read are known in the end, so that a feature which the model
// would silently lack is refused instead.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/tree.h"

namespace tilewright {

inline constexpr std::size_t max_config_bytes = 1 << 20;

class ConfigFields {
 public:
  // `operation` begins the errors, `what` names the file; both must outlive this. Raises `Error`
  // unless `text` is an object.
  ConfigFields(std::string_view text, std::string_view operation, std::string_view what);

  bool has(std::string_view name) const { return find(name) != nullptr; }  // and is not null
  bool is_null(std::string_view name) const;                               // there, and null
  bool is_list(std::string_view name) const;
  // Absent and null members have the default; without one they are an error.
  std::int64_t integer(std::string_view name, std::optional<std::int64_t> missing = {}) const;
  double number(std::string_view name, std::optional<double> missing = {}) const;
  bool boolean(std::string_view name, bool missing) const;
  std::string text(std::string_view name, std::optional<std::string_view> missing = {}) const;
  // The id of a token: 0 or more, or -1 for none, also where it is absent.
  std::int64_t id(std::string_view name) const;
  std::vector<std::int64_t> ids(std::string_view name) const;  // one id or a list of them
  // Lists; an absent one is empty.
  std::vector<double> numbers(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  // A member that is an object; none if it is absent. Its members' names begin with "name.".
  std::optional<ConfigFields> object(std::string_view name) const;
  // The names of all members, in the order of the text.
  std::vector<std::string> members() const;
  // Which of the `supported` texts the member is. Raises `Error` that lists them, and ends with the
  // `remedy`, if it is none of them.
  std::size_t choice(std::string_view name, std::span<const std::string_view> supported,
                     std::string_view remedy) const;
  // Raise `Error` unless the value is the only supported one.
  void expect(std::string_view name, std::string_view supported) const;
  void expect_flag(std::string_view name, bool supported) const;
  void expect_absent(std::string_view name, std::string_view meaning) const;

  // Raises `Error` that names the first member, and its value, that has not been read above, is not
  // null and not among `passed_over`.
  void refuse_unread(std::span<const std::string_view> passed_over) const;

  std::string_view operation() const { return operation_; }
  std::string_view what() const { return what_; }
  // The name as errors give it.
  std::string full_name(std::string_view name) const { return prefix_ + std::string(name); }

 private:
  ConfigFields(std::shared_ptr<const json::Node> root, std::string_view operation,
               std::string_view what, std::string prefix);
  const json::Node* find(std::string_view name) const;
  void check_id(std::string_view name, std::int64_t id) const;
  std::shared_ptr<const json::Node> root_;
  std::string_view operation_, what_;
  std::string prefix_;
  mutable std::set<std::string, std::less<>> read_;
};

// Raises `Error` unless low <= value <= high.
void check_config_range(std::string_view operation, std::string_view what, std::string_view name,
                        std::int64_t value, std::int64_t low, std::int64_t high);

}  // namespace tilewright
