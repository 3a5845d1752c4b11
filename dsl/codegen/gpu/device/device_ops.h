// Device operations: the words that a GPU kernel needs and LLVM IR lacks.
//
// A thread's id, a barrier, a shuffle, a matrix instruction, an asynchronous copy: NVPTX spells
// each of them as an intrinsic or as inline assembly, and no other target has either. The code
// generator therefore calls functions by name, `@td.<name>`, declared here and defined nowhere.
// Their expansion is decided later, by the consumer of the module:
//
//   expand_device_ops   calls of intrinsics and inline PTX, for the GPU
//   link_emulated       calls of C++ functions, for a host without one (emulate.h)
//
// so that the very IR which a GPU will run can be tested without a GPU. One row of device_ops.def
// holds all that is known of an operation: signature, effect, the first architecture that has it,
// expansion and meaning. Example: the sum over a warp in IR,
//
//   %1 = call i32 @td.shuffle_xor(i32 %x, i32 16)
//
// is for NVPTX `call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %x, i32 16, i32 31)`.
#pragma once

#include <llvm/IR/Module.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::dsl {

// The memory that an operation may touch; see device_ops.def.
enum class DeviceEffect { pure, collective, memory, access };

// One operation: a row of the table, or a member of a family with its number put in.
struct DeviceOp {
  std::string name;
  std::string result;    // type letters
  std::string operands;  // type letters
  DeviceEffect effect;
  int minimum_arch;  // 80, 89, or 90 for sm_90a
  std::string expansion;
};

// The operation of that name, without "td."; empty if it does not exist.
std::optional<DeviceOp> find_device_op(std::string_view name);

// Every row of the table, families by a few members: what tests go through.
std::vector<DeviceOp> sample_device_ops();

// Declares @td.<name> in the module with the right type and attributes, if it is not declared yet.
// Raises `InternalError` for a name that the table lacks.
llvm::FunctionCallee device_op(llvm::Module& module, std::string_view name);

// Replaces every call of a device operation by its expansion for NVPTX. Before: any module that
// calls @td functions. After: none is left, and the module may have the external global @shared.
void expand_device_ops(llvm::Module& module);

}  // namespace tilewright::dsl
