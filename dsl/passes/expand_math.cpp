// Replaces the elementary functions by arithmetic (dsl/math), so that one definition serves every
// target and can be checked through the interpreter. f16 and bf16 are widened to f32, expanded and
// rounded back. f64 stays on the host, for the C library's own functions, and is expanded for a
// GPU. Afterwards no such function is left, but f64's on the host, and on a GPU exp2 and rsqrt of
// f32, which it has instructions for. Results may differ from the interpreter's in the last two
// places.
#include <algorithm>
#include <array>
#include <span>

#include "dsl/math/double_functions.h"
#include "dsl/math/functions.h"
#include "dsl/passes/passes.h"

namespace tilewright::dsl {
namespace {

using math::Expression;

struct Expansion {
  ir::Op op;
  Expression (*formula)(const Expression& x);
};
constexpr std::array expansions = {
    Expansion{ir::Op::exp_, math::exp},         Expansion{ir::Op::exp2_, math::exp2},
    Expansion{ir::Op::log_, math::log},         Expansion{ir::Op::log2_, math::log2},
    Expansion{ir::Op::sin_, math::sin},         Expansion{ir::Op::cos_, math::cos},
    Expansion{ir::Op::tanh_, math::tanh},       Expansion{ir::Op::erf_, math::erf},
    Expansion{ir::Op::sigmoid_, math::sigmoid}, Expansion{ir::Op::rsqrt_, math::rsqrt},
};

// On a GPU exp2 and rsqrt of f32 stay, and are the ground of their neighbours.
Expression same_exp2(const Expression& x) { return math::apply(ir::Op::exp2_, x); }
Expression same_rsqrt(const Expression& x) { return math::apply(ir::Op::rsqrt_, x); }
bool stays_on_gpu(ir::Op op) { return op == ir::Op::exp2_ || op == ir::Op::rsqrt_; }
constexpr std::array gpu_expansions = {
    Expansion{ir::Op::exp_, math::exp_by_exp2},
    Expansion{ir::Op::exp2_, same_exp2},
    Expansion{ir::Op::rsqrt_, same_rsqrt},
    Expansion{ir::Op::sigmoid_, math::sigmoid_by_exp2},
    Expansion{ir::Op::tanh_, math::tanh_by_exp2},
};

constexpr std::array double_expansions = {
    Expansion{ir::Op::exp_, math::wide::exp},         Expansion{ir::Op::exp2_, math::wide::exp2},
    Expansion{ir::Op::log_, math::wide::log},         Expansion{ir::Op::log2_, math::wide::log2},
    Expansion{ir::Op::sin_, math::wide::sin},         Expansion{ir::Op::cos_, math::wide::cos},
    Expansion{ir::Op::tanh_, math::wide::tanh},       Expansion{ir::Op::erf_, math::wide::erf},
    Expansion{ir::Op::sigmoid_, math::wide::sigmoid}, Expansion{ir::Op::rsqrt_, math::rsqrt},
};

const Expansion* found(std::span<const Expansion> list, ir::Op op) {
  auto expansion = std::ranges::find(list, op, &Expansion::op);
  return expansion == list.end() ? nullptr : &*expansion;
}

const Expansion* expansion_of(const ir::Function& function, const ir::Inst& inst, bool gpu) {
  if (inst.results.empty()) return nullptr;
  DType dtype = function.type(inst.results[0]).dtype;
  if (dtype == DType::f64) return gpu ? found(double_expansions, inst.op) : nullptr;
  if (gpu && stays_on_gpu(inst.op) && dtype == DType::f32) return nullptr;
  const Expansion* own = gpu ? found(gpu_expansions, inst.op) : nullptr;
  return own != nullptr ? own : found(expansions, inst.op);
}

void expand(ir::Function& function, const Expansion& expansion, const ir::Inst& inst,
            std::vector<ir::Inst>& code) {
  const ir::Type type = function.type(inst.results[0]);
  math::Site site{function, code, type.shape, inst.where};
  Expression x{site, inst.operands[0]};
  if (type.dtype == DType::f32 || type.dtype == DType::f64) {
    expansion.formula(x);
  } else {
    math::cast(expansion.formula(math::cast(x, DType::f32)), type.dtype);
  }
  // The last instruction gives the result its old name.
  code.back().results = inst.results;
}

bool expand_block(ir::Function& function, ir::Block& block, bool gpu) {
  bool changed = false;
  std::vector<ir::Inst> code;
  for (ir::Inst& inst : block.insts) {
    for (ir::Block& body : inst.bodies) changed |= expand_block(function, body, gpu);
    if (const Expansion* expansion = expansion_of(function, inst, gpu)) {
      expand(function, *expansion, inst, code);
      changed = true;
    } else {
      code.push_back(std::move(inst));
    }
  }
  block.insts = std::move(code);
  return changed;
}

}  // namespace

bool expand_math(ir::Function& function) { return expand_block(function, function.body, false); }
bool expand_math_gpu(ir::Function& function) { return expand_block(function, function.body, true); }

}  // namespace tilewright::dsl
