#include "graph/custom/elementwise.h"

#include <algorithm>

#include "dsl/language/tracer.h"
#include "dsl/passes/passes.h"
#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

// The pointwise op of the graph that is this one on elements.
std::optional<Op> op_of(ir::Op tile_op, DType dtype) {
  const bool is_logic =
      tile_op == ir::Op::and_ || tile_op == ir::Op::or_ || tile_op == ir::Op::not_;
  for (std::size_t i = 0; i < all_ops().size(); ++i) {
    const OpInfo& row = all_ops()[i];
    if (row.kind != Kind::pointwise || row.tile_op != tile_op) continue;
    const auto op = static_cast<Op>(i);
    const bool is_of_booleans =
        op == Op::logical_and || op == Op::logical_or || op == Op::logical_not;
    if (!is_logic || is_of_booleans == is_boolean(dtype)) return op;
  }
  return std::nullopt;
}

// An integer of every lane of every program: program * of_program + lane * of_lane + number.
struct LaneIndex {
  std::int64_t of_program = 0, of_lane = 0, number = 0;
  bool is_number() const { return of_program == 0 && of_lane == 0; }
  LaneIndex times(std::int64_t factor) const {
    return {of_program * factor, of_lane * factor, number * factor};
  }
  LaneIndex plus(const LaneIndex& other, std::int64_t sign) const {
    return {of_program + sign * other.of_program, of_lane + sign * other.of_lane,
            number + sign * other.number};
  }
};

// Integers of the program id go through i32 as well: a number that does not fit is no place.
constexpr std::int64_t most_elements = std::int64_t{1} << 31;

// Facts about a value.
struct Known {
  std::optional<LaneIndex> place;    // an integer that is known
  std::optional<std::size_t> param;  // the pointer that is this parameter's, at its own elements or
  bool is_at_element = false;        //   at the first one
  bool is_mask = false;              // whether the element is there
  std::optional<std::size_t> loaded = {};  // what this parameter has at the element
};

class KernelReader {
 public:
  KernelReader(const ir::Function& function, const Grid& grid, std::int64_t count)
      : function_(function), grid_(grid), count_(count), known_(function.types.size()) {
    for (std::size_t i = 0; i < function.params.size(); ++i)
      known_[function.params[i].value].param = i;
  }

  // The value that is stored at each element of parameter `written`.
  std::optional<ir::Value> stored(std::size_t written) {
    if (grid_.size[1] != 1 || grid_.size[2] != 1 || count_ >= most_elements) return std::nullopt;
    std::optional<ir::Value> value;
    for (const ir::Inst& inst : function_.body.insts) {
      if (inst.op == ir::Op::store_) {
        const Known& to = known_[inst.operands[0]];
        if (value || !to.is_at_element || to.param != written || !is_masked(inst, 2))
          return std::nullopt;
        value = inst.operands[1];
        continue;
      }
      if (value || !reads(inst)) return std::nullopt;
    }
    return value;
  }
  const Known& known(ir::Value value) const { return known_[value]; }

 private:
  // True if only existing elements are touched.
  bool is_masked(const ir::Inst& inst, std::size_t at) const {
    if (inst.operands.size() > at) return known_[inst.operands[at]].is_mask;
    return block_ != 0 && grid_.size[0] * block_ == count_;
  }

  bool reads(const ir::Inst& inst) {
    const ir::OpClass op_class = ir::info(inst.op).op_class;
    if (inst.results.size() != 1 || !inst.bodies.empty()) return false;
    Known& result = known_[inst.results[0]];
    if (inst.op == ir::Op::load_) {
      const Known& from = known_[inst.operands[0]];
      if (!from.is_at_element || !is_masked(inst, 1)) return false;
      result.loaded = from.param;
      return true;
    }
    if (op_class == ir::OpClass::creation) return create(inst, result);
    if (op_class != ir::OpClass::elementwise) return inst.op == ir::Op::broadcast_ && copy(inst);
    if (inst.op == ir::Op::offset_) return point(inst, result);
    return compute(inst, result);
  }

  bool copy(const ir::Inst& inst) {
    known_[inst.results[0]] = known_[inst.operands[0]];
    return true;
  }
  bool create(const ir::Inst& inst, Known& result) {
    if (inst.op == ir::Op::splat_) return copy(inst);
    if (inst.op == ir::Op::constant_) {
      const ir::Scalar& scalar = inst.get<ir::Scalar>();
      if (is_integer(scalar.dtype)) result.place = LaneIndex{0, 0, scalar.integer};
      return true;
    }
    if (inst.op == ir::Op::program_id_) {
      result.place = LaneIndex{1, 0, 0};
      return inst.get<ir::Axis>().axis == 0;
    }
    if (inst.op != ir::Op::arange_) return false;
    result.place = LaneIndex{0, 1, inst.get<ir::Bounds>().start};
    return true;
  }
  bool point(const ir::Inst& inst, Known& result) {
    const Known &base = known_[inst.operands[0]], &by = known_[inst.operands[1]];
    const Shape& shape = function_.type(inst.results[0]).shape;
    if (!base.param || base.is_at_element || !by.place || shape.rank() != 1) return false;
    if (by.place->of_lane != 1 || by.place->number != 0 || by.place->of_program != shape[0])
      return false;
    block_ = shape[0];
    result.param = base.param;
    result.is_at_element = true;
    return grid_.size[0] * block_ >= count_;
  }
  // The result of computing with places is a place, or a mask, or not elementwise.
  bool compute(const ir::Inst& inst, Known& result) {
    std::vector<Known> x;
    for (ir::Value operand : inst.operands) x.push_back(known_[operand]);
    auto varies = [](const Known& k) { return k.is_mask || (k.place && !k.place->is_number()); };
    if (std::ranges::none_of(x, varies)) {
      if (inst.op == ir::Op::cast_ && x[0].place &&
          is_integer(function_.type(inst.results[0]).dtype))
        result.place = x[0].place;
      if (x.size() == 2 && x[0].place && x[1].place) result.place = combined(inst.op, x);
      return true;
    }
    if (inst.op == ir::Op::cast_) {
      result.place = x[0].place;
      return x[0].place && is_integer(function_.type(inst.results[0]).dtype) &&
             bit_width(function_.type(inst.results[0]).dtype) >= 32;
    }
    if (x.size() != 2 || !x[0].place || !x[1].place) return false;
    if (inst.op == ir::Op::lt_ || inst.op == ir::Op::gt_) {
      const bool is_less = inst.op == ir::Op::lt_;
      const LaneIndex &at = *x[is_less ? 0 : 1].place, &end = *x[is_less ? 1 : 0].place;
      const Shape& shape = function_.type(inst.results[0]).shape;
      result.is_mask = end.is_number() && end.number == count_ && at.of_lane == 1 &&
                       at.number == 0 && shape.rank() == 1 && at.of_program == shape[0];
      return result.is_mask;
    }
    result.place = combined(inst.op, x);
    return result.place.has_value();
  }
  static std::optional<LaneIndex> combined(ir::Op op, const std::vector<Known>& x) {
    const LaneIndex &a = *x[0].place, &b = *x[1].place;
    if (op == ir::Op::add_) return a.plus(b, 1);
    if (op == ir::Op::sub_) return a.plus(b, -1);
    if (op == ir::Op::mul_ && b.is_number()) return a.times(b.number);
    if (op == ir::Op::mul_ && a.is_number()) return b.times(a.number);
    return std::nullopt;
  }

  const ir::Function& function_;
  Grid grid_;
  std::int64_t count_, block_ = 0;
  std::vector<Known> known_;
};

// The elementwise computation of a kernel, as nodes; made where it is known to be elementwise.
class KernelTranslation {
 public:
  KernelTranslation(const ir::Function& function, const KernelReader& reader, GraphBuilder& builder,
                    const std::vector<NodeId>& operands, const Shape& shape)
      : function_(function),
        reader_(reader),
        builder_(builder),
        operands_(operands),
        shape_(shape),
        makers_(function.types.size()),
        nodes_(function.types.size()) {
    for (const ir::Inst& inst : function.body.insts)
      if (inst.results.size() == 1) makers_[inst.results[0]] = &inst;
  }

  std::optional<NodeId> node_of(ir::Value value) {
    if (nodes_[value]) return nodes_[value];
    if (auto param = reader_.known(value).loaded) {
      if (*param >= operands_.size()) return std::nullopt;
      return nodes_[value] = operands_[*param];
    }
    const ir::Inst* inst = makers_[value];
    if (inst == nullptr) return std::nullopt;
    if (inst->op == ir::Op::splat_ || inst->op == ir::Op::broadcast_)
      return nodes_[value] = node_of(inst->operands[0]);
    std::vector<NodeId> own;
    for (ir::Value operand : inst->operands) {
      std::optional<NodeId> node = node_of(operand);
      if (!node) return std::nullopt;
      own.push_back(*node);
    }
    return nodes_[value] = append_elementwise(builder_, function_, *inst, std::move(own), shape_);
  }

 private:
  const ir::Function& function_;
  const KernelReader& reader_;
  GraphBuilder& builder_;
  const std::vector<NodeId>& operands_;
  const Shape& shape_;
  std::vector<const ir::Inst*> makers_;  // by value
  std::vector<std::optional<NodeId>> nodes_;
};

}  // namespace

std::optional<NodeId> append_elementwise(GraphBuilder& builder, const ir::Function& function,
                                         const ir::Inst& inst, std::vector<NodeId> operands,
                                         const Shape& shape) {
  if (inst.results.size() != 1) return std::nullopt;
  const ir::Type& type = function.type(inst.results[0]);
  if (!type.is_value()) return std::nullopt;
  if (inst.op == ir::Op::constant_) return builder.full(shape, inst.get<ir::Scalar>());
  if (ir::info(inst.op).op_class != ir::OpClass::elementwise) return std::nullopt;
  if (inst.op == ir::Op::cast_) return builder.append(Op::to, std::move(operands), {}, type.dtype);
  if (inst.op == ir::Op::fma_) {
    NodeId product = builder.append(Op::mul, {operands[0], operands[1]});
    return builder.append(Op::add, {product, operands[2]});
  }
  std::optional<Op> op = op_of(inst.op, function.type(inst.operands[0]).dtype);
  if (!op) return std::nullopt;
  return builder.append(*op, std::move(operands));
}

std::optional<NodeId> append_elementwise_kernel(GraphBuilder& builder, const Node& node,
                                                const std::vector<NodeId>& operands) {
  const CustomDefinition& definition = *node.attributes.custom;
  if (!definition.kernel || !node.others.empty() || operands.empty()) return std::nullopt;
  std::vector<TensorType> types;
  for (NodeId id : operands) types.push_back({builder.node(id).dtype, builder.node(id).shape});
  for (const TensorType& type : types)
    if (type.shape != node.shape) return std::nullopt;
  dsl::Tracer tracer(definition.name);
  std::vector<dsl::Tile> pointers;
  for (std::size_t i = 0; i < types.size(); ++i)
    pointers.push_back(tracer.pointer_param(concat("p", i), types[i].dtype));
  if (!definition.changes_operand) pointers.push_back(tracer.pointer_param("result", node.dtype));
  const Grid grid = trace_custom(definition, custom_call(definition, types, 1), pointers);
  ir::Function function = tracer.finish();
  dsl::dead_code(function);
  KernelReader reader(function, grid, element_count(node.shape));
  std::optional<ir::Value> value = reader.stored(definition.changes_operand ? 0 : types.size());
  if (!value) return std::nullopt;
  std::optional<NodeId> result =
      KernelTranslation(function, reader, builder, operands, node.shape).node_of(*value);
  // A number that is stored is of the result's shape already; a type that differs is a bug of it.
  if (result && builder.node(*result).dtype != node.dtype) return std::nullopt;
  return result;
}

}  // namespace tilewright::graph
