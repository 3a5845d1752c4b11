// Says before which instructions all threads of a block meet: where one touches an array that
// another thread may have written, or writes one that another may still read; and where scratch or
// a ring is filled, while what was there before may still be read. No earlier than there: an
// instruction's work in registers comes before its barrier, which is why a barrier is a mark of an
// instruction and not an instruction of its own.
//
// Before: places in shared memory say which instructions exchange values. After: on no path do
// threads touch what the rules of Stage::synchronised forbid (ir/verify_stages.h). These rules know
// which places overlap and follow a loop turn by turn; here any two places do, and a turn may
// follow one that did all that is in the body. So a mark may be one too many, and none is missing.
//
// Marks are not all barriers. Threads also meet within an instruction, between what they write to
// scratch and what they read there, and where a turn of a loop with stages begins.
#include <utility>

#include "dsl/codegen/gpu/passes/gpu_passes.h"
#include "dsl/ir/rewrite.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Barrier;
using ir::Inst;
using ir::Op;
using ir::Value;

// The program does not write staged arrays, and touches boxed ones nowhere else.
bool touches_array(const Inst& inst) {
  return ir::info(inst.op).op_class == ir::OpClass::memory && inst.op != Op::make_desc_ &&
         !inst.schedule.staged && !inst.schedule.boxed;
}
bool writes(const Inst& inst) { return ir::info(inst.op).effect == ir::Effect::writes; }
bool has_place(const Inst& inst) { return inst.schedule.shared_bytes != 0; }

// Accesses that threads may have made since all last met: by array, and reads of scratch and rings.
struct Pending {
  std::vector<bool> read, written;
  bool shared = false;

  explicit Pending(std::size_t values) : read(values, false), written(values, false) {}
  void clear() { *this = Pending(read.size()); }
  void touch(Value array, bool writes) { (writes ? written : read)[array] = true; }
  void merge(const Pending& other) {  // either may be the case
    for (std::size_t i = 0; i < read.size(); ++i) {
      read[i] = read[i] || other.read[i];
      written[i] = written[i] || other.written[i];
    }
    shared = shared || other.shared;
  }
};

class BarrierInserter {
 public:
  explicit BarrierInserter(ir::Function& function)
      : function_(function), base_(ir::array_bases(function)), pending_(function.types.size()) {}

  bool run() {
    // Programs that warps with roles run one after the other differ in their arrays, but they use
    // the same scratch.
    pending_.shared = function_.roles.has_value();
    block(function_.body);
    function_.stage = ir::Stage::synchronised;
    return changed_;
  }

 private:
  void block(ir::Block& block) {
    for (Inst& inst : block.insts) instruction(inst);
  }

  void instruction(Inst& inst) {
    if (inst.op == Op::loop_) return loop(inst);
    if (inst.op == Op::if_) return branch(inst);
    if (inst.op == Op::cluster_reduce_ && function_.cluster > 1) return pending_.clear();
    if (touches_array(inst)) array(inst);
    if (!has_place(inst)) return;
    fill(inst);
    pending_.clear();  // all meet before they read it
    pending_.shared = true;
  }

  void meet_before(Inst& inst, Barrier what) {
    inst.schedule.barrier = what;
    pending_.clear();
    changed_ = true;
  }

  void array(Inst& inst) {
    const Value array = base_[inst.operands[0]];
    if (pending_.written[array] || (writes(inst) && pending_.read[array]))
      meet_before(inst, Barrier::array);
    pending_.touch(array, writes(inst));
  }

  void fill(Inst& inst) {
    if (pending_.shared) meet_before(inst, Barrier::scratch);
  }

  void loop(Inst& inst) {
    if (has_place(inst)) fill(inst);
    const Pending skipped = pending_;
    if (has_place(inst))
      pending_.clear();  // all meet where a turn begins
    else
      assume_turn(inst.bodies[0]);
    block(inst.bodies[0]);
    pending_.merge(skipped);
    pending_.shared = pending_.shared || has_place(inst);
  }

  // Accesses that the previous iteration of a loop may have left.
  void assume_turn(const ir::Block& body) {
    ir::for_each_inst(body, [&](const Inst& inst) {
      if (touches_array(inst)) pending_.touch(base_[inst.operands[0]], writes(inst));
      pending_.shared = pending_.shared || has_place(inst);
    });
  }

  void branch(Inst& inst) {
    const Pending before = pending_;
    block(inst.bodies[0]);
    const Pending after = std::exchange(pending_, before);
    block(inst.bodies[1]);
    pending_.merge(after);
  }

  ir::Function& function_;
  const std::vector<Value> base_;  // the array, by pointer or descriptor
  Pending pending_;
  bool changed_ = false;
};

}  // namespace

bool insert_barriers(ir::Function& function, const Target&) {
  return BarrierInserter(function).run();
}

}  // namespace tilewright::dsl::gpu
