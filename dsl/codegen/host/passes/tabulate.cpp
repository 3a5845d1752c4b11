// Marks what is looked up in a table of sixteen, where the processor has an instruction for that
// (AVX-512): weights of four bits become numbers by several operations each, a mask, a conversion,
// an offset, a scale, and one lookup replaces all but the mask.
//
// Before: loop nests are formed, and what is kept in memory is not looked up. After: marked is what
// depends on one number below 16 by at least two operations, since a conversion alone is as fast as
// a lookup. The table is made where the rest is the same in all lanes of a vector; at positions
// where it is not, and in vectors of other lengths, the operations are done as without the mark. A
// program that says already what is looked up stays as it is.
#include <utility>

#include "dsl/codegen/host/passes/host_passes.h"
#include "dsl/codegen/host/plan/small_numbers.h"
#include "dsl/ir/rewrite.h"

namespace tilewright::dsl::host {
namespace {

constexpr int least_steps = 2;

}  // namespace

bool tabulate(ir::Function& function, const Target& target) {
  bool is_said = false;
  ir::for_each_inst(std::as_const(function.body),
                    [&](const ir::Inst& inst) { is_said |= inst.schedule.tabulated; });
  if (!target.has_avx512() || is_said) return false;
  const Definitions definitions(function);
  SmallNumbers numbers(definitions);
  bool has_changed = false;
  ir::for_each_inst(function.body, [&](ir::Inst& inst) {
    if (ir::info(inst.op).op_class != ir::OpClass::elementwise) return;
    const ir::Type& type = function.type(inst.results[0]);
    if (type.is_pointer() || type.is_scalar() || type.dtype != DType::f32) return;
    if (numbers.of(inst).steps < least_steps) return;
    inst.schedule.tabulated = has_changed = true;
  });
  return has_changed;
}

}  // namespace tilewright::dsl::host
