// Names of values while the text of a program is read: which can be seen at a point, and which were
// given by a user. Apart from the parser, which knows the grammar.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "dsl/ir/function.h"

namespace tilewright::ir {

// The names that can be seen at a point of the text. A block forgets its own at its end: a table of
// its own for each block would cost time by the square of the text.
class VisibleNames {
 public:
  void clear() {
    values_.clear();
    order_.clear();
  }
  bool add(const std::string& name, Value value) {
    auto [place, is_new] = values_.emplace(name, value);
    if (is_new) order_.push_back(&place->first);  // keys stay where they are
    return is_new;
  }
  std::optional<Value> find(const std::string& name) const {
    auto found = values_.find(name);
    return found == values_.end() ? std::nullopt : std::optional(found->second);
  }
  std::size_t count() const { return order_.size(); }
  // Forgets those added after the first `count`.
  void keep(std::size_t count) {
    for (; order_.size() > count; order_.pop_back()) values_.erase(values_.find(*order_.back()));
  }

 private:
  std::unordered_map<std::string, Value> values_;
  std::vector<const std::string*> order_;
};

// The user's part of a name in the text: in "12.name" the part after the number, and with
// `keeps_names` all of one that begins with a letter; else "".
inline std::string given_name(const std::string& text, bool keeps_names) {
  std::size_t begin = text.find_first_not_of("0123456789");
  if (begin == std::string::npos) return "";
  if (begin > 0) return text[begin] == '.' ? text.substr(begin + 1) : "";
  return keeps_names ? text : "";
}

}  // namespace tilewright::ir
