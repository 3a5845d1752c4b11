#include "graph/functions/differentiating/differentiated_function.h"

#include <algorithm>
#include <optional>

#include "dsl/launch/device.h"
#include "graph/custom/custom_call.h"
#include "graph/derivatives/gradient_check.h"
#include "graph/functions/differentiating/gradient_node.h"
#include "graph/functions/differentiating/host_tensor.h"
#include "graph/ir/ir.h"
#include "graph/ir/location.h"
#include "graph/tensor/capture.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/index_ranges.h"
#include "graph/tensor/recording/graph_break.h"
#include "graph/tensor/tensor_body.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

using Tensors = DifferentiatedFunction::Tensors;

// Computes the output of a graph at once.
Tensor value_of(Graph graph, Tensors inputs, std::source_location where) {
  const CapturePause pause;
  graph.input_strides.assign(graph.inputs.size(), Strides{});
  Attributes attributes;
  attributes.custom = gradient_of(std::move(graph), {});
  return apply_all(Op::custom_formula, inputs, attributes, where)[0];
}

struct CapturedBody {
  Captured captured;
  std::vector<NodeId> references;  // their nodes
};

// `may_look`: the inputs have values, which the function may read; within the capture of a function
// that is differentiated itself, those that it knows.
CapturedBody capture_body(const DifferentiatedFunction::Function& function, const Tensors& like,
                          const Tensors& references, bool may_look, std::source_location where) {
  const CapturesForDerivatives captures;
  Capture* around = Capture::active();
  std::optional<Capture> capture;
  if (around != nullptr)
    capture.emplace(*around);
  else
    capture.emplace();
  if (may_look)
    capture->may_look([&](Graph so_far, const Tensors& captured) {
      Tensors all = like;
      all.insert(all.end(), captured.begin(), captured.end());
      if (around != nullptr && around->knows_values())
        for (Tensor& each : all) each = around->looked_at(each, "derivative", where);
      return value_of(std::move(so_far), std::move(all), where);
    });
  Tensors inputs;
  for (const Tensor& tensor : like)
    inputs.push_back(capture->placeholder(tensor.dtype(), tensor.shape()));
  CapturedBody body;
  for (const Tensor& reference : references)
    body.references.push_back(capture->differentiate_by(reference, where));
  Tensors outputs = function(inputs);
  inputs.clear();
  body.captured = capture->finish(std::move(outputs));
  if (around != nullptr) {
    for (Guard& guard : body.captured.guards) around->note_guard(std::move(guard));
    for (const Buffer* memory : body.captured.read) around->note_read(memory);
  }
  return body;
}

// Within a capture, a function that reads data breaks that one's graph, so that all tensors that it
// uses have values.
CapturedBody captured_body(const DifferentiatedFunction::Function& function, const Tensors& like,
                           const Tensors& references, std::source_location where) {
  Capture* around = Capture::active();
  std::optional<Break> read;
  try {
    const bool may_look = around == nullptr || around->knows_values();
    return capture_body(function, like, references, may_look, where);
  } catch (const DataReadError& error) {
    if (around == nullptr || !around->can_break()) throw;
    read = error.at;
  }
  around->break_here(*read);
  return capture_body(function, like, references, true, where);
}

}  // namespace

DifferentiatedFunction::DifferentiatedFunction(std::string_view name, const Function& function,
                                               Tensors inputs, std::source_location where,
                                               const Tensors& references)
    : name_(name), where_(where), arguments_(inputs.size()), inputs_(std::move(inputs)) {
  for (std::size_t i = 0; i < arguments_; ++i)
    require(inputs_[i].defined(), "[", name_, "] tensor ", i, " of the arguments is undefined (at ",
            At{where_}, "); every argument must be made of tensors");
  require(arguments_ + references.size() > 0, "[", name_,
          "] there is no tensor among the arguments (at ", At{where_},
          "); derivatives are with respect to one at least");
  auto [captured, nodes] = captured_body(function, inputs_, references, where_);
  require(captured.logs.empty(), "[", name_, "] the function prints or logs a value (at ",
          At{where_}, "); return it as a further result");
  body_ = std::make_shared<Graph>(std::move(captured.graph));
  results_ = body_->outputs.size();
  body_->input_strides.assign(body_->inputs.size(), Strides{});  // operands are row-major values
  inputs_.insert(inputs_.end(), captured.captured.begin(), captured.captured.end());
  for (NodeId node : nodes)
    references_.push_back(
        static_cast<std::size_t>(std::ranges::find(body_->inputs, node) - body_->inputs.begin()));
  take_writes();
  take_index_checks();
}

// Values that are written become results, which `gradients` writes.
void DifferentiatedFunction::take_writes() {
  for (const Mutation& mutation : body_->mutations) {
    const auto input = static_cast<std::size_t>(std::ranges::find(body_->inputs, mutation.input) -
                                                body_->inputs.begin());
    require(input >= arguments_, "[", name_, "] the function writes an argument in place (at ",
            At{where_}, "); return the new value as a further result");
    require(std::ranges::find(references_, input) == references_.end(), "[", name_,
            "] the function writes a parameter of ", inputs_[input].shape(), " in place (at ",
            At{body_->node(mutation.value).where},
            "), by which it is differentiated; write to it after the gradients were computed");
    written_.push_back(inputs_[input]);
    body_->outputs.push_back(mutation.value);
  }
  body_->mutations.clear();
}

// Indices are noted again where their values are known to the capture around, or at once.
void DifferentiatedFunction::take_index_checks() {
  for (const IndexCheck& check : body_->index_checks) {
    const auto input = std::ranges::find(body_->inputs, check.index);
    if (input != body_->inputs.end()) {
      require_inside(inputs_[static_cast<std::size_t>(input - body_->inputs.begin())], check.range);
    } else {
      ranges_.push_back(check.range);
      body_->outputs.push_back(check.index);
    }
  }
  body_->index_checks.clear();
}

DifferentiatedFunction::~DifferentiatedFunction() = default;

TensorType DifferentiatedFunction::result(std::size_t i) const {
  const Node& node = body_->node(body_->outputs[i]);
  return {node.dtype, node.shape};
}

void DifferentiatedFunction::require_floating(const std::vector<std::size_t>& wanted) const {
  for (std::size_t i : wanted)
    require(is_floating(inputs_[i].dtype()), "[", name_, "] tensor ", i, " of the arguments is ",
            inputs_[i].dtype(), " (at ", At{where_},
            "); derivatives are with respect to floating tensors: pass it as another argument, or "
            "let the function refer to it");
}

void DifferentiatedFunction::require_cotangent(std::size_t i, const Tensor& cotangent) const {
  const TensorType type = result(i);
  require(is_floating(type.dtype), "[", name_, "] result ", i, " is ", type.dtype, " (at ",
          At{where_}, "); only floating results have derivatives");
  require(cotangent.dtype() == type.dtype && cotangent.shape() == type.shape, "[", name_,
          "] the cotangent of result ", i, " is ", cotangent.dtype(), " ", cotangent.shape(),
          ", the result ", type.dtype, " ", type.shape, " (at ", At{where_},
          "); they must be alike");
}

DifferentiatedFunction::Gradients DifferentiatedFunction::apply_node(
    CustomReference custom, const Tensors& operands) const {
  Attributes attributes;
  attributes.custom = std::move(custom);
  Tensors all = of_user_call(
      name_, where_, [&] { return apply_all(Op::custom_formula, operands, attributes, where_); });
  std::size_t next = results_;
  for (const Tensor& written : written_) Tensor(written).copy_from(all[next++], where_);
  for (const IndexRange& range : ranges_) require_inside(all[next++], range);
  const auto begin = all.begin();
  return {Tensors(begin, begin + static_cast<std::ptrdiff_t>(results_)),
          Tensors(begin + static_cast<std::ptrdiff_t>(next), all.end())};
}

DifferentiatedFunction::Gradients DifferentiatedFunction::gradients(
    const std::vector<std::size_t>& wanted, const Tensors& cotangents) const {
  require_floating(wanted);
  GradientRequest request{wanted, {}};
  Tensors operands = inputs_;
  for (std::size_t i = 0; i < results_; ++i) {
    if (!cotangents[i].defined()) continue;
    require_cotangent(i, cotangents[i]);
    request.outputs.push_back(i);
    operands.push_back(cotangents[i]);
  }
  return apply_node(gradient_of(*body_, std::move(request)), operands);
}

// The target of the device that the function's tensors lie on, as far as it is known.
dsl::Target DifferentiatedFunction::target() const {
  for (const Tensor& input : inputs_)
    if (input.body()->buffer != nullptr && memory_of(input) != nullptr)
      return Device::of(memory_of(input)).target();
  return default_device().target();
}

// Inputs as they are now, whatever is written afterwards.
Tensors DifferentiatedFunction::values_of(const std::vector<std::size_t>& inputs) const {
  Capture* capture = Capture::active();
  Tensors values;
  for (std::size_t i : inputs) {
    const bool is_written = std::ranges::any_of(written_, [&](const Tensor& written) {
      return written.body()->buffer == inputs_[i].body()->buffer;
    });
    if (capture != nullptr)
      values.push_back(capture->copy(inputs_[i], name_, where_));
    else
      values.push_back(is_written ? inputs_[i].clone(where_) : inputs_[i]);
  }
  return values;
}

DifferentiatedFunction::Split DifferentiatedFunction::split(
    const std::vector<std::size_t>& wanted) const {
  require_floating(wanted);
  GradientRequest request{wanted, {}};
  for (std::size_t i = 0; i < results_; ++i)
    if (is_floating(result(i).dtype)) request.outputs.push_back(i);
  const dsl::Target made_for = target();
  SplitGradient parts = split_gradient(before_gradients(*body_, made_for), request, made_for);
  Tensors kept = values_of(parts.inputs);
  Gradients forward =
      apply_node(inlined_forward(std::move(parts.forward), *body_, request), inputs_);
  kept.insert(kept.end(), forward.gradients.begin(), forward.gradients.end());
  Attributes attributes;
  attributes.custom = inlined(std::move(parts.backward));
  // The function itself may be gone when it is called.
  auto pullback = [function = *this, kept = std::move(kept), attributes = std::move(attributes),
                   floating = std::move(request.outputs)](const Tensors& cotangents) {
    Tensors operands = kept;
    for (std::size_t i : floating) {
      function.require_cotangent(i, cotangents[i]);
      operands.push_back(cotangents[i]);
    }
    return of_user_call(function.name_, function.where_, [&] {
      return apply_all(Op::custom_formula, operands, attributes, function.where_);
    });
  };
  return {std::move(forward.results), std::move(pullback)};
}

DifferentiatedFunction::Gradients DifferentiatedFunction::directional(
    const Tensors& tangents) const {
  require(tangents.size() == arguments_, "[", name_, "] there are ", tangents.size(),
          " tangents, for ", arguments_, " tensors (at ", At{where_}, "); they must be alike");
  GradientRequest request;
  for (std::size_t i = 0; i < arguments_; ++i) {
    require(tangents[i].dtype() == inputs_[i].dtype() && tangents[i].shape() == inputs_[i].shape(),
            "[", name_, "] the tangent of tensor ", i, " is ", tangents[i].dtype(), " ",
            tangents[i].shape(), ", the tensor ", inputs_[i].dtype(), " ", inputs_[i].shape(),
            " (at ", At{where_}, "); they must be alike");
    request.inputs.push_back(i);
  }
  require_floating(request.inputs);
  for (std::size_t i = 0; i < results_; ++i) {
    const DType dtype = result(i).dtype;
    require(is_floating(dtype), "[", name_, "] result ", i, " is ", dtype, " (at ", At{where_},
            "); results must be floating");
    request.outputs.push_back(i);
  }
  const dsl::Target made_for = target();
  Tensors operands = inputs_;
  operands.insert(operands.end(), tangents.begin(), tangents.end());
  return apply_node(inlined(tangent_graph(before_gradients(*body_, made_for), request, made_for)),
                    operands);
}

void DifferentiatedFunction::check(int directions, std::uint64_t seed, double tolerance) const {
  require(directions > 0, "[", name_, "] ", directions, " directions are asked for (at ",
          At{where_}, "); there must be at least 1");
  GradientRequest request;
  for (std::size_t i = 0; i < arguments_; ++i)
    if (is_floating(inputs_[i].dtype())) request.inputs.push_back(i);
  for (std::size_t i = 0; i < results_; ++i)
    if (is_floating(result(i).dtype)) request.outputs.push_back(i);
  const std::vector<HostTensor> inputs = host_tensors_of(inputs_);
  for (int i = 0; i < directions; ++i) {
    const std::uint64_t own = seed + static_cast<std::uint64_t>(i);
    const auto found = gradient_mismatch(*body_, request, inputs, target(), {own, tolerance});
    if (found)
      raise_error(
          concat("[", name_, "] tensor ", found->input, " of the arguments, in the direction (",
                 found->direction, ") of seed ", own, ": the derivative is ", found->by_gradient,
                 " by the gradient and ", found->by_differences, " by differences (at ", At{where_},
                 ")", found->cause.empty() ? "" : "; they differ by the rule of ", found->cause));
  }
}

Tensors DifferentiatedFunction::checkpointed() const {
  return apply_node(checkpoint_of(*body_), inputs_).results;
}

}  // namespace tilewright::graph
