#include "graph/custom/definition.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <unordered_map>

#include "graph/ir/location.h"
#include "runtime/base/error.h"
#include "runtime/base/fork_gate.h"

namespace tilewright::graph {
namespace {

// Definitions by name, and how many there were of each.
struct NamedDefinition {
  std::weak_ptr<const CustomDefinition> latest;
  std::int64_t count = 0;
};
struct NameTable {
  std::mutex mutex;
  std::unordered_map<std::string, NamedDefinition> names;
};
NameTable& name_table() {
  static NameTable& table = *new NameTable;
  return table;
}

bool is_word(const std::string& name) {
  auto fits = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return !name.empty() && std::ranges::all_of(name, fits);
}

std::string text_of(std::span<const ValueType> types) {
  std::string text;
  for (const ValueType& type : types)
    text += concat(text.empty() ? "" : ", ", type.dtype, " [", type.shape, "]");
  return text.empty() ? "no operands" : text;
}

// The question to a custom op, for messages.
struct Question {
  const CustomDefinition& definition;
  std::span<const ValueType> operands;
  std::source_location where;
  template <typename... Parts>
  void need(bool condition, const Parts&... parts) const {
    if (!condition) [[unlikely]]
      raise_error(concat("[", definition.name, "] for ", text_of(operands), " ", concat(parts...),
                         " (at ", At{where}, ")"));
  }
};

// A formula without a rule is asked itself.
std::vector<TensorType> by_formula(const Question& q) {
  Graph graph;
  GraphBuilder builder(graph);
  builder.set_location(q.where);
  for (const ValueType& operand : q.operands) builder.input(operand.dtype, operand.shape);
  std::vector<TensorType> results;
  for (NodeId id : q.definition.formula(builder, graph.inputs, dsl::host_target()))
    results.push_back({graph.node(id).dtype, graph.node(id).shape});
  return results;
}

std::vector<TensorType> by_rule(const Question& q) {
  std::vector<TensorType> operands;
  for (const ValueType& operand : q.operands) operands.push_back({operand.dtype, operand.shape});
  if (q.definition.result_types) return q.definition.result_types(operands, q.where);
  if (!q.definition.rule) return by_formula(q);
  try {
    return q.definition.rule(operands);
  } catch (const std::exception& error) {
    q.need(false, "the shape rule fails: ", error.what(),
           "; give operands that it takes, or mend the rule");
  }
  __builtin_unreachable();
}

void need_legal(const Question& q, std::span<const TensorType> results) {
  q.need(!results.empty(), "the shape rule gives no result; it must give one at least");
  for (std::size_t i = 0; i < results.size(); ++i) {
    const TensorType& result = results[i];
    std::int64_t count = 1;
    for (std::int64_t size : result.shape) {
      q.need(size >= 0, "the shape rule gives result ", i, " the size ", size, " in [",
             result.shape, "]; sizes are 0 or more");
      q.need(!__builtin_mul_overflow(count, size, &count), "the shape rule gives result ", i,
             " the shape [", result.shape, "], whose elements are too many to count");
    }
    q.need(q.definition.formula || result.dtype == results[0].dtype, "the shape rule gives result ",
           i, " the type ", result.dtype, ", and result 0 ", results[0].dtype,
           "; results of a kernel or of C++ have one type of elements");
  }
}

void need_fit(const Question& q, std::span<const TensorType> results) {
  if (q.definition.changes_operand) {
    q.need(results.size() == 1, "the shape rule gives ", results.size(),
           " results; an op that writes its first operand has that one as its only result");
    q.need(!q.operands.empty(), "there is nothing to write; give the tensor that is written");
    q.need(results[0].dtype == q.operands[0].dtype && results[0].shape == q.operands[0].shape,
           "the shape rule gives ", results[0].dtype, " [", results[0].shape,
           "]; an op that writes its first operand gives a result of its type");
  }
  q.need(!q.definition.formula || !q.operands.empty(),
         "there are no operands; an op that is made of others has one at least");
  if (!q.definition.kernel) return;
  auto pointers = std::ranges::count(q.definition.kernel->kernel.parameter_kinds(),
                                     dsl::ParameterKind::pointer);
  auto buffers = std::ssize(q.operands) + (q.definition.changes_operand ? 0 : std::ssize(results));
  q.need(pointers == buffers || !q.definition.pointers.empty(), "the kernel ",
         q.definition.kernel->kernel.name(), " takes ", pointers, " Pointers, and there are ",
         buffers, " operands and results; it needs one for each");
}

}  // namespace

CustomReference::CustomReference(std::shared_ptr<const CustomDefinition> definition)
    : definition_(std::move(definition)), identity_(definition_->identity) {}
const std::string& CustomReference::name() const { return definition_->name; }
std::string CustomReference::text() const {
  return definition_->settings.empty() ? name() : concat(name(), "(", definition_->settings, ")");
}
bool CustomReference::is_of_library() const { return definition_->result_types != nullptr; }
bool CustomReference::changes_operand() const {
  return definition_ != nullptr && definition_->changes_operand;
}

CustomReference custom_named(const std::string& name) {
  NameTable& table = name_table();
  GatedLock lock(table.mutex);
  auto at = table.names.find(name);
  auto definition = at == table.names.end() ? nullptr : at->second.latest.lock();
  return definition == nullptr ? CustomReference() : CustomReference(std::move(definition));
}

CustomReference define_custom(CustomDefinition definition) {
  require(is_word(definition.name), "[custom_op] the name is \"", definition.name,
          "\"; it must be a word of letters, digits and _");
  NameTable& table = name_table();
  GatedLock lock(table.mutex);
  NamedDefinition& named = table.names[definition.name];
  if (definition.identity == Hash{})
    definition.identity = Hasher().add("custom").add(definition.name).add(named.count++).finish();
  auto shared = std::make_shared<const CustomDefinition>(std::move(definition));
  named.latest = shared;
  return CustomReference(std::move(shared));
}

ValueType custom_type(const CustomDefinition& definition, std::span<const ValueType> operands,
                      std::source_location where) {
  Question q{definition, operands, where};
  std::vector<TensorType> results = by_rule(q);
  need_legal(q, results);
  need_fit(q, results);
  ValueType type{results[0].dtype, results[0].shape};
  for (std::size_t i = 1; i < results.size(); ++i)
    type.others.push_back({results[i].dtype, results[i].shape});
  return type;
}

ValueType flat_type(const ValueType& type) {
  if (type.others.empty()) return type;
  std::int64_t count = element_count(type.shape);
  for (const ValueType& other : type.others) count += element_count(other.shape);
  return {type.dtype, {count}};
}

CustomCall custom_call(const CustomDefinition& definition, std::span<const TensorType> operands,
                       std::int64_t configuration) {
  Configuration chosen;
  if (definition.kernel && !definition.kernel->configurations.empty())
    chosen = definition.kernel->configurations[static_cast<std::size_t>(configuration - 1)];
  return {definition.name,
          {operands.begin(), operands.end()},
          definition.rule(operands),
          std::move(chosen)};
}

std::int64_t configurations_of(const CustomDefinition& definition) {
  if (!definition.kernel) return 1;
  return std::max<std::int64_t>(1, std::ssize(definition.kernel->configurations));
}

}  // namespace tilewright::graph
