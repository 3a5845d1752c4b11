#include "models/tokenizer/normalizer.h"

#include <algorithm>
#include <array>

#include "models/files/utf8.h"
#include "models/tokenizer/text/byte_level.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::array<std::pair<std::string_view, Form>, 4> forms = {
    {{"NFC", Form::nfc}, {"NFD", Form::nfd}, {"NFKC", Form::nfkc}, {"NFKD", Form::nfkd}}};

void check_size(std::size_t size) {
  require(size <= max_normalized_bytes, "[encode] the text grows beyond ", max_normalized_bytes,
          " bytes in normalisation");
}

// Without the white space at the ends that are chosen.
std::string_view stripped(std::string_view text, bool left, bool right) {
  std::size_t begin = text.size(), end = 0, at = 0;
  for_each_character(text, [&](std::string_view bytes, char32_t value) {
    if (!is_white_space(value)) {
      begin = std::min(begin, at);
      end = at + bytes.size();
    }
    at += bytes.size();
  });
  if (!left) begin = 0;
  if (!right) end = text.size();
  return begin < end ? text.substr(begin, end - begin) : std::string_view();
}

// A character that BERT takes for a word of its own. Its authors have U+2B820 to U+2B91F too; the
// library `tokenizers`, whose ids these are, has not.
bool is_ideograph(char32_t value) {
  constexpr std::array<std::pair<char32_t, char32_t>, 7> ranges = {{{0x3400, 0x4dbf},
                                                                    {0x4e00, 0x9fff},
                                                                    {0xf900, 0xfaff},
                                                                    {0x20000, 0x2a6df},
                                                                    {0x2a700, 0x2b81f},
                                                                    {0x2b920, 0x2ceaf},
                                                                    {0x2f800, 0x2fa1f}}};
  return value >= ranges[0].first && std::ranges::any_of(ranges, [&](const auto& range) {
           return value >= range.first && value <= range.second;
         });
}

// True if BERT drops the character: control characters, private ones, and the sign for broken text,
// so that bytes that are no UTF-8 go the way that their U+FFFD would.
bool is_unclean(char32_t value) {
  constexpr char32_t replacement = 0xfffd;
  bool is_space = value == '\t' || value == '\n' || value == '\r';
  return value == replacement || value == no_character || (is_other(value) && !is_space);
}

}  // namespace

std::string Replacement::run(std::string_view in) const {
  std::string result;
  result.reserve(in.size());
  std::size_t done = 0;
  auto replace = [&](std::size_t begin, std::size_t end) {
    result += in.substr(done, begin - done);
    result += content;
    done = end;
    check_size(result.size());
  };
  if (regex) {
    RegexSearch search(*regex, in.size());
    for (Range match : search.run(in)) replace(match.begin, match.end);
  } else {
    for (std::size_t at = in.find(text); at != in.npos; at = in.find(text, done))
      replace(at, at + text.size());
  }
  result += in.substr(done);
  return result;
}

Replacement read_replacement(Fields& fields) {
  Pattern pattern = read_pattern(fields);
  Replacement result;
  if (pattern.is_regex)
    result.regex.emplace(pattern.text, fields.where());
  else
    result.text = std::move(pattern.text);
  result.content = fields.string("content");
  fields.expect(result.text.size() <= max_rule_bytes && result.content.size() <= max_rule_bytes,
                fields.role(), " has more than ", max_rule_bytes, " bytes");
  fields.finish();
  return result;
}

Normalizer::Change Normalizer::read(Component& component) {
  using Kind = Change::Kind;
  Fields& fields = component.fields;
  const std::string& type = component.type;
  Change change{Kind::form};
  for (const auto& [name, form] : forms)
    if (type == name) {
      change.form = form;
      return change;
    }
  if (type == "Prepend") {
    change.kind = Kind::prepend;
    change.prepended = fields.string("prepend");
    fields.expect(change.prepended.size() <= max_rule_bytes, fields.role(), " has more than ",
                  max_rule_bytes, " bytes");
  } else if (type == "Replace") {
    change.kind = Kind::replace;
    change.replacement = read_replacement(fields);
  } else if (type == "Strip") {
    change.kind = Kind::strip;
    change.left = fields.flag("strip_left", true);
    change.right = fields.flag("strip_right", true);
  } else if (type == "StripAccents") {
    change.kind = Kind::strip_accents;
  } else if (type == "Lowercase") {
    change.kind = Kind::lowercase;
  } else if (type == "ByteLevel") {
    change.kind = Kind::byte_level;
  } else if (type == "Precompiled") {
    change.kind = Kind::charsmap;
    change.charsmap = Charsmap(fields.string("precompiled_charsmap"), fields.where());
  } else {
    component.refuse(
        "NFC, NFD, NFKC, NFKD, Prepend, Replace, Strip, StripAccents, Lowercase, ByteLevel, "
        "BertNormalizer, Precompiled and Sequence");
  }
  return change;
}

// Several steps, each of which the file may turn off.
void Normalizer::read_bert(Fields& fields) {
  using Kind = Change::Kind;
  if (fields.flag("clean_text", true)) changes_.push_back({Kind::clean});
  if (fields.flag("handle_chinese_chars", true)) changes_.push_back({Kind::space_ideographs});
  bool lowercase = fields.flag("lowercase", true);
  if (fields.flag("strip_accents", lowercase)) {
    changes_.push_back({Kind::form, Form::nfd});
    changes_.push_back({Kind::strip_nonspacing});
  }
  if (lowercase) changes_.push_back({Kind::lowercase});
}

Normalizer::Normalizer(std::string_view what, const json::Node* node) {
  for (Component& component : components(what, node, "the normalizer", "normalizers")) {
    if (component.type == "BertNormalizer")
      read_bert(component.fields);
    else
      changes_.push_back(read(component));
    component.fields.finish();
  }
}

// The steps that look at one character after the other.
void Normalizer::rewrite(Change::Kind kind, Normalized& to) {
  using Kind = Change::Kind;
  std::string result;
  result.reserve(to.text.size());
  for_each_character(to.text, [&](std::string_view bytes, char32_t value) {
    bool is_cut = (kind == Kind::strip_accents && is_mark(value)) ||
                  (kind == Kind::strip_nonspacing && is_nonspacing(value)) ||
                  (kind == Kind::clean && is_unclean(value));
    if (is_cut && result.empty()) to.keeps_begin = false;
    if (is_cut) return;
    if (kind == Kind::lowercase && value != no_character)
      append_lower_case(result, value);
    else if (kind == Kind::clean && is_white_space(value))
      result += ' ';
    else if (kind == Kind::space_ideographs && is_ideograph(value))
      result.append(" ").append(bytes).append(" ");
    else
      result += bytes;
  });
  to.text = std::move(result);
}

void Normalizer::apply(const Change& change, Normalized& to) {
  using Kind = Change::Kind;
  std::string& text = to.text;
  switch (change.kind) {
    case Kind::form: text = normalized(text, change.form, max_normalized_bytes); return;
    case Kind::prepend:
      if (!text.empty()) text.insert(0, change.prepended);
      return;
    case Kind::replace: text = change.replacement.run(text); return;
    case Kind::strip: {
      std::string_view rest = stripped(text, change.left, change.right);
      to.keeps_begin = to.keeps_begin && rest.data() == text.data();
      text = std::string(rest);
      return;
    }
    case Kind::strip_accents:
    case Kind::strip_nonspacing:
    case Kind::lowercase:
    case Kind::clean:
    case Kind::space_ideographs: rewrite(change.kind, to); return;
    case Kind::byte_level: {
      std::string result;
      append_byte_characters(result, text);
      text = std::move(result);
      return;
    }
    case Kind::charsmap: text = change.charsmap.run(text); return;
  }
}

Normalized Normalizer::run(std::string_view text) const {
  Normalized result{std::string(text)};
  for (const Change& change : changes_) {
    apply(change, result);
    check_size(result.text.size());
  }
  return result;
}

}  // namespace tilewright::tokenizer
