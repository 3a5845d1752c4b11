// One object of a tokenizer.json, read member by member with the types checked.
//
// Every member is read by its name; `finish` then finds the members that were not read. A field
// that is ignored could be one that changes every id.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/files/tree.h"
#include "runtime/base/error.h"

namespace tilewright::tokenizer {

class Fields {
 public:
  // `role` is what messages call it ("the decoder"). The node must outlive this. Raises `Error`
  // where it is not an object.
  Fields(std::string_view what, const json::Node& node, std::string role);

  // Raises `Error` "[load_tokenizer] WHAT: ..." unless the condition holds.
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require(condition, "[load_tokenizer] ", what_, ": ", parts...);
  }
  const std::string& role() const { return role_; }
  std::string where() const { return "[load_tokenizer] " + std::string(what_) + ": " + role_; }

  // The member; nothing where it is absent or null.
  const json::Node* find(std::string_view name);
  // Those without a value to fall back on raise `Error` where the member is absent.
  const std::string& string(std::string_view name);
  std::string string(std::string_view name, std::string_view otherwise);
  std::string character(std::string_view name, std::string_view otherwise = "");
  bool flag(std::string_view name, bool otherwise);
  std::int64_t integer(std::string_view name, std::int64_t least, std::int64_t most);
  const std::vector<json::Node>& list(std::string_view name);
  Fields object(std::string_view name);
  Fields inside(const json::Node& node, std::string role) const { return {what_, node, role}; }

  void ignore(std::string_view name) { find(name); }  // it has no effect on the results here
  void finish() const;

 private:
  const json::Node& needed(std::string_view name, const char* kind);
  std::string_view what_;
  const json::Node* node_;
  std::string role_;
  std::set<std::string, std::less<>> asked_;
};

// A component with its type: the one that stands alone, or those of a "Sequence", also nested,
// whose list has the name given. Nothing where the node is null.
struct Component {
  Fields fields;
  std::string type;
  // Raises `Error` that names the type and the supported ones.
  [[noreturn]] void refuse(std::string_view supported) const;
};
std::vector<Component> components(std::string_view what, const json::Node* node,
                                  const std::string& role, std::string_view list);

// A pattern of the file: {"String": ..} or {"Regex": ..}.
struct Pattern {
  bool is_regex = false;
  std::string text;  // never empty
};
Pattern read_pattern(Fields& fields);

}  // namespace tilewright::tokenizer
