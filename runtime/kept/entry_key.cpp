#include "runtime/kept/entry_key.h"

#include <algorithm>

namespace tilewright {

EntryKey& EntryKey::add(std::string_view name, std::string_view value) {
  KeyField field{std::string(name), std::string(value)};
  std::ranges::replace(field.value, '\n', ' ');
  fields_.push_back(std::move(field));
  return *this;
}

EntryKey& EntryKey::add(const EntryKey& others) {
  fields_.insert(fields_.end(), others.fields_.begin(), others.fields_.end());
  return *this;
}

Hash EntryKey::hash() const {
  Hasher hasher;
  for (const KeyField& field : fields_) hasher.add(field.name).add(field.value);
  return hasher.finish();
}

std::string_view EntryKey::value_of(std::string_view name) const {
  auto found = std::ranges::find(fields_, name, &KeyField::name);
  return found == fields_.end() ? std::string_view() : found->value;
}

std::string EntryKey::text() const {
  std::string text;
  for (const KeyField& field : fields_) text += field.name + "=" + field.value + "\n";
  return text;
}

EntryKey EntryKey::parse(std::string_view text) {
  EntryKey key;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (const std::size_t equals = line.find('='); equals != std::string_view::npos)
      key.add(line.substr(0, equals), line.substr(equals + 1));
  }
  return key;
}

std::vector<KeyDifference> differences(const EntryKey& wanted, const EntryKey& found) {
  std::vector<KeyDifference> result;
  for (const KeyField& field : wanted.fields())
    if (const std::string_view there = found.value_of(field.name); there != field.value)
      result.push_back({field.name, field.value, std::string(there)});
  for (const KeyField& field : found.fields())
    if (std::ranges::find(wanted.fields(), field.name, &KeyField::name) == wanted.fields().end())
      result.push_back({field.name, "", field.value});
  return result;
}

}  // namespace tilewright
