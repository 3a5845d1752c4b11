// AMX on processors without it.
//
// Code for AMX raises SIGILL where the processor does not know its instructions. A handler of the
// signal reads the instruction, does what Intel's manual ("Intel 64 and IA-32 Architectures
// Software Developer's Manual", volume 2) says that it does, on registers of the thread's own, and
// goes on behind it. So the code that is tested is the code that runs. Only the instructions that
// the code generator uses are known; any other is an error as before.
//
// With TILEWRIGHT_CPU=amx a test program that links this compiles all of its code so.
#pragma once

#include "dsl/target/target.h"

namespace tilewright::dsl {

// True if code for the target "amx" runs in this process, natively or (from now on) emulated. The
// rest of that target's instructions must be the processor's own.
bool can_run_amx();

}  // namespace tilewright::dsl
