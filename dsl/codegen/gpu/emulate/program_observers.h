// Observers of the programs that become GPU code: for tools and tests.
//
// So a run of a program or of a test suite can be examined from outside by its compiled programs.
// As files (TILEWRIGHT_DUMP_PROGRAMS), programs can be compiled again and assembled for every GPU
// (`tilewright bench ptxas --programs`). An observer in the same process can learn which program an
// entry of a PTX text stands for; the tests' fake of NVIDIA's driver runs kernels so.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dsl/ir/function.h"
#include "dsl/target/target.h"

namespace tilewright::dsl::gpu {

using ProgramObserver =
    std::function<void(const ir::Function& function, const Target& target, const std::string&)>;

// The observer is called with each program that becomes code from now on, with the name of its
// entry, before the code is there; from many threads at once, and perhaps the same program again.
// It must not throw. The observer is not called any more after the result is destroyed.
[[nodiscard]] std::shared_ptr<void> observe_programs(ProgramObserver observer);

// Tells the observers, and writes the program to TILEWRIGHT_DUMP_PROGRAMS/<entry>.tile, unless the
// variable is unset or the file is there: the entry's name tells programs apart by their content.
// Thread safe, and safe among processes that share the folder. Raises `Error` if the folder cannot
// be written.
void tell_of_program(const ir::Function& function, const Target& target, const std::string& entry);

}  // namespace tilewright::dsl::gpu
