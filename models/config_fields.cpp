#include "models/config_fields.h"

#include "models/mapped_file.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

json::Node object_of(std::string_view text, std::string_view operation, std::string_view what) {
  json::Limits limits{
      .text_bytes = 1 << 20, .depth = 16, .string_bytes = 1 << 16, .nodes = 100'000};
  json::Node root = json::read_tree(text, operation, what, limits);
  require(root.kind == json::Node::Kind::object, "[", operation, "] ", what, ": is ",
          json::describe(root), "; an object is needed");
  return root;
}

}  // namespace

ConfigFields::ConfigFields(std::string_view text, std::string_view operation, std::string_view what)
    : root_(object_of(text, operation, what)), operation_(operation), what_(what) {}

const json::Node* ConfigFields::find(std::string_view name) const {
  const json::Node* node = root_.find(name);
  return node && !node->is_null() ? node : nullptr;
}

std::int64_t ConfigFields::integer(std::string_view name,
                                   std::optional<std::int64_t> missing) const {
  const json::Node* node = find(name);
  if (!node && missing) return *missing;
  require(node != nullptr, "[", operation_, "] ", what_, ": has no ", name);
  require(node->is_integer(), "[", operation_, "] ", what_, ": ", name, " is ",
          json::describe(*node), "; an integer is needed");
  return node->scalar.integer;
}

double ConfigFields::number(std::string_view name, double missing) const {
  const json::Node* node = find(name);
  if (!node) return missing;
  using Kind = json::Scalar::Kind;
  bool is_number = node->kind == json::Node::Kind::scalar &&
                   (node->scalar.kind == Kind::integer || node->scalar.kind == Kind::real);
  require(is_number, "[", operation_, "] ", what_, ": ", name, " is ", json::describe(*node),
          "; a number is needed");
  return node->scalar.real;
}

bool ConfigFields::boolean(std::string_view name, bool missing) const {
  const json::Node* node = find(name);
  if (!node) return missing;
  require(
      node->kind == json::Node::Kind::scalar && node->scalar.kind == json::Scalar::Kind::boolean,
      "[", operation_, "] ", what_, ": ", name, " is ", json::describe(*node),
      "; true or false is needed");
  return node->scalar.boolean;
}

std::string ConfigFields::text(std::string_view name) const {
  const json::Node* node = find(name);
  require(node != nullptr, "[", operation_, "] ", what_, ": has no ", name);
  require(node->is_string(), "[", operation_, "] ", what_, ": ", name, " is ",
          json::describe(*node), "; a string is needed");
  return std::string(node->scalar.string);
}

std::vector<std::int64_t> ConfigFields::ids(std::string_view name) const {
  const json::Node* node = find(name);
  if (!node) return {};
  if (node->kind != json::Node::Kind::array) return {integer(name)};
  std::vector<std::int64_t> ids;
  for (const json::Node& item : node->items) {
    require(item.is_integer(), "[", operation_, "] ", what_, ": ", name, " holds ",
            json::describe(item), "; integers are needed");
    ids.push_back(item.scalar.integer);
  }
  return ids;
}

void ConfigFields::expect(std::string_view name, std::string_view supported) const {
  const json::Node* node = find(name);
  if (!node) return;
  require(node->is_string() && node->scalar.string == supported, "[", operation_, "] ", what_, ": ",
          name, " is ", json::describe(*node), "; supported is \"", supported, '"');
}

void ConfigFields::expect_flag(std::string_view name, bool supported) const {
  require(boolean(name, supported) == supported, "[", operation_, "] ", what_, ": ", name, " is ",
          supported ? "false" : "true", "; supported is ", supported ? "true" : "false");
}

void ConfigFields::expect_absent(std::string_view name, std::string_view meaning) const {
  require(find(name) == nullptr, "[", operation_, "] ", what_, ": ", name, " is set; ", meaning,
          " is not supported");
}

void check_config_range(std::string_view operation, std::string_view what, std::string_view name,
                        std::int64_t value, std::int64_t low, std::int64_t high) {
  require(value >= low && value <= high, "[", operation, "] ", what, ": ", name, " is ", value,
          "; from ", low, " to ", high, " is allowed");
}

std::string model_type_of(const std::filesystem::path& config) {
  auto file = MappedFile::open(config, "load_model");
  return ConfigFields(file->text(), "load_model", file->name()).text("model_type");
}

}  // namespace tilewright
