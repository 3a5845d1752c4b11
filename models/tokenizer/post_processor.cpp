#include "models/tokenizer/post_processor.h"

#include "models/tokenizer/model.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_pieces = 64;

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

}  // namespace tilewright::tokenizer
