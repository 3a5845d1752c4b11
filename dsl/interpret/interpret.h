// Runs a function of tile IR on host arrays, one element after the other: the definition of the
// language, and the oracle that every pass and back end is compared with.
#pragma once

#include <span>

#include "dsl/interpret/memory.h"
#include "runtime/artifact.h"

namespace tilewright::ir {

struct Function;
struct Observer;  // dsl/interpret/observer.h

// Runs all programs of the grid in order (axis 0 fastest). `arguments` has one entry a parameter.
// `memories` has one entry a parameter, ignored for scalars; it may be empty.
void interpret(const Function& function, const Grid& grid, std::span<const Argument> arguments,
               std::span<const Memory> memories = {});
// The same, and tells what happens.
void interpret(const Function& function, const Grid& grid, std::span<const Argument> arguments,
               std::span<const Memory> memories, const Observer& observer);
// The same in an order that is drawn from `seed`; the programs of a cluster stay together. Where
// results differ, programs depend on each other's order, which no back end promises.
void interpret_shuffled(const Function& function, const Grid& grid,
                        std::span<const Argument> arguments, std::uint64_t seed);

}  // namespace tilewright::ir
