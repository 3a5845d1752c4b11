#include "models/files/config_fields.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright {
namespace {

json::Node object_of(std::string_view text, std::string_view operation, std::string_view what) {
  json::Limits limits{
      .text_bytes = max_config_bytes, .depth = 16, .string_bytes = 1 << 16, .nodes = 100'000};
  json::Node root = json::read_tree(text, operation, what, limits);
  require(root.kind == json::Node::Kind::object, "[", operation, "] ", what, ": is ",
          json::describe(root), "; an object is needed");
  return root;
}

bool is_number(const json::Node& node) {
  using Kind = json::Scalar::Kind;
  return node.kind == json::Node::Kind::scalar &&
         (node.scalar.kind == Kind::integer || node.scalar.kind == Kind::real);
}

}  // namespace

ConfigFields::ConfigFields(std::string_view text, std::string_view operation, std::string_view what)
    : root_(std::make_shared<const json::Node>(object_of(text, operation, what))),
      operation_(operation),
      what_(what) {}

ConfigFields::ConfigFields(std::shared_ptr<const json::Node> root, std::string_view operation,
                           std::string_view what, std::string prefix)
    : root_(std::move(root)), operation_(operation), what_(what), prefix_(std::move(prefix)) {}

const json::Node* ConfigFields::find(std::string_view name) const {
  const json::Node* node = root_->find(name);
  read_.emplace(name);
  return node && !node->is_null() ? node : nullptr;
}

bool ConfigFields::is_null(std::string_view name) const {
  const json::Node* node = root_->find(name);
  return node != nullptr && node->is_null();
}

bool ConfigFields::is_list(std::string_view name) const {
  const json::Node* node = root_->find(name);
  return node != nullptr && node->kind == json::Node::Kind::array;
}

std::int64_t ConfigFields::integer(std::string_view name,
                                   std::optional<std::int64_t> missing) const {
  const json::Node* node = find(name);
  if (!node && missing) return *missing;
  require(node != nullptr, "[", operation_, "] ", what_, ": has no ", prefix_, name);
  require(node->is_integer(), "[", operation_, "] ", what_, ": ", prefix_, name, " is ",
          json::describe(*node), "; an integer is needed");
  return node->scalar.integer;
}

double ConfigFields::number(std::string_view name, std::optional<double> missing) const {
  const json::Node* node = find(name);
  if (!node && missing) return *missing;
  require(node != nullptr, "[", operation_, "] ", what_, ": has no ", prefix_, name);
  require(is_number(*node), "[", operation_, "] ", what_, ": ", prefix_, name, " is ",
          json::describe(*node), "; a number is needed");
  return node->scalar.real;
}

bool ConfigFields::boolean(std::string_view name, bool missing) const {
  const json::Node* node = find(name);
  if (!node) return missing;
  require(
      node->kind == json::Node::Kind::scalar && node->scalar.kind == json::Scalar::Kind::boolean,
      "[", operation_, "] ", what_, ": ", prefix_, name, " is ", json::describe(*node),
      "; true or false is needed");
  return node->scalar.boolean;
}

std::string ConfigFields::text(std::string_view name,
                               std::optional<std::string_view> missing) const {
  const json::Node* node = find(name);
  if (!node && missing) return std::string(*missing);
  require(node != nullptr, "[", operation_, "] ", what_, ": has no ", prefix_, name);
  require(node->is_string(), "[", operation_, "] ", what_, ": ", prefix_, name, " is ",
          json::describe(*node), "; a string is needed");
  return std::string(node->scalar.string);
}

std::int64_t ConfigFields::id(std::string_view name) const {
  std::int64_t id = integer(name, -1);
  check_id(name, id);
  return id;
}

void ConfigFields::check_id(std::string_view name, std::int64_t id) const {
  require(id >= -1, "[", operation_, "] ", what_, ": ", prefix_, name, " is ", id,
          "; an id is 0 or more, and -1 stands for none");
}

std::vector<std::int64_t> ConfigFields::ids(std::string_view name) const {
  const json::Node* node = find(name);
  if (!node) return {};
  if (node->kind != json::Node::Kind::array) return {id(name)};
  std::vector<std::int64_t> ids;
  for (const json::Node& item : node->items) {
    require(item.is_integer(), "[", operation_, "] ", what_, ": ", prefix_, name, " holds ",
            json::describe(item), "; integers are needed");
    check_id(name, item.scalar.integer);
    ids.push_back(item.scalar.integer);
  }
  return ids;
}

std::vector<double> ConfigFields::numbers(std::string_view name) const {
  const json::Node* node = find(name);
  if (!node) return {};
  require(node->kind == json::Node::Kind::array, "[", operation_, "] ", what_, ": ", prefix_, name,
          " is ", json::describe(*node), "; a list of numbers is needed");
  std::vector<double> numbers;
  for (const json::Node& item : node->items) {
    require(is_number(item), "[", operation_, "] ", what_, ": ", prefix_, name, " holds ",
            json::describe(item), "; numbers are needed");
    numbers.push_back(item.scalar.real);
  }
  return numbers;
}

std::vector<std::string> ConfigFields::texts(std::string_view name) const {
  const json::Node* node = find(name);
  if (!node) return {};
  require(node->kind == json::Node::Kind::array, "[", operation_, "] ", what_, ": ", prefix_, name,
          " is ", json::describe(*node), "; a list of strings is needed");
  std::vector<std::string> texts;
  for (const json::Node& item : node->items) {
    require(item.is_string(), "[", operation_, "] ", what_, ": ", prefix_, name, " holds ",
            json::describe(item), "; strings are needed");
    texts.emplace_back(item.scalar.string);
  }
  return texts;
}

std::optional<ConfigFields> ConfigFields::object(std::string_view name) const {
  const json::Node* node = find(name);
  if (!node) return std::nullopt;
  require(node->kind == json::Node::Kind::object, "[", operation_, "] ", what_, ": ", prefix_, name,
          " is ", json::describe(*node), "; an object is needed");
  return ConfigFields({root_, node}, operation_, what_, full_name(name) + ".");
}

std::vector<std::string> ConfigFields::members() const {
  std::vector<std::string> names;
  for (const auto& [name, node] : root_->members) names.push_back(name);
  return names;
}

void ConfigFields::refuse_unread(std::span<const std::string_view> passed_over) const {
  for (const auto& [name, node] : root_->members)
    require(node.is_null() || read_.contains(name) ||
                std::ranges::find(passed_over, name) != passed_over.end(),
            "[", operation_, "] ", what_, ": ", prefix_, json::excerpt(name), " is ",
            json::describe(node),
            ", which this library does not use; members that may change the result are refused, so "
            "take it out only if the model is the same without it");
}

std::size_t ConfigFields::choice(std::string_view name, std::span<const std::string_view> supported,
                                 std::string_view remedy) const {
  const std::string value = text(name);
  const auto found = std::ranges::find(supported, value);
  std::string known;
  for (std::string_view one : supported) known += concat(known.empty() ? "\"" : ", \"", one, '"');
  require(found != supported.end(), "[", operation_, "] ", what_, ": ", prefix_, name, " is \"",
          json::excerpt(value), "\"; supported are ", known, "; ", remedy);
  return static_cast<std::size_t>(found - supported.begin());
}

void ConfigFields::expect(std::string_view name, std::string_view supported) const {
  const json::Node* node = find(name);
  if (!node) return;
  require(node->is_string() && node->scalar.string == supported, "[", operation_, "] ", what_, ": ",
          prefix_, name, " is ", json::describe(*node), "; supported is \"", supported, '"');
}

void ConfigFields::expect_flag(std::string_view name, bool supported) const {
  require(boolean(name, supported) == supported, "[", operation_, "] ", what_, ": ", prefix_, name,
          " is ", supported ? "false" : "true", "; supported is ", supported ? "true" : "false");
}

void ConfigFields::expect_absent(std::string_view name, std::string_view meaning) const {
  require(find(name) == nullptr, "[", operation_, "] ", what_, ": ", prefix_, name, " is set; ",
          meaning, " is not supported");
}

void check_config_range(std::string_view operation, std::string_view what, std::string_view name,
                        std::int64_t value, std::int64_t low, std::int64_t high) {
  require(value >= low && value <= high, "[", operation, "] ", what, ": ", name, " is ", value,
          "; from ", low, " to ", high, " is allowed");
}

}  // namespace tilewright
