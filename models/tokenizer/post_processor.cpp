#include "models/tokenizer/post_processor.h"

#include <algorithm>
#include <limits>

#include "models/tokenizer/model.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_pieces = 64;
constexpr std::int64_t max_padding = 1 << 20;  // every text would take that memory

// The next multiple that is not less.
std::size_t above(std::size_t size, std::size_t multiple) {
  return (size + multiple - 1) / multiple * multiple;
}

bool is_left(Fields& fields, std::string_view otherwise) {
  std::string direction = fields.string("direction", otherwise);
  fields.expect(direction == "Left" || direction == "Right", fields.role(), " has the direction \"",
                json::excerpt(direction), "\"; Left or Right is needed");
  return direction == "Left";
}

// The ids that a piece of a template stands for: the template's own table says them; files that
// have none mean the token of that name.
std::vector<Id> ids_of(Fields& special, const json::Node* table, const KnownTokens& known) {
  const std::string& name = special.string("id");
  special.ignore("type_id");
  special.finish();
  const json::Node* entry = table == nullptr ? nullptr : table->find(name);
  if (entry == nullptr) {
    std::optional<Id> id = known.id_of(name);
    special.expect(id.has_value(), "the post_processor names \"", json::excerpt(name),
                   "\", which is not in the vocabulary");
    return {*id};
  }
  Fields fields = special.inside(*entry, "the post_processor's \"special_tokens\"");
  std::vector<Id> ids;
  for (const json::Node& item : fields.list("ids")) {
    bool is_id = item.is_integer() && known.has_id(item.scalar.integer);
    fields.expect(is_id && ids.size() < max_pieces, "the post_processor's token \"",
                  json::excerpt(name), "\" has the id ", json::describe(item),
                  ", which no token has, or more than ", max_pieces, " ids");
    ids.push_back(static_cast<Id>(item.scalar.integer));
  }
  return ids;
}

}  // namespace

void PostProcessor::read_template(Fields& fields, const KnownTokens& known) {
  fields.ignore("pair");  // two texts in one are never encoded
  const json::Node* table = fields.find("special_tokens");
  const std::vector<json::Node>& pieces = fields.list("single");
  std::vector<Id> before, after;
  bool seen_text = false;
  for (const json::Node& piece : pieces) {
    Fields one = fields.inside(piece, "a piece of the post_processor");
    if (one.find("SpecialToken") != nullptr) {
      Fields special = one.object("SpecialToken");
      for (Id id : ids_of(special, table, known)) (seen_text ? after : before).push_back(id);
    } else {
      fields.expect(one.find("Sequence") != nullptr && !seen_text,
                    "the post_processor's pieces must be SpecialTokens and one Sequence");
      seen_text = true;
    }
    one.finish();
  }
  fields.expect(seen_text && pieces.size() <= max_pieces,
                "the post_processor leaves out the text, or has more than ", max_pieces, " pieces");
  before_.insert(before_.begin(), before.begin(), before.end());
  after_.insert(after_.end(), after.begin(), after.end());
}

// ["</s>", 2]
void PostProcessor::read_pair(Fields& fields, std::string_view name, const KnownTokens& known,
                              std::vector<Id>& to) {
  const std::vector<json::Node>& pair = fields.list(name);
  bool is_pair = pair.size() == 2 && pair[0].is_string() && pair[1].is_integer() &&
                 known.has_id(pair[1].scalar.integer);
  fields.expect(is_pair, fields.role(), " needs a token with its id as \"", name, '"');
  auto id = static_cast<Id>(pair[1].scalar.integer);
  to.insert(&to == &before_ ? to.begin() : to.end(), id);
}

void PostProcessor::read(Component& component, const KnownTokens& known) {
  Fields& fields = component.fields;
  const std::string& type = component.type;
  if (type == "TemplateProcessing") {
    read_template(fields, known);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    read_pair(fields, "cls", known, before_);
    read_pair(fields, "sep", known, after_);
    fields.ignore("trim_offsets");
    fields.ignore("add_prefix_space");  // the pre_tokenizer's says what is done
  } else if (type == "ByteLevel") {     // about offsets alone
    for (std::string_view name : {"add_prefix_space", "trim_offsets", "use_regex"})
      fields.ignore(name);
  } else {
    component.refuse(
        "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel and Sequence");
  }
}

PostProcessor::PostProcessor(std::string_view what, const json::Node* node,
                             const KnownTokens& known) {
  for (Component& component : components(what, node, "the post_processor", "processors")) {
    read(component, known);
    component.fields.finish();
  }
  require(before_.size() + after_.size() <= max_pieces, "[load_tokenizer] ", what,
          ": the post_processor adds more than ", max_pieces, " tokens");
}

Lengths::Lengths(Fields& file, std::size_t around, const KnownTokens& known) {
  if (const json::Node* node = file.find("truncation"))
    read_truncation(file.inside(*node, "the truncation"), around);
  if (const json::Node* node = file.find("padding"))
    read_padding(file.inside(*node, "the padding"), known);
}

void Lengths::read_truncation(Fields fields, std::size_t around) {
  most_ = static_cast<std::size_t>(
      fields.integer("max_length", 0, std::numeric_limits<std::int64_t>::max()));
  fields.expect(*most_ >= around, fields.role(), " has the max_length ", *most_,
                ", but the post_processor alone adds ", around, " tokens");
  const std::string& strategy = fields.string("strategy");
  cuts_second_ = strategy == "OnlySecond";
  fields.expect(cuts_second_ || strategy == "LongestFirst" || strategy == "OnlyFirst",
                fields.role(), " has the strategy \"", json::excerpt(strategy),
                "\"; LongestFirst, OnlyFirst or OnlySecond is needed");
  cuts_begin_ = is_left(fields, "Right");
  fields.ignore("stride");  // of the parts that were cut off, which nobody asks for
  fields.finish();
}

void Lengths::read_padding(Fields fields, const KnownTokens& known) {
  const json::Node* strategy = fields.find("strategy");
  is_fixed_ = strategy != nullptr && strategy->kind == json::Node::Kind::object;
  if (is_fixed_) {
    Fields fixed = fields.object("strategy");
    length_ = static_cast<std::size_t>(fixed.integer("Fixed", 0, max_padding));
    fixed.finish();
  } else {
    const std::string& name = fields.string("strategy");
    fields.expect(name == "BatchLongest", fields.role(), " has the strategy \"",
                  json::excerpt(name), "\"; BatchLongest or {\"Fixed\": length} is needed");
  }
  pads_begin_ = is_left(fields, "Right");
  if (fields.find("pad_to_multiple_of") != nullptr)
    multiple_ = static_cast<std::size_t>(
        std::max<std::int64_t>(fields.integer("pad_to_multiple_of", 0, max_padding), 1));
  length_ = above(length_, multiple_);  // longer texts stay as they are
  pad_id_ = fields.integer("pad_id", 0, std::numeric_limits<std::int64_t>::max());
  fields.expect((length_ == 0 && multiple_ == 1) || known.has_id(pad_id_), fields.role(),
                " has the pad_id ", pad_id_, ", which no token has");
  fields.ignore("pad_type_id");
  fields.ignore("pad_token");  // its id says it
  fields.finish();
}

void Lengths::truncate(std::vector<std::int64_t>& ids, std::size_t around,
                       std::optional<std::int64_t> most) const {
  require(!most || *most >= static_cast<std::int64_t>(around), "[encode] max_tokens is ",
          most.value_or(0), ", but ", around, " tokens are put around every text");
  const auto limit = most ? static_cast<std::size_t>(*most) : most_;
  if (!limit || ids.size() + around <= *limit) return;
  std::size_t rest = *limit - around;
  require(!cuts_second_ || most || rest == 0, "[encode] the text has ", ids.size() + around,
          " tokens; the tokenizer's truncation to ", *most_,
          " is OnlySecond, which cuts no text that stands alone. Encode it with truncate = false");
  if (cuts_begin_)
    ids.erase(ids.begin(), ids.end() - static_cast<std::ptrdiff_t>(rest));
  else
    ids.resize(rest);
}

void Lengths::pad(std::vector<std::int64_t>& ids) const {
  std::size_t size = is_fixed_ ? std::max(ids.size(), length_) : above(ids.size(), multiple_);
  ids.insert(pads_begin_ ? ids.begin() : ids.end(), size - ids.size(), pad_id_);
}

}  // namespace tilewright::tokenizer
