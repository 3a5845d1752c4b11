#include "autotune/database/row/record.h"

#include <algorithm>
#include <charconv>
#include <functional>

#include "runtime/base/error.h"

namespace tilewright::autotune {
namespace {

constexpr std::size_t longest_name = 48;
constexpr std::size_t longest_text = 8192;
constexpr std::size_t most_fields = 64;
constexpr std::string_view digits = "0123456789ABCDEF";

bool is_plain(char c) { return c > 0x20 && c < 0x7f && c != '%'; }

void append_escaped(std::string& text, std::string_view value) {
  for (char c : value) {
    if (is_plain(c)) {
      text += c;
    } else {
      auto byte = static_cast<unsigned char>(c);
      text += '%';
      text += digits[byte >> 4];
      text += digits[byte & 0xf];
    }
  }
}

std::optional<std::string> unescaped(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (!is_plain(text[i])) return {};
      value += text[i];
      continue;
    }
    if (text.size() - i < 3) return {};
    std::size_t high = digits.find(text[i + 1]), low = digits.find(text[i + 2]);
    if (high == digits.npos || low == digits.npos) return {};
    char c = static_cast<char>(high << 4 | low);
    if (is_plain(c)) return {};  // has a shorter form
    value += c;
    i += 2;
  }
  return value;
}

bool has_name_before(const Record::Field& field, std::string_view name) {
  return field.name < name;
}

}  // namespace

bool Record::is_name(std::string_view name) {
  auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  return !name.empty() && name.size() <= longest_name && is_letter(name[0]) &&
         std::ranges::all_of(
             name, [&](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

Record& Record::set(std::string_view name, std::string_view value) {
  require(is_name(name), "[record] \"", std::string(name),
          "\" cannot be the name of a value; 1 to ", longest_name,
          " letters, digits and _ can, the first a letter");
  auto at = std::ranges::lower_bound(fields_, name, {}, &Field::name);
  if (at != fields_.end() && at->name == name)
    at->value = value;
  else
    fields_.insert(at, {std::string(name), std::string(value)});
  return *this;
}

const std::string* Record::find(std::string_view name) const {
  auto at = std::lower_bound(fields_.begin(), fields_.end(), name, has_name_before);
  return at != fields_.end() && at->name == name ? &at->value : nullptr;
}

std::optional<std::int64_t> Record::integer(std::string_view name) const {
  const std::string* value = find(name);
  std::int64_t number = 0;
  if (value == nullptr) return {};
  const char* end = value->data() + value->size();
  auto [stop, problem] = std::from_chars(value->data(), end, number);
  if (problem != std::errc() || stop != end) return {};
  return number;
}

std::string Record::text() const {
  std::string text;
  for (const Field& field : fields_) {
    if (!text.empty()) text += ' ';
    text += field.name;
    text += '=';
    append_escaped(text, field.value);
  }
  return text;
}

bool Record::has_short_text() const {
  std::size_t bytes = 0;
  for (const Field& field : fields_) {
    bytes += field.name.size() + 2 + field.value.size();
    bytes +=
        2 * static_cast<std::size_t>(std::ranges::count_if(field.value, std::not_fn(is_plain)));
  }
  return fields_.size() <= most_fields && bytes <= longest_text + 1;
}

std::optional<Record> Record::parse(std::string_view text) {
  if (text.size() > longest_text) return {};
  Record record;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    std::string_view field = text.substr(begin, end - begin);
    std::size_t equals = field.find('=');
    if (equals == field.npos || record.fields_.size() == most_fields) return {};
    std::string_view name = field.substr(0, equals);
    bool in_order = record.fields_.empty() || record.fields_.back().name < name;
    std::optional<std::string> value = unescaped(field.substr(equals + 1));
    if (!is_name(name) || !in_order || !value) return {};
    record.fields_.push_back({std::string(name), std::move(*value)});
    begin = end + 1;
    if (begin == text.size()) return {};  // a space at the end
  }
  return record;
}

std::optional<Record> Record::read(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  std::ranges::sort(words, {},
                    [](std::string_view word) { return word.substr(0, word.find('=')); });
  std::string canonical;
  for (std::string_view word : words) {
    if (!canonical.empty()) canonical += ' ';
    canonical += word;
  }
  return parse(canonical);
}

}  // namespace tilewright::autotune
