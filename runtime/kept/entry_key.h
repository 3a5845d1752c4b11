// The key of an entry of a store: the named facts that decide the entry's content.
//
// Its own file because the facts are kept beside the content: an entry that is not found can be
// compared with those that are there, and the field that differs be named.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/hash.h"

namespace tilewright {

struct KeyField {
  std::string name, value;  // in one line each; a name has no '='
  bool operator==(const KeyField&) const = default;
};

class EntryKey {
 public:
  EntryKey() = default;
  explicit EntryKey(std::vector<KeyField> fields) : fields_(std::move(fields)) {}

  EntryKey& add(std::string_view name, std::string_view value);
  EntryKey& add(std::string_view name, const char* value) {
    return add(name, std::string_view(value));
  }
  EntryKey& add(std::string_view name, const Hash& value) { return add(name, value.hex()); }
  template <std::integral T>
  EntryKey& add(std::string_view name, T value) {
    return add(name, std::to_string(value));
  }
  EntryKey& add(const EntryKey& others);

  // Takes in names and values, in the order in which they were added.
  Hash hash() const;
  const std::vector<KeyField>& fields() const { return fields_; }
  // Empty if there is no such field.
  std::string_view value_of(std::string_view name) const;

  // A line a field, "name=value".
  std::string text() const;
  static EntryKey parse(std::string_view text);

 private:
  std::vector<KeyField> fields_;
};

// A field of which two keys have different values; "" where one of them lacks it.
struct KeyDifference {
  std::string name, wanted, found;
};
std::vector<KeyDifference> differences(const EntryKey& wanted, const EntryKey& found);

}  // namespace tilewright
