// Random valid tile programs with arguments, for tests of passes and generated code by property.
//
// Programs have sizes that are mostly no powers of two, grids of several programs that write apart,
// masked loads and stores, descriptors over ragged edges, every elementwise op, reductions of every
// kind and axis, dots, shape operations, loops that carry tiles and ifs. Operands are kept where
// functions are defined and results small (|x| < 100), so that nothing overflows; one seed in 16
// has infinities and NaN among its inputs. Decisions (comparisons, argmax, casts to integers) are
// made on exact values only.
//
// Another implementation need not give equal bits; its error must stay within a bound for each
// element, derived by running error analysis of the very program (error_program.h). Where no
// function of libm, no sum, product or dot is involved, the bound is 0. The same seed gives the
// same program on any machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "dsl/interpret/interpret.h"
#include "dsl/ir/function.h"
#include "runtime/artifact.h"
#include "tests/guarded.h"

namespace tilewright {

// The memory behind one argument, aligned to 64 bytes; a scalar argument is an array of one.
class HostArray {
 public:
  HostArray(DType dtype, std::int64_t count);
  DType dtype() const { return dtype_; }
  std::int64_t count() const { return count_; }
  std::int64_t size_bytes() const { return count_ * tilewright::size_bytes(dtype_); }
  void* data() { return memory_.data(); }
  const void* data() const { return memory_.data(); }
  bool is_whole() const { return memory_.is_whole(); }  // nothing was written outside
  ir::Scalar get(std::int64_t i) const;
  void set(std::int64_t i, const ir::Scalar& value);

 private:
  DType dtype_;
  std::int64_t count_;
  GuardedMemory memory_;
};

struct RandomProgram {
  std::uint64_t seed = 0;
  ir::Function function;
  Grid grid;
  std::vector<HostArray> arguments;  // one a parameter, as they are before the run
  std::vector<bool> written;         // which parameters the program stores to
};

RandomProgram random_tile_program(std::uint64_t seed);

// Runs a function on arguments; `memories` are their extents, for those who check accesses.
using RunProgram =
    std::function<void(const ir::Function& function, const Grid& grid,
                       std::span<const Argument> arguments, std::span<const ir::Memory> memories)>;
// By the interpreter.
inline const RunProgram interpreted = [](const ir::Function& function, const Grid& grid,
                                         std::span<const Argument> arguments,
                                         std::span<const ir::Memory> memories) {
  ir::interpret(function, grid, arguments, memories);
};
// The arguments after `run` ran `function`, which may be the program's own after passes.
std::vector<HostArray> arguments_after(const RandomProgram& program, const ir::Function& function,
                                       const RunProgram& run);

struct ExpectedArguments {
  std::vector<HostArray> values;               // by the interpreter
  std::vector<std::vector<double>> tolerance;  // for each argument; empty: all exact
};
ExpectedArguments expected_arguments(const RandomProgram& program);

// "" if every element is within its tolerance, else the worst one and how to see the program.
// `worst_ratio`, if given, is raised to the largest difference / tolerance.
std::string difference(const RandomProgram& program, const ExpectedArguments& expected,
                       const std::vector<HostArray>& actual, double* worst_ratio = nullptr);

}  // namespace tilewright
