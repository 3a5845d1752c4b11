#include "dsl/passes/check_bounds.h"

#include <bit>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dsl/analysis/parameter_use.h"
#include "dsl/ir/rewrite.h"
#include "dsl/ir/verify.h"
#include "dsl/passes/insertion.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::min();

// The parameter that each pointer or descriptor is made from; nothing where there are several.
std::vector<std::optional<std::size_t>> origins(const ir::Function& function) {
  std::vector<std::optional<std::size_t>> origin(function.types.size());
  std::vector<bool> is_mixed(function.types.size(), false);
  for (std::size_t p = 0; p < function.params.size(); ++p) {
    if (!function.type(function.params[p].value).is_pointer()) continue;
    std::vector<bool> reaches = made_from(function, p);
    for (std::size_t v = 0; v < reaches.size(); ++v) {
      if (!reaches[v]) continue;
      is_mixed[v] = origin[v].has_value();
      origin[v] = p;
    }
  }
  for (std::size_t v = 0; v < origin.size(); ++v)
    if (is_mixed[v]) origin[v].reset();
  return origin;
}

class BoundsCheck : private Insertion {
 public:
  explicit BoundsCheck(const ir::Function& function)
      : Insertion{function_}, function_(function), origin_(origins(function)) {}

  BoundsChecks run() {
    for (std::size_t p = 0; p < function_.params.size(); ++p)
      if (function_.type(function_.params[p].value).is_pointer()) checks_.sized.push_back(p);
    std::vector<Inst> head;
    out = &head;
    for (std::size_t p : checks_.sized) add_array(p);
    report_ = add_param("report of bounds", ir::Type::pointer(DType::i64));
    program_ = program_number();
    block(function_.body);
    std::vector<Inst>& insts = function_.body.insts;
    insts.insert(insts.begin(), std::make_move_iterator(head.begin()),
                 std::make_move_iterator(head.end()));
    ir::compact(function_);
    ir::verify(function_);
    checks_.function = std::move(function_);
    return std::move(checks_);
  }

 private:
  // Facts about one array, as scalars of the program: its address, and the least and the greatest
  // distance in bytes from it at which an element may begin.
  struct Array {
    Value address, least, most;
  };

  Value as_index(Value value) {
    return function_.type(value).dtype == DType::i64 ? value : emit(Op::cast_, {value}, DType::i64);
  }
  void add_array(std::size_t p) {
    Value pointer = function_.params[p].value;
    Value size = add_param(function_.params[p].name + " bytes", ir::Type::scalar(DType::i64));
    std::int64_t width = size_bytes(function_.type(pointer).dtype);
    Value is_unknown = emit(Op::lt_, {size, number(0)});
    arrays_[p] = {emit(Op::bitcast_, {pointer}, DType::i64),
                  emit(Op::select_,
                       {is_unknown, number(std::numeric_limits<std::int64_t>::min()), number(0)}),
                  emit(Op::select_, {is_unknown, number(std::numeric_limits<std::int64_t>::max()),
                                     emit(Op::sub_, {size, number(width)})})};
  }

  void block(ir::Block& block) {
    std::vector<Inst> insts = std::exchange(block.insts, {}), made;
    std::vector<Inst>* outer = std::exchange(out, &made);
    for (Inst& inst : insts) {
      for (ir::Block& body : inst.bodies) this->block(body);
      where = inst.where;
      if (inst.op == Op::make_desc_) arrays_of_[inst.results[0]] = inst.operands;
      if (inst.op == Op::load_ || inst.op == Op::store_ || inst.op == Op::atomic_)
        check_pointers(inst);
      if (inst.op == Op::load_desc_ || inst.op == Op::store_desc_) check_block(inst);
      made.push_back(std::move(inst));
    }
    out = outer;
    block.insts = std::move(made);
  }

  Value report_word(std::size_t word) {
    return emit(Op::offset_, {report_, number(static_cast<std::int64_t>(
                                           checks_.sites.size() * BoundsSite::words + word))});
  }
  // Where `is_outside`, the site of `inst` gets the index; both are scalars.
  void report(const Inst& inst, std::size_t param, Value distance, Value is_outside) {
    std::int64_t width = size_bytes(function_.type(inst.operands[0]).dtype);
    Value index =
        emit(Op::shr_, {distance, number(std::countr_zero(static_cast<std::uint64_t>(width)))});
    // Only the thread that counts first writes the rest.
    Value known =
        emit(Op::atomic_, {report_word(0), number(1), is_outside}, ir::Atomic{ir::AtomicKind::add});
    Value is_first = emit(Op::and_, {is_outside, emit(Op::eq_, {known, number(0)})});
    emit(Op::store_, {report_word(1), index, is_first}, ir::Access{});
    emit(Op::store_, {report_word(2), program_, is_first}, ir::Access{});
    std::string name(ir::info(inst.op).name);
    checks_.sites.push_back({name.substr(0, name.find('_')), inst.where, param});
  }

  void check_pointers(Inst& inst) {
    Value pointer = inst.operands[0];
    std::optional<std::size_t> param = origin_of(pointer);
    if (!param) return;
    const Array& array = arrays_.at(*param);
    const Shape shape = function_.type(pointer).shape;
    const std::size_t mask_at = inst.op == Op::load_ ? 1 : 2;
    const bool has_mask = inst.operands.size() > mask_at;
    Value distance =
        emit(Op::sub_, {emit(Op::bitcast_, {pointer}, DType::i64), spread(array.address, shape)});
    Value inside = emit(Op::and_, {emit(Op::ge_, {distance, spread(array.least, shape)}),
                                   emit(Op::le_, {distance, spread(array.most, shape)})});
    Value outside = emit(Op::not_, {inside});
    if (has_mask) {
      outside = emit(Op::and_, {inst.operands[mask_at], outside});
      inside = emit(Op::and_, {inst.operands[mask_at], inside});
      inst.operands[mask_at] = inside;
    } else {
      inst.operands.push_back(inside);
    }
    Value furthest = emit(Op::select_, {outside, distance, spread(number(nowhere), shape)});
    for (int axis = shape.rank(); axis-- > 0;)
      furthest = emit(Op::reduce_, {furthest}, ir::Reduction{ir::ReduceKind::max, axis});
    report(inst, *param, furthest, emit(Op::ne_, {furthest, number(nowhere)}));
  }

  // The corners of what of a block lies within its descriptor.
  void check_block(Inst& inst) {
    std::optional<std::size_t> param = origin_of(inst.operands[0]);
    auto found = arrays_of_.find(inst.operands[0]);
    if (!param || found == arrays_of_.end()) return;
    const Array& array = arrays_.at(*param);
    const std::vector<Value>& desc = found->second;
    const bool loads = inst.op == Op::load_desc_;
    const std::size_t rank = (desc.size() - 1) / 2, first = loads ? 1 : 2;
    const Shape shape =
        loads ? inst.get<ir::BlockAccess>().shape : function_.type(inst.operands[1]).shape;
    std::int64_t width = size_bytes(function_.type(desc[0]).dtype);
    Value zero = number(0);
    Value begin = emit(Op::sub_, {emit(Op::bitcast_, {desc[0]}, DType::i64), array.address});
    Value low = begin, high = begin, is_some = 0;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      Value offset = as_index(inst.operands[first + axis]), size = as_index(desc[1 + axis]);
      Value stride = emit(Op::mul_, {as_index(desc[1 + rank + axis]), number(width)});
      Value from = emit(Op::max_, {offset, zero});
      Value end = emit(Op::add_, {offset, number(shape[static_cast<int>(axis)])});
      Value last = emit(Op::sub_, {emit(Op::min_, {end, size}), number(1)});
      Value here = emit(Op::le_, {from, last});
      is_some = axis == 0 ? here : emit(Op::and_, {is_some, here});
      Value a = emit(Op::mul_, {from, stride}), b = emit(Op::mul_, {last, stride});
      low = emit(Op::add_, {low, emit(Op::min_, {a, b})});
      high = emit(Op::add_, {high, emit(Op::max_, {a, b})});
    }
    Value below = emit(Op::lt_, {low, array.least});
    Value outside = emit(Op::or_, {below, emit(Op::gt_, {high, array.most})});
    outside = emit(Op::and_, {is_some, outside});
    report(inst, *param, emit(Op::select_, {below, low, high}), outside);
    // Behind the array, where the descriptor masks all of the block.
    inst.operands[first] =
        emit(Op::select_, {outside, as_index(desc[1]), as_index(inst.operands[first])});
  }

  std::optional<std::size_t> origin_of(Value value) const {
    return value < origin_.size() ? origin_[value] : std::nullopt;
  }

  ir::Function function_;
  std::vector<std::optional<std::size_t>> origin_;
  BoundsChecks checks_;
  std::unordered_map<std::size_t, Array> arrays_;            // by parameter
  std::unordered_map<Value, std::vector<Value>> arrays_of_;  // operands of make_desc
  Value report_ = 0, program_ = 0;
};

}  // namespace

BoundsChecks check_bounds(const ir::Function& function) { return BoundsCheck(function).run(); }

}  // namespace tilewright::dsl
