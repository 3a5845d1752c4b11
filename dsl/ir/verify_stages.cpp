#include "dsl/ir/verify_stages.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

using dsl::layout::Layout;

constexpr int lanes_of_a_warp = 32;

class LayoutVerifier {
 public:
  explicit LayoutVerifier(const Function& function)
      : function_(function), staged_(function.types.size(), false) {}

  void run() {
    for (std::size_t value = 0; value < function_.types.size(); ++value)
      require(
          !function_.has_layout(static_cast<Value>(value)) || function_.stage >= Stage::laid_out,
          "[func] the value %", value, " has a layout; the function is only ",
          name_of(function_.stage));
    if (function_.stage < Stage::laid_out) return;
    require(function_.warps > 0, "[func] is ", name_of(function_.stage),
            " over no warps; it must say how many hold its tiles");
    for_each_inst(function_.body, [&](const Inst& inst) {
      if (inst.schedule.staged) staged_[inst.results[0]] = true;
      for (Value result : inst.results) value(inst, result);
      for (const Block& body : inst.bodies)
        for (Value param : body.params) value(inst, param);
      if (inst.op == Op::loop_)
        for (std::size_t k = 0; k < inst.results.size(); ++k)
          same(inst, inst.bodies[0].params[1 + k], inst.results[k], "what is carried");
      if (function_.stage >= Stage::converted) operands(inst);
    });
  }

 private:
  bool is_tile(Value value) const {
    const Type& type = function_.type(value);
    return !type.is_scalar() && !type.is_descriptor();
  }

  template <typename... Parts>
  static void expect(bool condition, const Inst& inst, const Parts&... parts) {
    if (condition) return;
    std::string line = inst.where.line() > 0 ? describe(inst.where) + ": " : std::string();
    raise_error(concat(line, "[", info(inst.op).name, "] ", parts...));
  }

  void value(const Inst& inst, Value value) const {
    expect(is_tile(value) == function_.has_layout(value), inst, "%", value, ": ",
           function_.type(value),
           is_tile(value) ? " has no layout; each tile has one" : " has a layout; only tiles do");
    if (!is_tile(value)) return;
    const Layout& layout = function_.layout(value);
    Shape physical = dsl::layout::physical_shape(function_.type(value).shape);
    expect(layout.shape() == physical, inst, "the layout of %", value, " is one of ",
           to_string(layout.shape()), "; it must be of ", to_string(physical));
    expect(layout.lanes() == lanes_of_a_warp && layout.warps() == function_.warps, inst,
           "the layout of %", value, " is over ", layout.lanes(), " lanes of ", layout.warps(),
           " warps; it must be over ", lanes_of_a_warp, " of ", function_.warps);
  }

  void same(const Inst& inst, Value operand, Value result, std::string_view what) const {
    if (!is_tile(operand) || !is_tile(result)) return;
    expect(function_.layout(operand) == function_.layout(result), inst, what, ", %", operand,
           ", lies elsewhere than %", result, "; both must have one layout");
  }

  void all_as(const Inst& inst, Value result) const {
    for (Value operand : inst.operands) same(inst, operand, result, "an operand");
  }

  void operands(const Inst& inst) const {
    switch (info(inst.op).op_class) {
      case OpClass::elementwise:
      case OpClass::exchange: return all_as(inst, inst.results[0]);
      case OpClass::shape: return shape(inst);
      case OpClass::memory:
        if (inst.op == Op::make_desc_) return;
        return all_as(inst, inst.results.empty() ? inst.operands[1] : inst.results[0]);
      case OpClass::reduction:
        if (is_tile(inst.results[0]))
          expect(function_.layout(inst.results[0]) ==
                     dsl::layout::slice(function_.layout(inst.operands[0]),
                                        inst.get<Reduction>().axis),
                 inst, "its result %", inst.results[0],
                 " does not lie as its operand does without the axis");
        return;
      case OpClass::contraction: return same(inst, inst.operands[2], inst.results[0], "the sum");
      case OpClass::control: return control(inst);
      case OpClass::creation:
      case OpClass::hint: return;
    }
  }

  void shape(const Inst& inst) const {
    if (inst.op == Op::convert_layout_ || staged_[inst.operands[0]]) return;
    if (!is_tile(inst.operands[0]) || !is_tile(inst.results[0])) return;
    auto source = shape_source(function_, inst, function_.layout(inst.results[0]));
    expect(!source || *source == function_.layout(inst.operands[0]), inst, "its operand %",
           inst.operands[0], " does not lie where its result %", inst.results[0], " can name it");
  }

  void control(const Inst& inst) const {
    for (std::size_t k = 0; k < inst.results.size(); ++k) {
      if (inst.op == Op::loop_)
        same(inst, inst.operands[3 + k], inst.results[k], "an initial value");
      for (const Block& body : inst.bodies)
        same(inst, body.insts.back().operands[k], inst.results[k], "what is yielded");
    }
  }

  const Function& function_;
  std::vector<bool> staged_;  // by value: it lies in shared memory, wherever its layout says
};

}  // namespace

std::optional<Layout> shape_source(const Function& function, const Inst& inst,
                                   const Layout& result) {
  namespace layout = dsl::layout;
  const Shape& from = function.type(inst.operands[0]).shape;
  const Shape& to = function.type(inst.results[0]).shape;
  if (inst.op == Op::expand_dims_) return layout::slice(result, inst.get<Axis>().axis);
  if (inst.op == Op::broadcast_)
    return layout::broadcast_source(result, layout::physical_shape(from));
  if (inst.op == Op::permute_) {
    const auto& dims = inst.get<Permutation>().dims;
    std::vector<int> inverse(dims.size());
    for (std::size_t i = 0; i < dims.size(); ++i)
      inverse[static_cast<std::size_t>(dims[i])] = static_cast<int>(i);
    return layout::permute(result, inverse);
  }
  if (inst.op == Op::reshape_ && layout::physical_shape(from) == from &&
      layout::physical_shape(to) == to)
    return layout::reshape(result, from);
  return std::nullopt;
}

void verify_layouts(const Function& function) { LayoutVerifier(function).run(); }

}  // namespace tilewright::ir
