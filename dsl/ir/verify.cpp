#include "dsl/ir/verify.h"

#include <bit>

#include "dsl/ir/loop_nests.h"
#include "dsl/ir/type_rules.h"
#include "dsl/ir/verify_stages.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Function& function)
      : function_(function),
        defined_(function.types.size(), false),
        visible_(function.types.size(), false) {}

  void run() {
    for (const Param& param : function_.params) {
      define(param.value, "func");
      const Type& type = function_.type(param.value);
      require(!type.is_descriptor() && type.is_scalar(), "[func] the parameter ", param.name,
              " is ", type, "; it must be a pointer or a scalar");
    }
    int cluster = function_.cluster;
    require(cluster == 1 || cluster == 2 || cluster == 4 || cluster == 8, "[func] a cluster of ",
            cluster, " programs; it has 1, 2, 4 or 8");
    const int stages = function_.most_stages, registers = function_.most_registers;
    require(stages >= 0 && stages <= 8, "[func] at most ", stages,
            " stages; there may be 1 to 8, or 0: as many as the compiler likes");
    require(registers == 0 || (registers >= 24 && registers <= 255), "[func] at most ", registers,
            " registers a thread; there may be 24 to 255, or 0: as many as the compiler likes");
    warps();
    require(function_.body.params.empty(), "[func] the body has block parameters of its own");
    block(function_.body, false);
  }

 private:
  template <typename... Parts>
  void expect(bool condition, const Inst& inst, const Parts&... parts) const {
    if (!condition) raise_error(place(inst) + concat(parts...));
  }

  void warps() const {
    int warps = function_.warps;
    require(warps >= 0 && warps <= 32 && std::popcount(static_cast<unsigned>(warps)) <= 1,
            "[func] ", warps, " warps hold the tiles; it must be a power of two, up to 32");
    if (!function_.roles) return;
    const Roles& roles = *function_.roles;
    require(warps == 4 || warps == 8, "[func] has roles and ", warps,
            " warps that hold tiles; with roles these are 4 or 8");
    require(roles.stages >= 2 && roles.stages <= 255, "[func] rings of ", roles.stages,
            " stages; there are at least 2, and at most 255");
    int axis = roles.cluster_axis.value_or(0);
    require(axis >= 0 && axis <= 2, "[func] programs that are neighbours along axis ", axis,
            " share their fetches; a grid has the axes 0 to 2");
  }

  void schedule(const Inst& inst) const {
    const Schedule& s = inst.schedule;
    bool is_loop = inst.op == Op::loop_;
    expect(is_loop || s.stages == 0, inst, "has stages; only a loop has");
    expect(s.stages != 1, inst, "has a ring of 1 stage; it must have 2 or more, or none");
    expect(is_loop || !s.alternating, inst, "is alternating; only a loop can be");
    expect(inst.op == Op::load_desc_ || !s.staged, inst, "is staged; only a load_desc can be");
    expect(inst.op == Op::dot_ || !s.deferred, inst, "is deferred; only a dot can be");
    expect(inst.op == Op::store_desc_ || !s.boxed, inst, "is boxed; only a store_desc can be");
    bool is_array_access = info(inst.op).op_class == OpClass::memory && inst.op != Op::make_desc_;
    expect((is_array_access && !s.staged && !s.boxed) || s.barrier != Barrier::array, inst,
           "has a barrier before its array; only a load, a store or an atomic has an array, and "
           "staged and boxed accesses wait by other means");
    expect(s.shared_bytes != 0 || s.barrier != Barrier::scratch, inst,
           "has a barrier before its scratch, and no place in shared memory");
    bool may_exchange = is_loop ? s.stages != 0
                                : inst.op == Op::convert_layout_ || inst.op == Op::reshape_ ||
                                      inst.op == Op::gather_ || inst.op == Op::reduce_ ||
                                      inst.op == Op::dot_ || inst.op == Op::atomic_;
    expect(may_exchange || s.shared_bytes == 0, inst,
           "has a place in shared memory; only exchanges, products and loops with stages have");
  }

  static std::string place(const Inst& inst) {
    std::string line = inst.where.line() > 0 ? describe(inst.where) + ": " : std::string();
    return line + "[" + std::string(info(inst.op).name) + "] ";
  }

  void define(Value value, std::string_view by) {
    require(value < defined_.size(), "[", by, "] the value %", value, " has no type");
    require(!defined_[value], "[", by, "] the value %", value, " is defined twice");
    defined_[value] = visible_[value] = true;
  }

  void block(const Block& b, bool yields) {
    for (std::size_t i = 0; i < b.insts.size(); ++i) {
      const Inst& inst = b.insts[i];
      bool ends = info(inst.op).effect == Effect::ends;
      expect(ends == (yields && i + 1 == b.insts.size()), inst,
             ends ? "it stands before the end of a body; a body has one, at its end"
                  : "it is the last of a body; a body ends in yield");
      instruction(inst);
    }
    require(!yields || !b.insts.empty(), "[yield] a body is empty; it must end in yield");
    hide(b);
  }

  // Values defined in a block are not visible after it.
  void hide(const Block& b) {
    for (Value param : b.params) visible_[param] = false;
    for (const Inst& inst : b.insts)
      for (Value result : inst.results) visible_[result] = false;
  }

  void instruction(const Inst& inst) {
    const OpInfo& row = info(inst.op);
    std::vector<Type> operands;
    for (Value operand : inst.operands) {
      expect(operand < visible_.size(), inst, "the operand %", operand, " has no type");
      expect(visible_[operand], inst, "the operand %", operand,
             defined_[operand] ? " is defined in a block that has ended"
                               : " is used before its definition");
      operands.push_back(function_.type(operand));
    }
    expect(inst.bodies.size() == static_cast<std::size_t>(row.bodies), inst, "there are ",
           inst.bodies.size(), " bodies; it has ", row.bodies);
    std::vector<std::vector<Type>> yielded;
    for (const Block& body : inst.bodies) {
      body_params(inst, operands, body);
      block(body, true);
      yielded.emplace_back();
      for (Value value : body.insts.back().operands)
        yielded.back().push_back(function_.type(value));
    }
    results(inst, operands, yielded);
    schedule(inst);
  }

  void body_params(const Inst& inst, const std::vector<Type>& operands, const Block& body) {
    for (Value param : body.params) define(param, info(inst.op).name);
    // A loop's body takes the index and the carried values, typed as the low bound and the initial
    // values are; other bodies take nothing.
    std::vector<Type> wanted;
    if (inst.op == Op::loop_ && operands.size() >= 3) {
      wanted.assign(operands.begin() + 2, operands.end());
      wanted.front() = operands.front();
    }
    expect(body.params.size() == wanted.size(), inst, "its body has ", body.params.size(),
           " parameters; it must have ", wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i)
      expect(function_.type(body.params[i]) == wanted[i], inst, "parameter ", i, " of its body is ",
             function_.type(body.params[i]), "; it must be ", wanted[i]);
  }

  void results(const Inst& inst, const std::vector<Type>& operands,
               const std::vector<std::vector<Type>>& yielded) {
    std::vector<Type> types;
    try {
      types = result_types(inst.op, operands, inst.immediate, yielded);
    } catch (const Error& error) {
      if (inst.where.line() == 0) throw;
      raise_error(describe(inst.where) + ": " + error.what());
    }
    expect(inst.results.size() == types.size(), inst, "it has ", inst.results.size(),
           " results; it must have ", types.size());
    for (std::size_t i = 0; i < types.size(); ++i) {
      define(inst.results[i], info(inst.op).name);
      expect(function_.type(inst.results[i]) == types[i], inst, "result ", i, " is declared ",
             function_.type(inst.results[i]), "; it is ", types[i]);
    }
  }

  const Function& function_;
  std::vector<bool> defined_, visible_;
};

}  // namespace

void verify(const Function& function) {
  Verifier(function).run();
  verify_loop_nests(function);
  verify_layouts(function);
  verify_shared(function);
}

}  // namespace tilewright::ir
