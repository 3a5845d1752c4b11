#include "models/exported/program/guards.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>
#include <set>
#include <span>

#include "models/files/tree.h"
#include "models/programs/python_expression.h"

namespace tilewright::exported {
namespace {

using json::excerpt;
using programs::InputNumber;
using programs::SignatureInput;
using programs::SizeExpression;
using programs::SymbolRange;

constexpr std::size_t most_guards = 10'000;
constexpr std::size_t most_guard_bytes = 4 << 20;  // of all together

const std::string* text_of(const json::Node& object, std::string_view name) {
  const json::Node* found = object.find(name);
  return found != nullptr && found->is_string() ? &found->scalar.string : nullptr;
}
const std::vector<json::Node>* items_of(const json::Node& object, std::string_view name) {
  const json::Node* found = object.find(name);
  const bool is_list = found != nullptr && found->kind == json::Node::Kind::array;
  return is_list ? &found->items : nullptr;
}

// Nothing for a text that is no JSON: types of users have texts of their own.
std::optional<json::Node> tree_of(const std::string& text, const std::string& file) {
  try {
    return json::read_tree(text, "load_exported", file,
                           {.text_bytes = most_guard_bytes, .depth = 64, .values = 1'000'000});
  } catch (const Error&) {
    return std::nullopt;
  }
}

class Paths {
 public:
  explicit Paths(const std::string& file) : file_(file) {}

  // Positional arguments have the names of `parameters`, the others those of their keys.
  std::vector<InputPath> of(const json::Node& arguments,
                            const std::vector<json::Node>& parameters) {
    const auto* kinds = items_of(arguments, "children_spec");
    if (kinds == nullptr || kinds->size() != 2) return {};
    const auto* positional = items_of((*kinds)[0], "children_spec");
    if (positional == nullptr || positional->size() > parameters.size()) return {};
    for (std::size_t i = 0; i < positional->size(); ++i)
      add((*positional)[i], {parameters[i].scalar.string});
    add((*kinds)[1], {});
    return std::move(paths_);
  }

 private:
  void add(const json::Node& tree, InputPath path) {
    const json::Node* type = tree.find("type");
    const auto* children = items_of(tree, "children_spec");
    if (type == nullptr || type->is_null() || children == nullptr)
      return paths_.push_back(std::move(path));
    const std::vector<std::string> keys = keys_of(tree, children->size());
    for (std::size_t i = 0; i < children->size(); ++i) {
      path.push_back(keys[i]);
      add((*children)[i], path);
      path.pop_back();
    }
  }
  // A dictionary's context is the list of its keys, a dataclass's begins with that of its members.
  std::vector<std::string> keys_of(const json::Node& tree, std::size_t count) const {
    std::vector<std::string> keys;
    const std::string* context = text_of(tree, "context");
    if (context != nullptr && context->starts_with("[")) {
      const json::Node list = tree_of(*context, file_).value_or(json::Node());
      const bool is_nested = !list.items.empty() && list.items[0].kind == json::Node::Kind::array;
      for (const json::Node& key : is_nested ? list.items[0].items : list.items)
        keys.push_back(key.is_string()    ? key.scalar.string
                       : key.is_integer() ? std::to_string(key.scalar.integer)
                                          : std::string());
    }
    if (keys.size() == count) return keys;
    keys.clear();
    for (std::size_t i = 0; i < count; ++i) keys.push_back(std::to_string(i));
    return keys;
  }
  const std::string& file_;
  std::vector<InputPath> paths_;
};

// "L['past'][0].k.size()[1]" in parts.
struct SizeName {
  InputPath path;
  InputNumber::Kind kind = InputNumber::Kind::integer;
  std::size_t axis = 0;
};

// A member that is called is a size or stride, with its axis at the end.
class SizeNameReader {
 public:
  explicit SizeNameReader(std::string_view text) : rest_(text) {}

  std::optional<SizeName> all() {
    if (!rest_.starts_with("L")) return std::nullopt;
    rest_.remove_prefix(1);
    while (!rest_.empty()) {
      std::optional<std::string> key = rest_[0] == '[' ? bracketed() : member();
      if (!key) return std::nullopt;
      if (!rest_.starts_with("()")) {
        name_.path.push_back(std::move(*key));
        continue;
      }
      if (*key != "size" && *key != "stride") return std::nullopt;
      name_.kind = *key == "size" ? InputNumber::Kind::size : InputNumber::Kind::stride;
      rest_.remove_prefix(2);
      const std::optional<std::string> axis = bracketed();
      if (!axis || !rest_.empty()) return std::nullopt;
      auto [end, error] = std::from_chars(axis->data(), axis->data() + axis->size(), name_.axis);
      if (error != std::errc() || end != axis->data() + axis->size()) return std::nullopt;
    }
    return name_.path.empty() ? std::nullopt : std::optional(std::move(name_));
  }

 private:
  std::optional<std::string> member() {
    const std::size_t end = std::min(rest_.find_first_of(".[(", 1), rest_.size());
    std::string key(rest_.substr(1, end - 1));
    if (rest_[0] != '.' || key.empty()) return std::nullopt;
    rest_.remove_prefix(end);
    return key;
  }
  // Without the quotes, and without the backslashes before other characters.
  std::optional<std::string> bracketed() {
    if (!rest_.starts_with("[") || rest_.size() < 3) return std::nullopt;
    const char quote = rest_[1] == '\'' || rest_[1] == '"' ? rest_[1] : '\0';
    std::string key;
    std::size_t at = quote == '\0' ? 1 : 2;
    for (; at < rest_.size() && rest_[at] != (quote == '\0' ? ']' : quote); ++at) {
      if (rest_[at] == '\\' && at + 1 < rest_.size()) ++at;
      key += rest_[at];
    }
    if (quote != '\0') ++at;
    if (at >= rest_.size() || rest_[at] != ']') return std::nullopt;
    rest_.remove_prefix(at + 1);
    return key;
  }

  std::string_view rest_;
  SizeName name_;
};

// The name that PyTorch gives the input of a path: "past_k_0".
std::string joined(std::span<const std::string> path) {
  std::string name;
  for (const std::string& key : path) {
    if (!name.empty()) name += '_';
    for (unsigned char c : key) name += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_';
  }
  return name;
}

class GuardReader {
 public:
  GuardReader(const std::vector<InputPath>& paths,
              const std::vector<std::optional<std::size_t>>& leaves,
              const std::vector<SignatureInput>& inputs)
      : leaves_(leaves), inputs_(inputs) {
    for (std::size_t i = 0; i < paths.size() && paths.size() == leaves.size(); ++i)
      leaf_of_.emplace(paths[i], i);
    for (std::size_t i = 0; i < inputs.size(); ++i) input_of_.emplace(inputs[i].name, i);
  }

  // Nothing where the text is no name of a size, stride or integer of an input.
  std::optional<InputNumber> number(const std::string& text) const {
    const auto name = SizeNameReader(text).all();
    const auto input = name ? input_of(name->path) : std::nullopt;
    if (!input) return std::nullopt;
    const SignatureInput& found = inputs_[*input];
    const bool is_integer = name->kind == InputNumber::Kind::integer;
    if (is_integer != found.integer.has_value()) return std::nullopt;
    if (!is_integer && name->axis >= found.facts.sizes.size()) return std::nullopt;
    return InputNumber{name->kind, *input, static_cast<int>(name->axis)};
  }

 private:
  // Some names have the lists in which forward() gathers arguments: L['args'][0] is the input
  // "args_0", and L['kwargs']['k'] is "k".
  std::optional<std::size_t> input_of(const InputPath& path) const {
    std::vector<InputPath> forms = {path};
    if (path.size() > 1) {
      InputPath gathered(path.begin() + 1, path.end());
      forms.push_back(gathered);
      forms[1][0] = concat(path[0], "_", path[1]);
      forms.push_back(std::move(gathered));
    }
    for (const InputPath& form : forms)
      if (auto leaf = leaf_of_.find(form); leaf != leaf_of_.end()) return leaves_[leaf->second];
    for (const InputPath& form : forms)
      if (auto named = input_of_.find(joined(form)); named != input_of_.end()) return named->second;
    return std::nullopt;
  }

  const std::vector<std::optional<std::size_t>>& leaves_;
  std::map<InputPath, std::size_t> leaf_of_;
  const std::vector<SignatureInput>& inputs_;
  std::map<std::string, std::size_t, std::less<>> input_of_;
};

// The symbol of a function of one, and its values at some places: they tell functions apart that
// are linear. Nothing for other functions.
using FunctionValues = std::pair<std::string, std::vector<std::int64_t>>;
std::optional<FunctionValues> values_of(const SizeExpression& function) {
  std::set<std::string> names;
  programs::for_each_symbol(function, [&](const std::string& name) { names.insert(name); });
  if (names.size() != 1) return std::nullopt;
  FunctionValues values{*names.begin(), {}};
  for (const std::int64_t place : {2, 3, 7, 30}) {
    const auto value = evaluate(function, {{values.first, place}});
    if (!value) return std::nullopt;
    values.second.push_back(*value);
  }
  return values;
}

}  // namespace

std::vector<InputPath> input_paths(const json::Node& module, const std::string& file) {
  const json::Node* signature = module.find("signature");
  if (signature == nullptr) return {};
  const std::string* text = text_of(*signature, "in_spec");
  const auto* parameters = items_of(*signature, "forward_arg_names");
  if (text == nullptr || parameters == nullptr) return {};
  const std::optional<json::Node> spec = tree_of(*text, file);
  if (!spec || spec->items.size() != 2) return {};
  return Paths(file).of(spec->items[1], *parameters);
}

programs::SizeConditions read_guards(const Fields& fields, const json::Node& guards,
                                     const std::vector<InputPath>& paths,
                                     const std::vector<std::optional<std::size_t>>& leaves,
                                     const std::vector<SignatureInput>& inputs) {
  const auto& list = fields.as_list(guards, "guards_code");
  std::size_t bytes = 0;
  for (const json::Node& each : list) bytes += fields.as_text(each, "guards_code").size();
  fields.expect(list.size() <= most_guards && bytes <= most_guard_bytes, "it has ", list.size(),
                " guards of ", bytes, " bytes; at most ", most_guards, " of ", most_guard_bytes,
                " bytes together are allowed");
  const GuardReader reader(paths, leaves, inputs);
  programs::SizeConditions conditions;
  for (const json::Node& each : list) {
    programs::SizeCondition condition{each.scalar.string, 0, {}};
    const std::size_t number = conditions.list.size() + 1;
    const auto expression = programs::parse_python_expression(condition.text);
    fields.expect(expression.has_value(), "guard ", number, ", ", excerpt(condition.text),
                  ", cannot be read; arithmetic, comparisons and functions of sizes are known");
    programs::for_each_symbol(*expression, [&](const std::string& name) {
      if (std::ranges::find(condition.symbols, name) != condition.symbols.end()) return;
      condition.symbols.push_back(name);
      if (conditions.symbols.contains(name)) return;
      const auto from = reader.number(name);
      fields.expect(from.has_value(), "guard ", number, ", ", excerpt(condition.text), ", names ",
                    excerpt(name), ", which is no size of an input and no integer among them");
      conditions.symbols.emplace(name, *from);
    });
    condition.place = conditions.expressions.add(*expression);
    conditions.list.push_back(std::move(condition));
  }
  return conditions;
}

std::map<std::string, SymbolRange, std::less<>> ranges_of_sizes(
    const std::vector<SignatureInput>& inputs, const std::vector<FunctionRange>& ranges) {
  std::map<std::string, SymbolRange, std::less<>> found;
  std::map<FunctionValues, SymbolRange> by_values;
  for (const auto& [expression, range] : ranges)
    if (auto values = values_of(expression)) by_values.emplace(*std::move(values), range);
  if (by_values.empty()) return found;
  for (const SignatureInput& input : inputs)
    for (const SizeExpression& size : input.facts.sizes) {
      if (size.kind != SizeExpression::Kind::function) continue;
      const auto values = values_of(size);
      const auto same = values ? by_values.find(*values) : by_values.end();
      if (same != by_values.end()) found.emplace(to_string(size), same->second);
    }
  return found;
}

}  // namespace tilewright::exported
