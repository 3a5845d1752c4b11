#include "dsl/passes/check_asserts.h"

#include <algorithm>
#include <array>
#include <utility>

#include "dsl/ir/message.h"
#include "dsl/ir/rewrite.h"
#include "dsl/ir/verify.h"
#include "dsl/math/expression.h"
#include "runtime/code/message.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

// The words of a site: whether it is taken, three of the program, one of the element, the values.
constexpr std::int64_t program_at = 1, element_at = 4, values_at = 5;

class AssertCheck {
 public:
  explicit AssertCheck(const ir::Function& function) { checks_.function = function; }

  AssertChecks run() {
    ir::Function& f = checks_.function;
    report_ = f.new_value(ir::Type::pointer(DType::i64));
    f.params.push_back({"report of asserts", report_});
    block(f.body);
    ir::compact(f);
    ir::verify(f);
    return std::move(checks_);
  }

 private:
  void block(ir::Block& block) {
    std::vector<Inst> code;
    for (Inst& inst : block.insts) {
      for (ir::Block& body : inst.bodies) this->block(body);
      if (inst.op == Op::assert_)
        check(inst, code);
      else
        code.push_back(std::move(inst));
    }
    block.insts = std::move(code);
  }

  // Appends instructions for one assert.
  struct AssertCode {
    math::InsertionPoint at;
    const Shape& shape;

    Value append(Op op, std::vector<Value> operands, ir::Immediate immediate = {}) {
      return at.append(op, std::move(operands), std::move(immediate));
    }
    Value number(std::int64_t value) {
      return append(Op::constant_, {}, ir::Scalar::of_integer(DType::i64, value));
    }
    Value spread(Value scalar) {
      return shape.empty() ? scalar : append(Op::splat_, {scalar}, ir::Extent{shape});
    }
    Value folded(Value tile, ir::ReduceKind kind) {
      for (int axis = shape.rank(); axis-- > 0;)
        tile = append(Op::reduce_, {tile}, ir::Reduction{kind, axis});
      return tile;
    }
  };

  void check(const Inst& inst, std::vector<Inst>& code) {
    ir::Function& f = checks_.function;
    const Shape shape = f.type(inst.operands[0]).shape;
    AssertCode site{{f, code, shape, inst.where}, shape};
    AssertSite made{inst.get<ir::Text>().text, inst.where, shape, {}, checks_.words};
    const std::int64_t count = element_count(shape);
    Value places = shape.empty() ? site.number(0) : numbered(site, count);
    Value end = site.number(count);
    Value candidates = site.append(Op::select_, {inst.operands[0], site.spread(end), places});
    Value element = site.folded(candidates, ir::ReduceKind::min);
    Value is_broken = site.append(Op::lt_, {element, end});
    auto place = [&](std::int64_t word) {
      return site.append(Op::offset_,
                         {report_, site.number(static_cast<std::int64_t>(checks_.words) + word)});
    };
    Value zero = site.number(0);
    Value before = site.append(Op::atomic_, {place(0), site.number(1), is_broken, zero},
                               ir::Atomic{ir::AtomicKind::compare_exchange});
    Value is_first = site.append(Op::eq_, {before, zero});
    Value tells = site.append(Op::and_, {is_broken, is_first});
    auto tell = [&](std::int64_t word, Value value) {
      Value at = place(word);
      code.push_back({Op::store_, {at, value, tells}, {}, ir::Access{}, {}, inst.where});
    };
    for (int axis = 0; axis < 3; ++axis)
      tell(program_at + axis, site.append(Op::program_id_, {}, ir::Axis{axis}));
    tell(element_at, element);
    for (std::size_t i = 1; i < inst.operands.size(); ++i) {
      const Value value = inst.operands[i];
      made.values.push_back(f.type(value).dtype);
      Value word = as_word(site, value);
      if (!f.type(value).is_scalar()) {
        Value here = site.append(Op::eq_, {places, site.spread(element)});
        Value chosen = site.append(Op::select_, {here, word, site.spread(zero)});
        word = site.folded(chosen, ir::ReduceKind::sum);
      }
      tell(values_at + static_cast<std::int64_t>(i) - 1, word);
    }
    checks_.words += static_cast<std::size_t>(values_at) + made.values.size();
    checks_.sites.push_back(std::move(made));
  }

  static Value numbered(AssertCode& site, std::int64_t count) {
    Value line = site.append(Op::arange_, {}, ir::Bounds{0, count});
    line = site.append(Op::cast_, {line}, DType::i64);
    return site.append(Op::reshape_, {line}, ir::Extent{site.shape});
  }

  Value as_word(AssertCode& site, Value value) {
    const DType dtype = checks_.function.type(value).dtype;
    if (!is_floating(dtype))
      return dtype == DType::i64 ? value : site.append(Op::cast_, {value}, DType::i64);
    if (dtype != DType::f64) value = site.append(Op::cast_, {value}, DType::f64);
    return site.append(Op::bitcast_, {value}, DType::i64);
  }

  AssertChecks checks_;
  Value report_ = 0;
};

}  // namespace

AssertChecks check_asserts(const ir::Function& function) { return AssertCheck(function).run(); }

bool has_asserts(const ir::Function& function) {
  bool found = false;
  ir::for_each_inst(function.body, [&](const Inst& inst) { found |= inst.op == Op::assert_; });
  return found;
}

std::optional<std::string> broken_assert(const AssertChecks& checks,
                                         std::span<const std::int64_t> report) {
  for (const AssertSite& site : checks.sites) {
    std::span<const std::int64_t> words = report.subspan(site.begin);
    if (words[0] == 0) continue;
    std::vector<std::uint64_t> values;
    for (std::size_t i = 0; i < site.values.size(); ++i)
      values.push_back(static_cast<std::uint64_t>(words[values_at + i]));
    const std::string format = ir::message_format(site.text, site.values);
    return ir::assertion_text(checks.function.name, site.where,
                              {words[program_at], words[program_at + 1], words[program_at + 2]},
                              site.shape, words[element_at],
                              message_text(format.c_str(), values.data()));
  }
  return std::nullopt;
}

}  // namespace tilewright::dsl
