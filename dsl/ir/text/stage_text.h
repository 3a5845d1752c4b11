// The text of the facts that stages after `traced` add to a function: layouts, roles of warps,
// schedules. Apart from the rest of the text, since a traced function has none of it.
//
//   func @f(%x: ptr<f32>) warps 1 laid_out {
//     layout @L0 = [2x64] register (0,1) (0,2) lane (0,4) (0,8) (0,16) (0,32) (1,0) warp
//     %1 = constant 1 : f32
//     %2 = splat %1, [2x64] : f32[2x64] @L0
//
// Behind a name stand the bases that dsl/layout/layout.h explains; behind a tile's type the name of
// its layout. Carried values of a loop lie as its results do, and are not named again. A schedule
// stands behind an instruction's types, a loop's behind its carried values: `schedule (stages 4)`.
// For shared memory, the head has `shared (bytes 4096)`, and an instruction has its part and the
// awaited barrier: `schedule (shared 1024 at 0, barrier scratch)`.
#pragma once

#include <string>

#include "dsl/ir/function.h"
#include "dsl/ir/text/lexer.h"

namespace tilewright::ir {

// " warps 8 roles (stages 4) shared (bytes 512) allocated", or as much of it as there is.
std::string stage_text(const Function& function);
void read_stage(Lexer& lexer, Function& function);

// "register (0,1) lane (0,4) warp", behind the shape.
std::string bases_text(const dsl::layout::Layout& layout);
dsl::layout::Layout read_bases(Lexer& lexer, Shape physical);

// " schedule (stages 4)", or "".
std::string schedule_text(const Schedule& schedule);
Schedule read_schedule(Lexer& lexer);

}  // namespace tilewright::ir
