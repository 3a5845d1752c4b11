#include "dsl/debugger/observed_program.h"

#include <utility>

#include "dsl/ir/rewrite.h"
#include "dsl/ir/verify.h"
#include "dsl/passes/insertion.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

class Observing : private Insertion {
 public:
  Observing(const ir::Function& function, std::span<const ObservedValue> values)
      : Insertion{function_}, function_(function), values_(values) {}

  ir::Function run() {
    std::vector<Inst> head;
    out = &head;
    for (const ObservedValue& value : values_) {
      const std::string name = "observed " + std::to_string(arrays_.size());
      arrays_.push_back({add_param(name + " count", ir::Type::pointer(DType::i64)),
                         add_param(name, ir::Type::pointer(value.type.dtype))});
    }
    program_ = program_number();
    block(function_.body);
    std::vector<Inst>& insts = function_.body.insts;
    insts.insert(insts.begin(), std::make_move_iterator(head.begin()),
                 std::make_move_iterator(head.end()));
    ir::compact(function_);
    ir::verify(function_);
    return std::move(function_);
  }

 private:
  struct Arrays {
    Value count, elements;
  };

  void block(ir::Block& block) {
    std::vector<Inst> insts = std::exchange(block.insts, {}), made;
    for (Inst& inst : insts) {
      const std::size_t place = count_++;
      for (ir::Block& body : inst.bodies) this->block(body);
      const std::vector<Value> results = inst.results;
      where = inst.where;
      made.push_back(std::move(inst));
      out = &made;
      for (std::size_t i = 0; i < values_.size(); ++i)
        if (values_[i].instruction == place) keep(i, results[values_[i].result]);
    }
    block.insts = std::move(made);
  }

  void keep(std::size_t i, Value value) {
    const ObservedValue& observed = values_[i];
    const Shape& shape = observed.type.shape;
    Value count = emit(Op::offset_, {arrays_[i].count, program_});
    Value time = emit(Op::atomic_, {count, number(1)}, ir::Atomic{ir::AtomicKind::add});
    Value is_kept = emit(Op::and_, {emit(Op::lt_, {time, number(observed.times)}),
                                    emit(Op::lt_, {program_, number(observed.programs)})});
    Value place = emit(Op::add_, {emit(Op::mul_, {program_, number(observed.times)}), time});
    place = emit(Op::mul_, {place, number(observed.elements())});
    Value address = spread(emit(Op::offset_, {arrays_[i].elements, place}), shape);
    if (!shape.empty()) address = emit(Op::offset_, {address, element_numbers(shape)});
    emit(Op::store_, {address, value, spread(is_kept, shape)}, ir::Access{});
  }

  // A tile of 0, 1, 2, ... in row-major order.
  Value element_numbers(const Shape& shape) {
    Value all = spread(number(0), shape);
    std::int64_t stride = 1;
    for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis]) {
      Value along = emit(Op::arange_, {}, ir::Bounds{0, shape[axis]});
      along = emit(Op::cast_, {along}, DType::i64);
      along = emit(Op::mul_, {along, spread(number(stride), {shape[axis]})});
      for (int other = 0; other < shape.rank(); ++other)
        if (other != axis) along = emit(Op::expand_dims_, {along}, ir::Axis{other});
      if (shape.rank() > 1) along = emit(Op::broadcast_, {along}, ir::Extent{shape});
      all = emit(Op::add_, {all, along});
    }
    return all;
  }

  ir::Function function_;
  std::span<const ObservedValue> values_;
  std::vector<Arrays> arrays_;
  Value program_ = 0;
  std::size_t count_ = 0;  // of instructions passed
};

}  // namespace

ir::Function observed_program(const ir::Function& function, std::span<const ObservedValue> values) {
  return Observing(function, values).run();
}

}  // namespace tilewright::dsl
