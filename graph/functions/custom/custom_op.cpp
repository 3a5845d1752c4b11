#include "graph/functions/custom/custom_op.h"

#include <algorithm>

#include "graph/custom/definition.h"
#include "graph/functions/custom/formulas.h"
#include "graph/functions/differentiating/captured_rule.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/eager.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Capture;
using graph::CustomDefinition;
using std::source_location;

namespace {

bool changes_operand(const std::string& name, const CustomOptions& options) {
  for (int written : options.writes)
    require(written == 0, "[custom_op] ", name, " writes operand ", written,
            "; an op may write its first operand, and returns everything else as results");
  return !options.writes.empty();
}

void require_rule(const std::string& name, const ShapeRule& rule) {
  require(rule != nullptr, "[custom_op] ", name,
          " has no shape rule; give a function from types of operands to types of results");
}

// An op that changes its first operand has that one's new value as its result.
ShapeRule rule_of(ShapeRule rule, bool changes_operand) {
  if (!changes_operand) return rule;
  return [rule = std::move(rule)](std::span<const TensorType> operands) {
    std::vector<TensorType> results = rule(operands);
    if (results.empty() && !operands.empty()) results.push_back(operands[0]);
    return results;
  };
}

void require_cotangents(const std::string& name, const std::vector<Tensor>& given,
                        const std::vector<Tensor>& operands) {
  require(given.size() == operands.size(), "[", name, "] the derivative gives ", given.size(),
          " cotangents for ", operands.size(), " operands; there must be one for each, undefined ",
          "where none flows");
  for (std::size_t i = 0; i < given.size(); ++i)
    require(!given[i].defined() || given[i].shape() == operands[i].shape(), "[", name,
            "] the derivative gives operand ", i, " a cotangent ", given[i].shape(),
            ", the operand is ", operands[i].shape(), "; both must have one shape");
}

CustomDefinition::Derivative derivative_of(const std::string& name, const CustomOptions& options) {
  if (options.derivative == nullptr) return {};
  require(options.writes.empty(), "[custom_op] ", name,
          " writes an operand and has a derivative; only ops that write nothing have one");
  return [name, rule = options.derivative](const graph::Differential& d) {
    const graph::Cotangents found = graph::captured_rule(d, [&](const graph::RuleOperands& of) {
      std::vector<Tensor> given = rule(of.operands, of.results, of.cotangents);
      require_cotangents(name, given, of.operands);
      return given;
    });
    std::vector<std::optional<graph::NodeId>> nodes;
    for (const auto& cotangent : found)
      nodes.push_back(cotangent ? std::optional(cotangent->id) : std::nullopt);
    return nodes;
  };
}

// The operands are row-major, on one device, and none is missing.
void require_operands(const std::string& name, const std::vector<Tensor>& operands,
                      source_location where) {
  for (std::size_t i = 0; i < operands.size(); ++i)
    require(operands[i].defined(), "[", name, "] operand ", i, " is undefined (at ", At{where},
            "); give a tensor");
}

std::vector<Tensor> write_first(const graph::CustomReference& custom,
                                const std::vector<Tensor>& operands,
                                const graph::Attributes& attributes, source_location where) {
  if (Capture* capture = Capture::active()) {
    Tensor written = capture->append(custom->op(), operands, attributes, std::nullopt, where);
    capture->write(operands[0], written, custom.name(), where);
    return {operands[0]};
  }
  TensorBody& body = graph::body_of(operands[0], custom.name(), where);
  if (!body.buffer) graph::require_usable(body, custom.name(), where);
  graph::require_writable(body, custom.name(), where);
  graph::require_own_elements(body, custom.name(), where);
  graph::run_eager_in_place(custom->op(), operands, attributes, where);
  return {operands[0]};
}

}  // namespace

std::vector<Tensor> CustomOp::all(const std::vector<Tensor>& operands,
                                  source_location where) const {
  require_operands(name(), operands, where);
  graph::Attributes attributes;
  attributes.custom = definition_;
  if (definition_.changes_operand()) {
    require(!operands.empty(), "[", name(), "] there is nothing to write (at ", At{where},
            "); give the tensor that is written");
    return write_first(definition_, operands, attributes, where);
  }
  return graph::apply_all(definition_->op(), operands, attributes, where);
}

Tensor CustomOp::of_many(std::initializer_list<TensorOperand> operands) const {
  std::vector<const TensorOperand*> all;
  for (const TensorOperand& operand : operands) all.push_back(&operand);
  return result_of(all);
}

Tensor CustomOp::one(std::initializer_list<const TensorOperand*> operands) const {
  return result_of(std::span(operands.begin(), operands.size()));
}

Tensor CustomOp::result_of(std::span<const TensorOperand* const> operands) const {
  std::vector<Tensor> tensors;
  const source_location where = operands.front()->where;
  // Between elements a number has the dtype that it has beside these tensors elsewhere.
  auto is_tensor = [](const TensorOperand* operand) { return operand->tensor.defined(); };
  auto is_given = [&](const TensorOperand* each) { return each->is_number || is_tensor(each); };
  const bool promotes = definition_->formula && !definition_->rule &&
                        std::ranges::all_of(operands, is_given) &&
                        std::ranges::any_of(operands, is_tensor);
  auto dtype_of_number = [&](const TensorOperand& operand) {
    return promotes ? graph::common_dtype(name(), operands) : operand.number.dtype();
  };
  for (const TensorOperand* operand : operands)
    tensors.push_back(operand->is_number
                          ? graph::constant(dtype_of_number(*operand), {}, operand->number, where)
                          : operand->tensor);
  std::vector<Tensor> results = all(tensors, where);
  require(results.size() == 1, "[", name(), "] there are ", results.size(), " results (at ",
          At{where}, "); ask for them by all()");
  return results[0];
}

CustomOp custom_op(const std::string& name, ElementwiseFunction function) {
  CustomDefinition definition;
  definition.name = name;
  definition.formula = graph::formula_of(name, std::move(function));
  return CustomOp(graph::define_custom(std::move(definition)));
}

CustomOp custom_op(const std::string& name, ShapeRule rule, TileKernel kernel,
                   const CustomOptions& options) {
  require_rule(name, rule);
  require(kernel.launch != nullptr, "[custom_op] ", name,
          " has no launch; give a function from a call to the grid and the numbers of the kernel");
  require(kernel.configurations.size() <= graph::most_configurations, "[custom_op] ", name, " has ",
          kernel.configurations.size(), " configurations; there may be up to ",
          graph::most_configurations);
  CustomDefinition definition;
  definition.name = name;
  definition.changes_operand = changes_operand(name, options);
  definition.rule = rule_of(std::move(rule), definition.changes_operand);
  definition.kernel = std::move(kernel);
  definition.derivative = derivative_of(name, options);
  return CustomOp(graph::define_custom(std::move(definition)));
}

CustomOp custom_op(const std::string& name, ShapeRule rule, BufferFunction function,
                   const CustomOptions& options) {
  require_rule(name, rule);
  require(function != nullptr, "[custom_op] ", name, " has no implementation; give a function");
  CustomDefinition definition;
  definition.name = name;
  definition.changes_operand = changes_operand(name, options);
  definition.rule = rule_of(std::move(rule), definition.changes_operand);
  definition.buffers = std::move(function);
  definition.derivative = derivative_of(name, options);
  return CustomOp(graph::define_custom(std::move(definition)));
}

CustomOp custom_op(const std::string& name, ShapeRule rule, GraphFunction function,
                   const CustomOptions& options) {
  require_rule(name, rule);
  require(function != nullptr, "[custom_op] ", name, " has no implementation; give a function");
  require(options.writes.empty(), "[custom_op] ", name,
          " is a function of tensors, which writes none; leave CustomOptions::writes empty");
  CustomDefinition definition;
  definition.name = name;
  definition.composites = graph::formula_of(name, rule, function, graph::Composites::kept);
  definition.formula =
      graph::formula_of(name, rule, std::move(function), graph::Composites::decomposed);
  definition.rule = std::move(rule);
  definition.derivative = derivative_of(name, options);
  return CustomOp(graph::define_custom(std::move(definition)));
}

}  // namespace tilewright
