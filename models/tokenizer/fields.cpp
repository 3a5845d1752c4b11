#include "models/tokenizer/fields.h"

#include "models/files/utf8.h"

namespace tilewright::tokenizer {
namespace {

constexpr std::size_t max_components = 64;  // of one kind
constexpr int max_nesting = 8;

// Described only where the message is needed.
struct Shown {
  const json::Node& node;
};
std::ostream& operator<<(std::ostream& out, Shown shown) {
  return out << json::describe(shown.node);
}

void collect(std::string_view what, const json::Node& node, const std::string& role,
             std::string_view list, int depth, std::vector<Component>& found) {
  Fields fields(what, node, role);
  std::string type = fields.string("type");
  if (type != "Sequence") {
    fields.expect(found.size() < max_components, "more than ", max_components, " parts of ", role);
    Fields named(what, node, role + " " + concat('"', json::excerpt(type), '"'));
    named.ignore("type");
    found.push_back({std::move(named), std::move(type)});
    return;
  }
  fields.expect(depth < max_nesting, role, " is nested deeper than ", max_nesting);
  for (const json::Node& item : fields.list(list))
    collect(what, item, role, list, depth + 1, found);
  fields.finish();
}

}  // namespace

Fields::Fields(std::string_view what, const json::Node& node, std::string role)
    : what_(what), node_(&node), role_(std::move(role)) {
  expect(node.kind == json::Node::Kind::object, role_, " is ", Shown{node},
         "; an object is needed");
}

const json::Node* Fields::find(std::string_view name) {
  asked_.emplace(name);
  const json::Node* node = node_->find(name);
  return node == nullptr || node->is_null() ? nullptr : node;
}

const json::Node& Fields::needed(std::string_view name, const char* kind) {
  const json::Node* node = find(name);
  expect(node != nullptr, role_, " has no \"", name, "\"; ", kind, " is needed");
  return *node;
}

const std::string& Fields::string(std::string_view name) {
  const json::Node& node = needed(name, "a string");
  expect(node.is_string(), role_, " has ", Shown{node}, " as \"", name, "\"; a string is needed");
  return node.scalar.string;
}

std::string Fields::string(std::string_view name, std::string_view otherwise) {
  return find(name) == nullptr ? std::string(otherwise) : string(name);
}

std::string Fields::character(std::string_view name, std::string_view otherwise) {
  std::string text = otherwise.empty() ? string(name) : string(name, otherwise);
  bool is_one = !text.empty() && character_size(text) == static_cast<int>(text.size());
  expect(is_one, role_, " has \"", json::excerpt(text), "\" as \"", name,
         "\"; one character is needed");
  return text;
}

bool Fields::flag(std::string_view name, bool otherwise) {
  const json::Node* node = find(name);
  if (node == nullptr) return otherwise;
  bool is_flag =
      node->kind == json::Node::Kind::scalar && node->scalar.kind == json::Scalar::Kind::boolean;
  expect(is_flag, role_, " has ", Shown{*node}, " as \"", name, "\"; true or false is needed");
  return node->scalar.boolean;
}

std::int64_t Fields::integer(std::string_view name, std::int64_t least, std::int64_t most) {
  const json::Node& node = needed(name, "an integer");
  expect(node.is_integer() && node.scalar.integer >= least && node.scalar.integer <= most, role_,
         " has ", Shown{node}, " as \"", name, "\"; an integer from ", least, " to ", most,
         " is needed");
  return node.scalar.integer;
}

const std::vector<json::Node>& Fields::list(std::string_view name) {
  const json::Node& node = needed(name, "a list");
  expect(node.kind == json::Node::Kind::array, role_, " has ", Shown{node}, " as \"", name,
         "\"; a list is needed");
  return node.items;
}

Fields Fields::object(std::string_view name) {
  return {what_, needed(name, "an object"), role_ + "'s \"" + std::string(name) + '"'};
}

void Fields::finish() const {
  for (const auto& [name, node] : node_->members)
    expect(asked_.contains(name), role_, " has a field \"", json::excerpt(name),
           "\", whose meaning is not known here");
}

void Component::refuse(std::string_view supported) const {
  fields.expect(false, fields.role(), " is of a type that is not supported; supported are ",
                supported);
  __builtin_unreachable();
}

std::vector<Component> components(std::string_view what, const json::Node* node,
                                  const std::string& role, std::string_view list) {
  std::vector<Component> found;
  if (node != nullptr && !node->is_null()) collect(what, *node, role, list, 0, found);
  return found;
}

Pattern read_pattern(Fields& fields) {
  Fields pattern = fields.object("pattern");
  Pattern result;
  result.is_regex = pattern.find("Regex") != nullptr;
  result.text = pattern.string(result.is_regex ? "Regex" : "String");
  pattern.finish();
  fields.expect(!result.text.empty(), fields.role(), " has an empty pattern");
  return result;
}

}  // namespace tilewright::tokenizer
