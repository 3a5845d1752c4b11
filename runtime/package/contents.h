// The contents of a package: compiled functions as plain data, which can be written to a file and
// run by another process.
//
// A package has code and memory, each piece once (blobs), and functions that refer to them by
// number. Each function is compiled for one signature: dtypes and sizes of its inputs. A package
// may have all of this for several instruction sets, with the same functions. Nothing here knows
// graphs, tiles or code generation, and nothing is captured, lowered or compiled when a package is
// run. contents_bytes.h writes and reads it, verify.h checks it, contents_text.h shows it, and
// loaded_package.h runs it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/artifact.h"
#include "runtime/base/hash.h"
#include "runtime/base/shape.h"
#include "runtime/package/package_tensor.h"
#include "runtime/plan/control_flow.h"
#include "runtime/plan/executable.h"

namespace tilewright {

// Bytes that functions refer to by their number: the object of a kernel, a weight, a constant.
struct PackageBlob {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;  // of these
};

// A kernel of the host, as its compiler wrote it (runtime/code/object.h).
struct PackageKernel {
  std::string name;
  std::vector<ArtifactParam> params;
  std::int64_t scratch_bytes = 0;
  std::uint32_t object = 0;  // a blob
};

// The source of a result: an output buffer of the executable, row-major, or elements of one of its
// inputs.
struct PackageResult {
  bool is_input = false;
  std::uint32_t index = 0;  // of the output buffer or the executable's input
  Strides strides;          // in that input, in elements
  std::int64_t offset = 0;  // likewise, of the first element
};

// The memory of an input of the executable: an argument of the call, or bytes of the package; none
// where no step reads it.
struct PackageBinding {
  enum class Kind : std::uint8_t { none, argument, blob };
  Kind kind = Kind::none;
  std::uint32_t index = 0;
  std::int64_t offset = 0;  // of the first element, in bytes of the blob
};

// Numbers that must lie in [least, end), or be `ignored`; a number outside is an Error of the text
// that has it between `before` and `after`.
struct PackageRange {
  std::int64_t least = 0, end = 0;
  std::optional<std::int64_t> ignored;
  std::string before, after;
};
// Elements of an argument that are looked at before a run.
struct PackageIndexCheck {
  std::uint32_t argument = 0;
  std::vector<std::int64_t> offsets;  // in elements; empty: `count` from the first one on
  std::int64_t count = 0;
  PackageRange range;
};

// A kernel of an executable: code; a loop or choice whose bodies are executables of the package; or
// an error, of a branch that is wrong for these sizes.
struct PackageKernelUse {
  enum class Kind : std::uint8_t { code, control_flow, refusal };
  Kind kind = Kind::code;
  std::uint32_t index = 0;  // of the package's kernels, control flow or refusals
  bool is_batched = false;  // code: steps of several grids are one launch
};

struct PackageExecutable {
  Executable run;  // its kernels and constants are these:
  std::vector<PackageKernelUse> kernels;
  std::vector<std::uint32_t> constants;  // blobs
};

struct PackageControlFlow {
  ControlFlow control;                // the executables of its bodies are these:
  std::vector<std::uint32_t> bodies;  // each before all executables that have this as a kernel
};

struct PackageFunction {
  std::vector<PackageTensor> inputs, outputs;
  std::vector<PackageResult> results;  // the outputs; behind them two a range of `extrema`
  std::vector<PackageBinding> bindings;
  std::vector<PackageIndexCheck> checks;
  std::vector<PackageRange> extrema;  // of the least and the greatest of numbers computed in a run
  std::int64_t threads = 0;           // that a launch may take at most; 0: all
  std::uint32_t executable = 0;
  std::vector<Hash> weights;  // of the elements of each tensor that it was compiled with
};

// The code of a package for one instruction set, and all that it refers to.
struct PackageContents {
  std::string producer;         // "tilewright 0.1.0"
  std::string instruction_set;  // that the code needs (runtime/cpu/instruction_sets.h)
  std::vector<PackageBlob> blobs;
  std::vector<PackageKernel> kernels;
  std::vector<PackageControlFlow> control_flow;
  std::vector<std::string> refusals;  // texts of errors
  std::vector<PackageExecutable> executables;
  std::vector<PackageFunction> functions;
};

// All of a package: contents for each instruction set that it has code for, the best first. Their
// functions take and give the same.
using PackageTargets = std::vector<PackageContents>;

}  // namespace tilewright
