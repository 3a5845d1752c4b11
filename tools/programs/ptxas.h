// Facts about PTX that need no GPU: the report of NVIDIA's assembler, and which instructions the
// text has.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "dsl/codegen/gpu/gpu_code.h"

namespace tilewright::tools {

// The assembler by name or path: TILEWRIGHT_PTXAS, or ptxas on PATH.
std::string default_ptxas();

// The assembler, and NVIDIA's disassembler if the machine code is to be looked at.
struct Assembler {
  std::string ptxas = default_ptxas();
  std::string nvdisasm;
};

// Machine instructions between a backward branch and its target, in the loops that hold none else:
// matrix products and tensor copies by name, and all as "instructions".
struct LoopInstructions {
  std::map<std::string, int> counts;
};

// The report of ptxas for one kernel.
struct Assembled {
  bool ok = false;    // otherwise `messages` say why not
  int registers = 0;  // of a thread
  int spill_bytes = 0;
  std::vector<std::string> warnings;  // of lost performance, (C75xx)
  std::string messages;               // all that it printed
  // With a disassembler: loops with products or tensor copies; accesses of local memory, anywhere.
  bool is_disassembled = false;
  std::vector<LoopInstructions> loops;
  int local_accesses = 0;
  std::string sass;
};
// As the library has the driver compile it: what spills once more, with all registers.
Assembled assemble_ptx(const dsl::gpu::Ptx& ptx, const std::string& target,
                       const Assembler& assembler);
// The loops of machine code as nvdisasm prints it.
std::vector<LoopInstructions> key_loops(const std::string& sass);

// Instructions by their first two words, "ld.global", most frequent first.
std::vector<std::pair<std::string, int>> instruction_mix(const std::string& text);

// The instructions on which the speed of a kernel depends.
struct KeyInstructions {
  int mma = 0, wgmma = 0, tma = 0;
  int wide_accesses = 0;  // of global memory, 16 bytes a thread or more
  int accesses = 0;       // of global memory, all
};
KeyInstructions key_instructions(const std::string& text);

}  // namespace tilewright::tools
