#include "dsl/codegen/gpu/plan/program_bounds.h"

#include <algorithm>
#include <bit>

#include "dsl/codegen/gpu/plan/block_layouts.h"
#include "dsl/codegen/gpu/plan/scratch.h"
#include "runtime/base/out_of_memory.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr int most_warps = 16;

// "kernel.cpp:12: [dot] ", the line where there is one.
std::string place(const Inst& inst) {
  std::string line = inst.where.line() > 0 ? describe(inst.where) + ": " : std::string();
  return concat(line, "[", ir::info(inst.op).name, "] ");
}

// For the elements of the physical shape, whose number may be more than 2^63.
int element_bits(const Shape& shape) {
  int bits = 0;
  for (std::int64_t size : shape) bits += std::bit_width(static_cast<std::uint64_t>(size - 1));
  return bits;
}

class Bounds {
 public:
  Bounds(const ir::Function& function, const Target& target)
      : function_(function), target_(target) {}

  void run() {
    if (function_.warps == 0) {
      each_tile(most_warps);  // so that the choice of warps counts what can be counted
      warps_ = choose_warps(function_, target_);
    } else {
      warps_ = function_.warps;
    }
    each_tile(warps_);
    ir::for_each_inst(function_.body, [&](const Inst& inst) { count(inst); });
  }

  void parameters() const {
    std::int64_t bytes = 0;
    for (const ir::Param& param : function_.params) {
      const ir::Type& type = function_.type(param.value);
      std::int64_t size = type.is_pointer() ? 8 : size_bytes(type.dtype);
      bytes = (bytes + size - 1) / size * size + size;
    }
    require(bytes <= most_parameter_bytes, "[codegen] ", function_.name, " has ",
            function_.params.size(), " parameters of ", bytes, " bytes; ", target_.cpu, " takes ",
            most_parameter_bytes, " bytes at the most; put numbers into an array");
  }

 private:
  void each_tile(int warps) const {
    ir::for_each_inst(function_.body, [&](const Inst& inst) {
      for (Value value : inst.results) tile(inst, value, warps);
      for (const ir::Block& body : inst.bodies)
        for (Value value : body.params) tile(inst, value, warps);
    });
  }

  void tile(const Inst& inst, Value value, int warps) const {
    const ir::Type& type = function_.type(value);
    int bits = element_bits(type.shape);
    std::int64_t threads = 32 * warps, most = most_elements_a_thread * threads;
    std::int64_t most_threads = 32 * (function_.warps == 0 ? most_warps : function_.warps);
    if (bits < 63 && std::int64_t{1} << bits <= most) return;
    std::string each = bits < 63
                           ? std::to_string((std::int64_t{1} << bits) / threads)
                           : concat("2^", bits - std::countr_zero(static_cast<unsigned>(threads)));
    throw OutOfMemory(concat(place(inst), "the tile ", type, " is ", each, " elements for each of ",
                             threads, " threads; ", target_.cpu, " takes ", most_elements_a_thread,
                             " at the most, with sizes rounded up to powers of two; use tiles of "
                             "up to ",
                             most_elements_a_thread * most_threads,
                             " elements, or a loop over smaller ones"));
  }

  std::int64_t registers(Value value) const {
    const ir::Type& type = function_.type(value);
    if (type.is_descriptor()) return 1;
    return std::max<std::int64_t>(1, (std::int64_t{1} << element_bits(type.shape)) / (32 * warps_));
  }

  // About as many instructions as the emitter writes for one of the program.
  std::int64_t instructions(const Inst& inst) const {
    std::int64_t most = 1;
    for (const auto* values : {&inst.operands, &inst.results})
      for (Value value : *values) most = std::max(most, registers(value));
    switch (ir::info(inst.op).op_class) {
      case ir::OpClass::contraction: return product(inst);
      case ir::OpClass::memory: return weight_of_access(inst, most) * most;
      case ir::OpClass::selection: return 8 * most;
      case ir::OpClass::reduction:
      case ir::OpClass::exchange: return 4 * most;
      case ir::OpClass::control:
      case ir::OpClass::creation:
      case ir::OpClass::elementwise:
      case ir::OpClass::shape:
      case ir::OpClass::hint: return most;
    }
    __builtin_unreachable();
  }

  // An access of a tile has addresses and a mask; a store of a number is done by one thread, behind
  // a condition and before a barrier.
  static std::int64_t weight_of_access(const Inst& inst, std::int64_t registers) {
    if (inst.op == Op::make_desc_) return 1;
    return registers > 1 || ir::info(inst.op).effect == ir::Effect::writes ? 12 : 1;
  }

  // Fragments are multiplied one instruction after the other; without tensor cores each part of the
  // operands that fits into shared memory has code of its own.
  std::int64_t product(const Inst& inst) const {
    const ir::Type& a = function_.type(inst.operands[0]);
    std::int64_t operands = registers(inst.operands[0]) + registers(inst.operands[1]);
    std::int64_t sums = registers(inst.results[0]);
    if (auto how = tensor_core_dot(function_, inst, warps_, target_))
      return operands + sums + sums / 4 * 6 * (how->a.shape()[1] / how->k);
    const std::int64_t part = shared_product(function_, inst).chunk;
    const std::int64_t parts = (a.shape[1] + part - 1) / part;
    // Each of several parts stores its own part of the operands, under a condition.
    return parts * ((parts > 1 ? 12 : 4) * operands + 4 * sums);
  }

  void count(const Inst& inst) {
    std::int64_t more = instructions(inst);
    all_ += more;
    if (more > largest_) {
      largest_ = more;
      at_ = place(inst);
    }
    require_memory(all_ <= most_instructions_a_thread, at_, "the program is more than ",
                   most_instructions_a_thread, " instructions of a thread, ", largest_,
                   " of them here; ", target_.cpu,
                   " takes no more; use smaller tiles, or loops and several kernels");
  }

  const ir::Function& function_;
  const Target& target_;
  int warps_ = most_warps;
  std::int64_t all_ = 0, largest_ = 0;
  std::string at_;
};

}  // namespace

void require_within_bounds(const ir::Function& function, const Target& target, bool takes_table) {
  Bounds bounds(function, target);
  if (!takes_table) bounds.parameters();
  bounds.run();
}

}  // namespace tilewright::dsl::gpu
