#include "models/programs/program_gradients.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "graph/custom/custom_call.h"
#include "graph/functions/creation.h"
#include "graph/functions/differentiating/differentiated_function.h"
#include "graph/ir/location.h"
#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::DifferentiatedFunction;
using json::excerpt;
using std::source_location;

namespace {

// The tensors that the program is differentiated by: its inputs, then its parameters.
std::vector<Tensor> variable_tensors(ProgramModule& model, const std::vector<Tensor>& inputs,
                                     const ProgramVariables& variables, source_location w) {
  std::vector<Tensor> tensors;
  for (std::size_t i : variables.inputs) {
    require(i < inputs.size(), "[program_gradients] there is no input ", i, " (at ", At{w},
            "); the program takes ", model.inputs().size());
    require(is_floating(inputs[i].dtype()), "[program_gradients] input ", i, " \"",
            excerpt(model.inputs()[i].name), "\" is ", inputs[i].dtype(), " (at ", At{w},
            "); gradients are of floating inputs and parameters");
    tensors.push_back(inputs[i]);
  }
  std::map<std::string, Tensor> own;
  for (const NamedParameter& parameter : model.named_parameters())
    own.emplace(parameter.name, parameter.tensor);
  for (const std::string& wanted : variables.parameters) {
    const auto found = own.find(wanted);
    require(found != own.end(), "[program_gradients] the program has no parameter \"",
            excerpt(wanted), "\" (at ", At{w}, "); it has ", own.size());
    require(is_floating(found->second.dtype()), "[program_gradients] parameter \"", excerpt(wanted),
            "\" is ", found->second.dtype(), " (at ", At{w},
            "); gradients are of floating inputs and parameters");
    tensors.push_back(found->second);
  }
  return tensors;
}

// Those of all outputs, 1 where none is given for a floating one.
std::vector<Tensor> all_cotangents(const DifferentiatedFunction& function,
                                   const std::vector<Tensor>& given, source_location w) {
  require(given.size() <= function.count(), "[program_gradients] there are ", given.size(),
          " cotangents (at ", At{w}, "); the program has ", function.count(), " outputs");
  std::vector<Tensor> all = given;
  all.resize(function.count());
  bool has_floating = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const TensorType output = function.result(i);
    if (!is_floating(output.dtype)) {
      require(!all[i].defined(), "[program_gradients] output ", i, " is ", output.dtype, " (at ",
              At{w}, "); only floating outputs have cotangents");
      continue;
    }
    has_floating = true;
    if (!all[i].defined()) all[i] = full(output.shape, 1, output.dtype, w);
    require(all[i].dtype() == output.dtype && all[i].shape() == output.shape,
            "[program_gradients] the cotangent of output ", i, " is ", all[i].dtype(), " [",
            all[i].shape(), "] (at ", At{w}, "); the output is ", output.dtype, " [", output.shape,
            "]");
  }
  require(has_floating, "[program_gradients] none of the program's ", all.size(),
          " outputs is floating (at ", At{w}, "); only such have gradients");
  return all;
}

using Call = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// The program as a function of the variables. Inputs are copied, as it may write them.
Call function_of_variables(const ProgramModule& model, const std::vector<Tensor>& inputs,
                           const ProgramVariables& variables) {
  return [&](const std::vector<Tensor>& tensors) {
    std::vector<Tensor> all;
    for (const Tensor& input : inputs) all.push_back(input.clone());
    std::map<std::string, Tensor> parameters;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if (i < variables.inputs.size())
        all[variables.inputs[i]] = tensors[i].clone();
      else
        parameters.emplace(variables.parameters[i - variables.inputs.size()], tensors[i]);
    return model.forward_with(parameters, all);
  };
}

// The results of a function of the variables with its gradients by all of them.
DifferentiatedFunction::Gradients gradients_by_all(const Call& call, const std::vector<Tensor>& of,
                                                   const std::vector<Tensor>& cotangents,
                                                   source_location w) {
  const DifferentiatedFunction function("program_gradients", call, of, w);
  std::vector<std::size_t> wanted(of.size());
  std::iota(wanted.begin(), wanted.end(), 0);
  return function.gradients(wanted, all_cotangents(function, cotangents, w));
}

ProgramGradients named_gradients(std::vector<Tensor> outputs, const std::vector<Tensor>& gradients,
                                 const ProgramVariables& variables) {
  ProgramGradients result{std::move(outputs), {}, {}};
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (i < variables.inputs.size())
      result.inputs.emplace(variables.inputs[i], gradients[i]);
    else
      result.parameters.emplace(variables.parameters[i - variables.inputs.size()], gradients[i]);
  return result;
}

// Checks the inputs, and gives the tensors of the variables.
std::vector<Tensor> checked_variables(ProgramModule& model, const std::vector<Tensor>& inputs,
                                      const ProgramVariables& variables, source_location w) {
  require(inputs.size() == model.inputs().size(), "[program_gradients] there are ", inputs.size(),
          " inputs (at ", At{w}, "); the program takes ", model.inputs().size());
  std::vector<Tensor> of = variable_tensors(model, inputs, variables, w);
  require(!of.empty(), "[program_gradients] there is no variable (at ", At{w},
          "); name a floating input or parameter");
  return of;
}

}  // namespace

ProgramVariables differentiable_variables(ProgramModule& model) {
  ProgramVariables all;
  for (std::size_t i = 0; i < model.inputs().size(); ++i)
    if (is_floating(model.inputs()[i].dtype)) all.inputs.push_back(i);
  for (const NamedParameter& parameter : model.named_parameters())
    if (is_floating(parameter.tensor.dtype())) all.parameters.push_back(parameter.name);
  return all;
}

ProgramGradients program_gradients(ProgramModule& model, const std::vector<Tensor>& inputs,
                                   const std::vector<Tensor>& cotangents,
                                   const ProgramVariables& variables, source_location w) {
  const std::vector<Tensor> of = checked_variables(model, inputs, variables, w);
  auto found = gradients_by_all(function_of_variables(model, inputs, variables), of, cotangents, w);
  return named_gradients(std::move(found.results), found.gradients, variables);
}

ProgramGradients program_second_gradients(ProgramModule& model, const std::vector<Tensor>& inputs,
                                          const std::vector<Tensor>& cotangents,
                                          const ProgramVariables& variables,
                                          const std::vector<Tensor>& directions,
                                          source_location w) {
  const std::vector<Tensor> of = checked_variables(model, inputs, variables, w);
  require(directions.size() <= of.size(), "[program_gradients] there are ", directions.size(),
          " directions (at ", At{w}, "); there are ", of.size(), " variables");
  for (std::size_t i = 0; i < directions.size(); ++i) {
    if (!directions[i].defined()) continue;
    const bool is_alike =
        directions[i].dtype() == of[i].dtype() && directions[i].shape() == of[i].shape();
    require(is_alike, "[program_gradients] direction ", i, " is ", directions[i].dtype(), " [",
            directions[i].shape(), "] (at ", At{w}, "); its variable is ", of[i].dtype(), " [",
            of[i].shape(), "]");
  }
  const Call function = function_of_variables(model, inputs, variables);
  const Call slopes = [&](const std::vector<Tensor>& tensors) {
    return gradients_by_all(function, tensors, cotangents, w).gradients;
  };
  auto found = gradients_by_all(slopes, of, directions, w);
  return named_gradients(std::move(found.results), found.gradients, variables);
}

}  // namespace tilewright
