// Makes the contents of a package (runtime/package/contents.h) of compiled functions: the plans of
// whole functions of the host, their kernels as objects, and the weights that they read.
//
// Memory that a plan does not read is left out: weights of which it reads packed copies, or values
// that were computed of them. Weights, copies and kernels that several functions share are there
// once.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "dsl/target/target.h"
#include "graph/compile/bindings/plan_inputs.h"
#include "graph/compile/bindings/plan_results.h"
#include "graph/compile/calls/signature.h"
#include "graph/ir/ir.h"
#include "graph/run/control_flow.h"
#include "graph/run/plan.h"
#include "graph/tensor/checks/row_checks.h"
#include "runtime/base/hash.h"
#include "runtime/package/contents.h"

namespace tilewright::graph {

// A compiled whole function of one signature.
struct FunctionParts {
  const Signature& signature;
  const std::vector<std::string>& places;  // of its tensors among the arguments, for their names
  const Graph& graph;                      // that the plan was made of
  const Plan& plan;
  const PlanInputs& inputs;
  const std::vector<std::size_t>& written;  // inputs
  const RowChecks& checks;
  const PlanResults& results;
};

class PackageMaker {
 public:
  // Names beyond the last output's are not used; outputs without one are out.0, out.1, ... Empty,
  // or a foreign instruction set that the objects are for.
  PackageMaker(std::vector<std::string> output_names, int threads,
               const std::string& foreign_instruction_set);
  // Raises `Error` "[save_package] ..." for what no package holds.
  void add(const FunctionParts& parts);
  PackageContents take();

 private:
  void add_inputs(const FunctionParts& parts, PackageFunction& function) const;
  static std::vector<std::size_t> offsets_of(const FunctionParts& parts);
  void add_bindings(const FunctionParts& parts, PackageFunction& function);
  PackageBinding binding_of(const FunctionParts& parts, std::size_t input);
  std::vector<Hash> hashes_of_weights(const FunctionParts& parts);
  void add_results(const FunctionParts& parts, PackageFunction& function) const;
  static void add_checks(const FunctionParts& parts, PackageFunction& function);
  std::uint32_t executable_of(const Graph& graph, const Plan& plan);
  PackageKernelUse kernel_of(const Graph& graph, const Plan& plan, std::size_t program);
  std::uint32_t control_flow_of(const Graph& graph, const PlannedControlFlow& planned);
  std::uint32_t code_of(const Graph& graph, const Plan& plan, std::size_t program);
  std::uint32_t blob(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
  void require_distinct(const PackageFunction& function) const;

  std::vector<std::string> output_names_;
  int threads_;
  std::optional<dsl::Target> foreign_;
  PackageContents contents_;
  std::map<Hash, std::uint32_t> kernels_;                  // by key
  using Bytes = std::pair<const std::byte*, std::size_t>;  // begin and size
  std::map<Bytes, std::uint32_t> blobs_;
  std::map<Bytes, Hash> hashes_;  // of captured tensors
};

}  // namespace tilewright::graph
