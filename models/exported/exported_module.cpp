#include "models/exported/exported_module.h"

#include <algorithm>
#include <deque>
#include <unordered_map>

#include "graph/compile/sizes/size_marks.h"
#include "graph/functions/pointwise/host_constants.h"
#include "graph/ir/user_call.h"
#include "graph/tensor/recording/graph_break.h"
#include "graph/tensor/tensor_body.h"
#include "models/exported/archive.h"
#include "models/exported/archive_layout.h"
#include "models/exported/aten/operators.h"
#include "models/exported/copied_views.h"
#include "models/exported/decided.h"
#include "models/exported/program/program.h"
#include "models/exported/storage_bases.h"
#include "models/exported/tensor_data.h"
#include "models/exported/training_mode.h"
#include "models/files/reader.h"
#include "models/programs/constants.h"
#include "models/programs/given_parameters.h"
#include "models/programs/program_nodes.h"
#include "models/programs/signature.h"
#include "runtime/base/error.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright {

using exported::Archive;
using exported::Call;
using exported::Input;
using exported::NamedOperator;
using exported::Node;
using exported::Output;
using exported::Program;
using exported::Results;
using exported::Value;
using exported::ValueId;
using json::excerpt;

namespace {

Program program_of(const Archive& archive) {
  exported::require_little_endian(archive);
  return exported::read_program(exported::program_text(archive), archive.file()->name());
}

std::vector<ProgramOperator> operators_of(const Program& program) {
  programs::OperatorList operators;
  exported::for_each_node(program.nodes, [&](const Node& node) {
    const auto op = exported::find_operator(node.target);
    if (op && node.takes_complex && !op->takes_complex())
      operators.add(node.target + " of complex numbers", false, node.source);
    else
      operators.add(node.target, op.has_value(), node.source);
  });
  return operators.take();
}

programs::Lifetimes lifetimes_of(const Program& program) {
  std::vector<ValueId> kept;
  for (const Output& output : program.outputs)
    if (!output.number) kept.push_back(output.value);
  return {program.value_names.size(), program.nodes.size(), kept,
          [&](std::size_t at, const auto& gives, const auto& reads) {
            for (ValueId id : program.nodes[at].results) gives(id);
            exported::for_each_used(program.nodes[at], reads);
          }};
}

programs::Signature signature_of(const Program& program) {
  programs::Signature signature{
      "exported", {}, program.symbols, program.functions, program.conditions};
  for (const Input& input : program.inputs)
    if (input.kind == Input::Kind::user)
      signature.inputs.push_back({input.name, input.facts, true, input.integer});
  return signature;
}

// A number as a tensor without axes, as wide as Python's.
Tensor of_number(const Number& number) {
  return full({}, number, is_floating(number.dtype()) ? f64 : number.dtype());
}
// Undefined where there is none.
Tensor result_of(const Value& value) {
  if (auto* integer = std::get_if<std::int64_t>(&value)) return of_number(*integer);
  if (auto* floating = std::get_if<double>(&value)) return of_number(*floating);
  if (auto* flag = std::get_if<bool>(&value)) return of_number(*flag);
  if (auto* both = std::get_if<ComplexTensor>(&value)) return both->pairs();
  auto* tensor = std::get_if<Tensor>(&value);
  return tensor == nullptr ? Tensor() : *tensor;
}
Value value_of(const Tensor& tensor, bool is_complex) {
  if (is_complex) return ComplexTensor::of_pairs(tensor);
  return tensor;
}

std::vector<std::string> outputs_of(const Program& program) {
  std::vector<std::string> names;
  for (const Output& output : program.outputs)
    if (output.kind == Output::Kind::user) names.push_back(output.name);
  return names;
}

// Weights that are tensors of a subclass, as torchao's are, lie in pickles that call its code.
std::string_view hint_of(const std::vector<ProgramOperator>& operators) {
  auto has = [&](std::string_view start) {
    return std::ranges::any_of(operators,
                               [&](const auto& op) { return op.name.starts_with(start); });
  };
  if (has("export.access_subclass_inner_tensor."))
    return " (weights are tensors of a subclass: save what the program's run_decompositions() "
           "gives, which takes them apart)";
  if (has("torch._functorch.predispatch."))
    return " (torch.vmap is as it was called: save what the program's run_decompositions() gives, "
           "which writes it out)";
  return "";
}

}  // namespace

struct ExportedModule::State {
  Program program;
  programs::Signature signature;
  std::vector<NamedOperator> functions;  // of the nodes
  bool writes = false;                   // whether one of them writes in place
  programs::Lifetimes lifetimes;
  std::deque<Tensor> tensors;                        // of the module, in the order of its inputs
  std::unordered_map<std::string, Tensor*> buffers;  // by name
  programs::OwnParameters parameters;
  std::vector<ProgramInput> inputs;
  std::vector<std::string> outputs;
  std::vector<ProgramOperator> operators;
  std::deque<std::pair<ValueId, Value>> decided;  // constants that are held, and what follows
  std::vector<bool> is_decided;                   // of the nodes

  void decide(const std::vector<programs::HeldInput>& held);
  void compute(std::size_t node, std::vector<Value>& values) const;
  // The tensor that an output of the program is written to.
  Tensor target_of(const Output& output, const std::vector<Tensor>& given) const;
};

static std::string name_of_node(const void* node, std::string_view file) {
  const auto* named = static_cast<const Node*>(node);
  return concat("node \"", excerpt(named->name), "\" (", excerpt(named->target), ")",
                file.empty() ? "" : " of ", file, named->source.empty() ? "" : ", from ",
                named->source);
}

void ExportedModule::State::compute(std::size_t at, std::vector<Value>& values) const {
  const Node& node = program.nodes[at];
  graph::ForeignNode running(&node, name_of_node, program.file);
  try {
    Call call(node, values, lifetimes.used());
    Results results = while_doing({"exported", "computing", node.target},
                                  [&] { return functions[at].compute(call, writes); });
    call.refuse_unread();
    require(results.size() == node.results.size(), "[exported] it has ", results.size(),
            " results; the program names ", node.results.size());
    for (std::size_t i = 0; i < results.size(); ++i)
      values[static_cast<std::size_t>(node.results[i])] = std::move(results[i]);
  } catch (const graph::GraphBreak&) {
    throw;
  } catch (const graph::ForeignNodeError&) {
    throw;
  } catch (const Error& error) {
    raise_error(concat(error.what(), "\n  in ", name_of_node(&node, program.file)));
  }
  for (ValueId id : lifetimes.dead_after(at)) values[static_cast<std::size_t>(id)] = Value();
}

Tensor ExportedModule::State::target_of(const Output& output,
                                        const std::vector<Tensor>& given) const {
  if (output.kind == Output::Kind::buffer_change) return *buffers.at(output.name);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].name == output.name) return given[i];
  return {};
}

// The inputs that are held, and what follows from them, as constants of the host; branches that
// these choose are chosen.
void ExportedModule::State::decide(const std::vector<programs::HeldInput>& held) {
  is_decided.assign(program.nodes.size(), false);
  if (held.empty()) return;
  std::vector<Input*> users;
  for (Input& input : program.inputs)
    if (input.kind == Input::Kind::user) users.push_back(&input);
  std::vector<Value> values(program.value_names.size());
  auto add = [&](ValueId id, Value value) {
    decided.emplace_back(id, value);
    values[static_cast<std::size_t>(id)] = std::move(value);
  };
  for (const auto& [place, tensor] : held) {
    Input& input = *users[place];
    for (const Output& output : program.outputs)
      require(output.kind != Output::Kind::input_change || output.name != input.name,
              "[load_exported] ", program.file, ": the constant \"", excerpt(input.name),
              "\" is written to by the program; it must be an input");
    input.kind = Input::Kind::held;
    if (input.integer)
      add(input.value, tensor.item<std::int64_t>());
    else
      add(input.value, value_of(graph::as_constant(tensor), input.is_complex));
  }
  for (std::size_t i = 0; i < program.nodes.size(); ++i) {
    const Node& node = program.nodes[i];
    bool follows = !writes && exported::is_decidable(node.target);
    exported::for_each_used(node, [&](ValueId id) {
      const Value& value = values[static_cast<std::size_t>(id)];
      follows = follows && !std::holds_alternative<std::monostate>(value);
    });
    if (!follows) continue;
    compute(i, values);
    is_decided[i] = true;
    for (ValueId id : node.results) decided.emplace_back(id, values[static_cast<std::size_t>(id)]);
  }
  for (auto& [id, value] : decided) {
    auto* tensor = std::get_if<Tensor>(&value);
    if (tensor == nullptr) continue;
    if (is_boolean(tensor->dtype()) && tensor->count() == 1)
      exported::decide_branches(program, id, tensor->item<bool>());
    value = graph::as_constant(tensor->clone());
  }
}

// Writes at the end of a program all happen together: a value that is written or returned is the
// one from before. Values are often the tensors that others are written to, or views of them.
class LastWrites {
 public:
  void add(const Tensor& target, const Tensor& value) {
    if (target.defined()) writes_.push_back({target, value});
  }
  void run(std::vector<Tensor>& results) {
    for (Tensor& result : results)
      if (std::ranges::any_of(writes_, [&](const Write& w) { return share(w.target, result); }))
        result = result.clone();
    for (std::size_t i = 0; i < writes_.size(); ++i)
      for (std::size_t before = 0; before < i; ++before)
        if (share(writes_[before].target, writes_[i].value)) {
          writes_[i].value = writes_[i].value.clone();
          break;
        }
    for (Write& write : writes_) write.target.copy_from(write.value);
  }

 private:
  struct Write {
    Tensor target, value;
  };
  static const TensorBody* whole_of(const Tensor& tensor) {
    const TensorBody* body = tensor.body().get();
    while (body->base) body = body->base.get();
    return body;
  }
  static bool share(const Tensor& a, const Tensor& b) {
    const TensorBody *x = whole_of(a), *y = whole_of(b);
    return x == y || (x->buffer != nullptr && x->buffer == y->buffer);
  }
  std::vector<Write> writes_;
};

ExportedModule::ExportedModule(std::unique_ptr<State> state) : state_(std::move(state)) {}
ExportedModule::~ExportedModule() = default;

const std::vector<ProgramInput>& ExportedModule::inputs() const { return state_->inputs; }
const std::vector<std::string>& ExportedModule::outputs() const { return state_->outputs; }
const std::vector<ProgramOperator>& ExportedModule::operators() const { return state_->operators; }
const std::string& ExportedModule::torch_version() const { return state_->program.torch_version; }
const std::string& ExportedModule::file() const { return state_->program.file; }
std::string ExportedModule::training_operator() const {
  return exported::training_operator(state_->program);
}

std::vector<Tensor> ExportedModule::forward(const std::vector<Tensor>& inputs) const {
  return forward_with({}, inputs);
}

std::vector<Tensor> ExportedModule::forward_with(const std::map<std::string, Tensor>& parameters,
                                                 const std::vector<Tensor>& inputs) const {
  const Program& program = state_->program;
  programs::check_parameters("exported", state_->parameters, parameters);
  const programs::InputIntegers integers = programs::check_inputs(state_->signature, inputs);
  std::vector<Value> values(program.value_names.size());
  std::size_t user = 0, own = 0;
  for (const Input& input : program.inputs) {
    Value& value = values[static_cast<std::size_t>(input.value)];
    if (input.kind == Input::Kind::held) continue;
    if (input.kind == Input::Kind::parameter)
      value = value_of(programs::chosen(parameters, input.name, state_->tensors[own++]),
                       input.is_complex);
    else if (input.kind != Input::Kind::user)
      value = value_of(state_->tensors[own++], input.is_complex);
    else if (const auto& integer = integers[user])
      value = *integer, ++user;
    else
      value = value_of(inputs[user++], input.is_complex);
  }
  for (const auto& [id, value] : state_->decided) {
    auto* tensor = std::get_if<Tensor>(&value);
    const bool may_change = tensor != nullptr && state_->writes;
    values[static_cast<std::size_t>(id)] = may_change ? Value(tensor->clone()) : value;
  }
  for (std::size_t i = 0; i < program.nodes.size(); ++i)
    if (!state_->is_decided[i]) state_->compute(i, values);
  std::vector<Tensor> results;
  LastWrites writes;
  for (const Output& output : program.outputs) {
    const Tensor tensor = output.number ? of_number(*output.number)
                                        : result_of(values[static_cast<std::size_t>(output.value)]);
    require(tensor.defined(), "[exported] output \"", excerpt(output.name), "\" is no tensor");
    if (output.kind == Output::Kind::user)
      results.push_back(tensor);
    else
      writes.add(state_->target_of(output, inputs), tensor);
  }
  writes.run(results);
  return results;
}

void ExportedModule::mark_dynamic_sizes(const std::vector<Tensor>& inputs) const {
  programs::check_inputs(state_->signature, inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    for (const DynamicAxis& axis : state_->inputs[i].dynamic)
      if (axis.size.find_first_of(" (") == std::string::npos)
        mark_dynamic(inputs[i], axis.axis, {.min = axis.min, .max = axis.max});
      else
        mark_dynamic(inputs[i], axis.axis);
}

std::unique_ptr<ExportedModule> load_exported(const FilePath& path, const ExportedOptions& options,
                                              std::source_location w) {
  return graph::of_user_call("load_exported", w, [&] {
    Archive archive = Archive::open(path, options.reading);
    auto state = std::make_unique<ExportedModule::State>();
    state->program = program_of(archive);
    const Program& program = state->program;
    state->operators = operators_of(program);
    programs::require_known(state->operators, "load_exported", program.file,
                            hint_of(state->operators), {});
    exported::use_storage_bases(state->program);
    exported::settle_written_views(state->program);
    for (const Node& node : program.nodes)
      state->functions.push_back(*exported::find_operator(node.target));
    state->writes = std::ranges::any_of(state->functions, &NamedOperator::writes);
    state->lifetimes = lifetimes_of(program);
    state->signature = signature_of(program);
    state->decide(programs::hold_constant(state->signature, options.constants, "load_exported",
                                          program.file));
    state->inputs = programs::described_inputs(state->signature);
    state->outputs = outputs_of(program);
    std::map<std::string, Tensor> tensors = exported::read_tensors(archive);
    std::unique_ptr<ExportedModule> module(new ExportedModule(std::move(state)));
    for (const Input& input : program.inputs) {
      if (input.kind == Input::Kind::user || input.kind == Input::Kind::held) continue;
      auto found = tensors.find(input.name);
      require(found != tensors.end(), "[load_exported] ", program.file, ": has no tensor \"",
              excerpt(input.name), "\", which its program uses");
      Tensor& tensor = module->state_->tensors.emplace_back(found->second);
      Shape wanted;
      for (const auto& size : input.facts.sizes)
        wanted.push_back(programs::evaluate(size, {}).value_or(-1));
      require(tensor.dtype() == input.facts.dtype && tensor.shape() == wanted, "[load_exported] ",
              program.file, ": tensor \"", excerpt(input.name), "\" is ", tensor.dtype(), " [",
              tensor.shape(), "]; its program has it as ", input.facts.dtype, " [", wanted, "]");
      const bool is_parameter = input.kind == Input::Kind::parameter,
                 is_buffer = input.kind == Input::Kind::buffer;
      if (is_parameter && module->state_->parameters.emplace(input.name, &tensor).second)
        module->register_parameter(input.name, tensor);
      if (is_buffer && input.is_persistent)
        module->register_buffer(input.name, tensor);
      else if (!is_parameter)
        module->register_buffer(tensor);
      if (is_buffer) module->state_->buffers.emplace(input.name, &tensor);
    }
    return module;
  });
}

ProgramSummary inspect_exported(const FilePath& path, const ExportedOptions& options) {
  Archive archive = Archive::open(path);
  Program program = program_of(archive);
  programs::Signature signature = signature_of(program);
  programs::hold_constant(signature, options.constants, "load_exported", program.file);
  ProgramSummary summary{programs::described_inputs(signature),
                         outputs_of(program),
                         operators_of(program),
                         static_cast<std::int64_t>(program.nodes.size()),
                         0,
                         0,
                         "PyTorch " + program.torch_version};
  for (const Input& input : program.inputs)
    if (input.kind == Input::Kind::parameter) {
      Shape sizes;
      for (const auto& size : input.facts.sizes)
        sizes.push_back(programs::evaluate(size, {}).value_or(1));
      std::int64_t count = element_count(sizes);
      summary.parameters += count;
      summary.parameter_bytes += count * size_bytes(input.facts.dtype);
    }
  return summary;
}

}  // namespace tilewright
