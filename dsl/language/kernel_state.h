// The state that copies of a Kernel share. Apart from kernel.h, because tracing needs no code
// generator and launching does: the two live in libraries of their own.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "dsl/analysis/parameter_use.h"
#include "dsl/language/kernel_knobs.h"
#include "dsl/language/kernel_signature.h"
#include "dsl/launch/device.h"
#include "dsl/passes/check_asserts.h"
#include "dsl/passes/check_bounds.h"
#include "runtime/artifact.h"
#include "runtime/kept/bounded_table.h"

namespace tilewright::dsl {

// The program of one signature on one device.
struct CompiledKernel {
  Signature signature;
  std::vector<Fact> facts;  // an entry a parameter
  Device device;
  Knobs knobs;
  std::shared_ptr<const Artifact> artifact;
  std::vector<ParameterUse> uses;      // an entry a Pointer or Scalar
  std::optional<BoundsChecks> checks;  // that the program makes
  std::optional<AssertChecks> asserts;
};

struct KernelState {
  std::string name;
  std::vector<ParameterKind> kinds;
  std::vector<std::string> names;  // of all parameters
  detail::KernelBody body;
  std::optional<Check> check;  // nothing: as TILEWRIGHT_CHECK says
  Knobs knobs;
  std::optional<Device> device;    // nothing: where the tensors lie
  std::vector<bool> is_not_known;  // by parameter: nothing is known of it; may be shorter
  std::mutex mutex;
  // Guarded by `mutex`; by signature and device: those that launches used last.
  BoundedTable<const CompiledKernel> compiled;
  std::shared_ptr<const CompiledKernel> latest;  // that a launch has used
};

}  // namespace tilewright::dsl
