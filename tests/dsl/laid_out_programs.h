// Programs whose tiles have layouts, and what the verifier says about them.
#pragma once

#include <string>

#include "dsl/ir/function.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"

namespace tilewright::ir::testing_layouts {

// @R has a row in each register, @C lies across: what is converted from one to the other moves.
inline const std::string layouts =
    "  layout @R = [2x32] register (1,0) lane (0,1) (0,2) (0,4) (0,8) (0,16) warp\n"
    "  layout @C = [2x32] register (0,1) lane (0,2) (0,4) (0,8) (0,16) (1,0) warp\n"
    "  layout @T = [32x2] register (0,1) lane (1,0) (2,0) (4,0) (8,0) (16,0) warp\n"
    "  layout @V = [32] register lane (1) (2) (4) (8) (16) warp\n"
    "  layout @W = [32] register (1) lane (2) (4) (8) (16) (0) warp\n"
    "  layout @O = [1] register lane (0) (0) (0) (0) (0) warp\n"
    "  %0 = constant 1 : f32\n  %z = constant 0 : i64\n  %go = constant true : bool\n"
    "  %n = constant 64 : i64\n  %one = constant 1 : i64\n"
    "  %r = splat %0, [2x32] : f32[2x32] @R\n  %c = splat %0, [2x32] : f32[2x32] @C\n";

inline std::string verdict(const std::string& body, const std::string& head = "warps 1 converted") {
  try {
    parse("func @f(%x: ptr<f32>) " + head + " {\n" + layouts + body + "}\n");
  } catch (const Error& error) {
    return error.what();
  }
  return "fine";
}

}  // namespace tilewright::ir::testing_layouts
