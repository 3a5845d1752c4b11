// Sizes that a command line lists for the axes of a model whose sizes may differ: "batch=1,8,32".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/programs/program_module.h"

namespace tilewright::tools {

constexpr const char* what_size_lists_are =
    "NAME=1,8,32 or NAME=1..128: sizes of an axis, by the name that inspect shows; the package "
    "gets a function for each, and for each combination where several axes are named; those of a "
    "range share their code";

struct SizeList {
  std::string name;  // as the program calls the size
  std::vector<std::int64_t> sizes;
  bool has_range = false;  // FIRST..LAST among them
};
// Raises `Misuse` for a text that is none, and for a name that no size of the inputs has.
std::vector<SizeList> parse_size_lists(const std::vector<std::string>& texts,
                                       const std::vector<ProgramInput>& inputs);

// Inputs of zeros for each combination of the sizes. Raises `Misuse` for a size that may differ and
// is not listed, and for too many combinations.
std::vector<std::vector<Tensor>> inputs_of_sizes(const std::vector<ProgramInput>& inputs,
                                                 const std::vector<SizeList>& lists);

}  // namespace tilewright::tools
