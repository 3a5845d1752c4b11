// Texts of tile IR that are wrong, or strange, in some place: real programs with a few changes that
// chance decides. Many are refused at once; those that change a size or a type wherever it stands
// get through to code generation.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::drills {

// The same at every call, on any machine.
std::string mutant_of_tile_program(std::uint64_t number);

}  // namespace tilewright::drills
