#include "models/tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>

#include "models/files/utf8.h"
#include "models/tokenizer/normalizer.h"
#include "models/tokenizer/text/byte_level.h"
#include "models/tokenizer/text/unicode.h"

namespace tilewright::tokenizer {
namespace {

// GPT-2's words: contractions, and runs of letters, of numbers, of other things and of space.
constexpr std::string_view byte_level_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view words_and_signs = R"([\w\x{200c}\x{200d}]+|[^\w\x{200c}\x{200d}\s]+)";
constexpr std::string_view metaspace_mark = "\xe2\x96\x81";

}  // namespace

void Pieces::add(std::string_view part, bool begins_text) {
  if (part.empty()) return;
  auto begin = static_cast<std::uint32_t>(text.size());
  text += part;
  pieces.push_back({begin, static_cast<std::uint32_t>(text.size()), -1, begins_text});
}

PreTokenizer::Behavior PreTokenizer::read_behavior(Fields& fields, std::string_view otherwise) {
  static constexpr std::array<std::string_view, 5> names = {
      "Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};
  std::string name = fields.string("behavior", otherwise);
  auto found = std::find(names.begin(), names.end(), name);
  fields.expect(found != names.end(), fields.role(), " has the behavior \"", json::excerpt(name),
                "\"; Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous is "
                "needed");
  return static_cast<Behavior>(found - names.begin());
}

void PreTokenizer::read_split(Fields& fields) {
  Pattern pattern = read_pattern(fields);
  Rule rule{pattern.is_regex ? Rule::Kind::regex : Rule::Kind::literal,
            read_behavior(fields, "Isolated"), fields.flag("invert", false)};
  if (pattern.is_regex)
    rule.regex.emplace(pattern.text, fields.where());
  else
    rule.literal = pattern.text;
  rules_.push_back(std::move(rule));
}

void PreTokenizer::read_byte_level(Fields& fields) {
  fields.ignore("trim_offsets");
  if (fields.flag("add_prefix_space", true)) rules_.push_back({Rule::Kind::space_before});
  if (fields.flag("use_regex", true)) {
    Rule rule{Rule::Kind::regex};
    rule.regex.emplace(byte_level_words, fields.where());
    rules_.push_back(std::move(rule));
  }
  rules_.push_back({Rule::Kind::byte_characters});
}

void PreTokenizer::read_metaspace(Fields& fields) {
  Rule rule{Rule::Kind::metaspace};
  rule.literal = fields.character("replacement", metaspace_mark);
  std::string scheme = fields.string("prepend_scheme", "always");
  fields.expect(scheme == "always" || scheme == "first" || scheme == "never", fields.role(),
                " has the prepend_scheme \"", json::excerpt(scheme),
                "\"; always, first or never is needed");
  if (!fields.flag("add_prefix_space", true)) scheme = "never";
  fields.ignore("str_rep");
  rule.always = scheme == "always";
  rule.first_only = scheme == "first";
  Rule cut{Rule::Kind::literal, Behavior::merged_with_next};
  cut.literal = rule.literal;
  rules_.push_back(std::move(rule));
  if (fields.flag("split", true)) rules_.push_back(std::move(cut));
}

void PreTokenizer::read(Component& component) {
  using Kind = Rule::Kind;
  Fields& fields = component.fields;
  const std::string& type = component.type;
  if (type == "Split") {
    read_split(fields);
  } else if (type == "ByteLevel") {
    read_byte_level(fields);
  } else if (type == "Metaspace") {
    read_metaspace(fields);
  } else if (type == "Digits") {
    bool alone = fields.flag("individual_digits", false);
    cut_at(Kind::numbers, alone ? Behavior::isolated : Behavior::contiguous);
  } else if (type == "Punctuation") {
    cut_at(Kind::punctuation, read_behavior(fields, "Isolated"));
  } else if (type == "WhitespaceSplit") {
    cut_at(Kind::white_space, Behavior::removed);
  } else if (type == "Whitespace") {
    Rule rule{Kind::regex, Behavior::removed, true};
    rule.regex.emplace(words_and_signs, fields.where());
    rules_.push_back(std::move(rule));
  } else if (type == "BertPreTokenizer") {
    cut_at(Kind::white_space, Behavior::removed);
    cut_at(Kind::punctuation, Behavior::isolated);
  } else if (type == "CharDelimiterSplit") {
    Rule rule{Kind::literal, Behavior::removed};
    rule.literal = fields.character("delimiter");
    rules_.push_back(std::move(rule));
  } else {
    component.refuse(
        "Split, ByteLevel, Metaspace, Digits, Punctuation, Whitespace, WhitespaceSplit, "
        "BertPreTokenizer, CharDelimiterSplit and Sequence");
  }
}

PreTokenizer::PreTokenizer(std::string_view what, const json::Node* node) {
  for (Component& component : components(what, node, "the pre_tokenizer", "pretokenizers")) {
    read(component);
    component.fields.finish();
  }
}

// Cuts the whole piece into parts: those that the rule looks for, and those between them.
void PreTokenizer::find_parts(const Rule& rule, RegexSearch* search, std::string_view text,
                              std::vector<Part>& parts) {
  std::uint32_t done = 0;
  auto match = [&](std::size_t begin, std::size_t end) {
    auto from = static_cast<std::uint32_t>(begin), to = static_cast<std::uint32_t>(end);
    if (done != from) parts.push_back({done, from, rule.invert});
    parts.push_back({from, to, !rule.invert});
    done = to;
  };
  if (rule.kind == Rule::Kind::regex) {
    for (Range found : search->run(text)) match(found.begin, found.end);
  } else if (rule.kind == Rule::Kind::literal) {
    for (std::size_t at = text.find(rule.literal); at != text.npos;
         at = text.find(rule.literal, done))
      match(at, at + rule.literal.size());
  } else {
    auto* is_found = rule.kind == Rule::Kind::numbers       ? is_number
                     : rule.kind == Rule::Kind::punctuation ? is_punctuation
                                                            : is_white_space;
    std::size_t at = 0;
    for_each_character(text, [&](std::string_view bytes, char32_t value) {
      if (is_found(value)) match(at, at + bytes.size());
      at += bytes.size();
    });
  }
  if (done != text.size())
    parts.push_back({done, static_cast<std::uint32_t>(text.size()), rule.invert});
}

// Leaves the parts that become pieces.
void PreTokenizer::join_parts(Behavior behavior, std::vector<Part>& parts) {
  if (behavior == Behavior::isolated) return;
  if (behavior == Behavior::removed) {
    std::erase_if(parts, [](const Part& part) { return part.is_match; });
    return;
  }
  bool backwards = behavior == Behavior::merged_with_next;
  if (backwards) std::reverse(parts.begin(), parts.end());
  std::vector<Part> joined;
  bool after_match = false;
  for (const Part& part : parts) {
    bool joins = behavior == Behavior::contiguous ? part.is_match == after_match
                                                  : part.is_match && !after_match;
    after_match = part.is_match;
    if (!joins || joined.empty())
      joined.push_back(part);
    else if (backwards)
      joined.back().begin = part.begin;
    else
      joined.back().end = part.end;
  }
  if (backwards) std::reverse(joined.begin(), joined.end());
  parts = std::move(joined);
}

void PreTokenizer::cut(const Rule& rule, Pieces& pieces) {
  std::optional<RegexSearch> search;
  if (rule.regex) search.emplace(*rule.regex, pieces.text.size());
  std::vector<Piece> result;
  result.reserve(pieces.pieces.size());
  std::vector<Part> parts;
  for (const Piece& piece : pieces.pieces) {
    if (piece.id >= 0) {
      result.push_back(piece);
      continue;
    }
    parts.clear();
    find_parts(rule, search ? &*search : nullptr, pieces.of(piece), parts);
    join_parts(rule.behavior, parts);
    for (const Part& part : parts)
      if (part.begin != part.end)
        result.push_back({piece.begin + part.begin, piece.begin + part.end, -1,
                          piece.begins_text && part.begin == 0});
  }
  pieces.pieces = std::move(result);
}

void PreTokenizer::rewrite(const Rule& rule, Pieces& pieces) {
  std::string text;
  text.reserve(pieces.text.size());
  for (Piece& piece : pieces.pieces) {
    std::string_view before = pieces.of(piece);
    auto begin = static_cast<std::uint32_t>(text.size());
    if (piece.id >= 0) {
      text += before;
    } else if (rule.kind == Rule::Kind::byte_characters) {
      append_byte_characters(text, before);
    } else if (rule.kind == Rule::Kind::space_before) {
      if (!before.starts_with(' ')) text += ' ';
      text += before;
    } else {
      bool is_marked = before.starts_with(' ') || before.starts_with(rule.literal);
      if (!is_marked && (rule.always || (rule.first_only && piece.begins_text)))
        text += rule.literal;
      for (char c : before) c == ' ' ? text += rule.literal : text += c;
    }
    require(text.size() <= 4 * max_normalized_bytes, "[encode] the text grows beyond ",
            4 * max_normalized_bytes, " bytes where it is cut into pieces");
    piece.begin = begin;
    piece.end = static_cast<std::uint32_t>(text.size());
  }
  pieces.text = std::move(text);
}

void PreTokenizer::run(Pieces& pieces) const {
  for (const Rule& rule : rules_) {
    bool writes = rule.kind == Rule::Kind::space_before || rule.kind == Rule::Kind::metaspace ||
                  rule.kind == Rule::Kind::byte_characters;
    writes ? rewrite(rule, pieces) : cut(rule, pieces);
  }
}

}  // namespace tilewright::tokenizer
