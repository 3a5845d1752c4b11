// Programmatic dependent launch: a kernel may begin while the one before it in the stream still
// runs.
//
// A kernel's work before it touches global memory (its place in the grid, barriers and addresses,
// tensor maps) then overlaps with the end of the other; before its first access every thread waits
// for it (`td.griddepcontrol_wait`). It must wait even if it touches nothing: the kernel after it
// waits for it alone, and relies on all before. Without the launch's attribute a wait is nothing.
#pragma once

#include <llvm/IR/Function.h>

namespace tilewright::dsl::gpu {

// Puts one wait into a kernel without roles: as late as there is one place that all accesses of
// global memory come after, and that no thread goes round or passes twice.
void place_grid_wait(llvm::Function& kernel);

// Raises `InternalError`, naming the operation and its line, where a path leads from the entry to
// an access of global memory without a wait; and where no return has one on all its paths.
void check_grid_wait(const llvm::Function& kernel);

}  // namespace tilewright::dsl::gpu
