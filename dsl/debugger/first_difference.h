// Where compiled code goes another way than the definition of the language: for a kernel whose
// numbers are right when they are interpreted and wrong on a device.
//
//   if (auto difference = first_difference(softmax, Device::cuda(), rows, {x, y, n, 128}))
//     std::cout << difference->text();
//
// The kernel is interpreted and compiled as a launch would compile it, both on copies of the
// arguments' memory. Where results differ, copies of the program are compiled which also store
// intermediate values, several instructions at a time, and each stored tile is compared with the
// interpreter's. The first difference is then observed alone, to see whether it stays.
//
// A program that stores more is another program: it is fused and scheduled otherwise, so that a
// mistake of the compiler may move or go when it is looked at; then the difference has no origin.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "dsl/debugger/element_value.h"
#include "dsl/language/kernel.h"
#include "dsl/launch/device.h"

namespace tilewright::dsl {

struct DifferenceOptions {
  // Floating elements differ where |computed - defined| is above absolute + relative * the largest
  // finite magnitude of the tile. Nothing: relative is 2^-13 for f32, 2^-27 for f64, 2^-6 for f16,
  // 2^-5 for bf16: half of the digits. All others differ where they are not equal.
  std::optional<double> relative = {};
  double absolute = 0;
  std::int64_t most_bytes = 256 << 20;  // stored at a time; beyond, less is compared
};

struct Difference {
  // In the results: the first element of the first parameter, and how many of it differ.
  std::string parameter;
  DType dtype = DType::f32;
  std::int64_t index = 0, differing = 0, count = 0;
  ElementValue defined, computed;  // by the interpreter, and by compiled code

  // The instruction that was the first to give another tile, in the order of time; of programs
  // that are as early, the first of the grid.
  struct Origin {
    std::string text, name, place;  // as in TraceStep (dsl/debugger/interpretation.h)
    std::array<std::int64_t, 3> program = {};
    std::int64_t turn = 0;
    std::vector<std::int64_t> index;  // of the first element that differs
    DType dtype = DType::f32;
    ElementValue defined, computed;
    std::int64_t differing = 0, count = 0;
    bool is_seen_alone = false;  // also where nothing else is observed
  };
  std::optional<Origin> origin;
  std::string device;
  // All of this in some lines, the last one ended.
  std::string text() const;
};

// Nothing: results are equal within the bounds. Arguments are as those of `launch`, with known
// sizes, and stay as they are. Raises `Error` for arguments that do not fit, and those that the
// interpreter or the device raise. Takes some seconds to minutes: use small sizes.
std::optional<Difference> first_difference(const Kernel& kernel, const Device& device,
                                           const LaunchGrid& grid, LaunchArguments arguments,
                                           const DifferenceOptions& options = {});
std::optional<Difference> first_difference(const Kernel& kernel, const Device& device,
                                           const LaunchGrid& grid,
                                           std::initializer_list<LaunchArgument> arguments,
                                           const DifferenceOptions& options = {});
// For a program without constexprs; takes an argument for each of its parameters.
std::optional<Difference> first_difference(const ir::Function& program, const Device& device,
                                           const Grid& grid, LaunchArguments arguments,
                                           const DifferenceOptions& options = {});

}  // namespace tilewright::dsl
