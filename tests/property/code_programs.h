// Programs whose generated code is on record (code_record_test.cpp): what models are made of, in
// sizes that reach every way of lowering, and random ones.
#pragma once

#include <string>
#include <vector>

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright {

// A program as lowering or a kernel's author writes it, before any pass.
struct CodeProgram {
  std::string name;  // of what it is a part of, with its number there
  ir::Function function;
  std::string launch;  // grid, memory and blocks, as text
};

// For GPUs: what a host makes of graphs depends on the caches that it has.
std::vector<CodeProgram> programs_of_models(const dsl::Target& gpu);
std::vector<CodeProgram> programs_of_random_graphs(const dsl::Target& gpu);
// The same on any machine.
std::vector<CodeProgram> random_tile_programs_for(const dsl::Target& target);

}  // namespace tilewright
