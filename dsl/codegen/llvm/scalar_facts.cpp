#include "dsl/codegen/llvm/scalar_facts.h"

#include <algorithm>
#include <numeric>

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr std::int64_t unbounded_low = INT64_MIN, unbounded_high = INT64_MAX;

bool bounded(const ScalarFacts& f) { return f.low != unbounded_low && f.high != unbounded_high; }

// A result that overflows is unknown.
ScalarFacts interval(std::initializer_list<__int128> corners, std::int64_t divisor) {
  __int128 low = std::min(corners), high = std::max(corners);
  if (low <= unbounded_low || high >= unbounded_high)
    return {unbounded_low, unbounded_high, divisor};
  return {static_cast<std::int64_t>(low), static_cast<std::int64_t>(high), divisor};
}

std::int64_t capped_product(std::int64_t a, std::int64_t b) {
  __int128 product = static_cast<__int128>(a) * b;
  return product > (std::int64_t{1} << 40) || product < 0 ? std::max(a, b)
                                                          : static_cast<std::int64_t>(product);
}

class ScalarAnalysis {
 public:
  explicit ScalarAnalysis(const ir::Function& function)
      : function_(function), facts_(function.types.size()) {
    for (const ir::Param& param : function.params) {
      const ir::Type& type = function.type(param.value);
      if (type.is_pointer())
        facts_[param.value].divisor =
            std::max<std::int64_t>(1, param.align_bytes / size_bytes(type.dtype));
      else if (param.align_bytes != ir::Param{}.align_bytes && is_integer(type.dtype))
        facts_[param.value].divisor = param.align_bytes;  // Tracer::scalar_param
    }
    block(function.body);
  }
  std::vector<ScalarFacts> take() && { return std::move(facts_); }

 private:
  void block(const ir::Block& b) {
    for (const Inst& inst : b.insts) {
      if (inst.op == Op::loop_) index(inst);
      for (const ir::Block& body : inst.bodies) block(body);
      if (inst.results.size() == 1 && inst.bodies.empty())
        facts_[inst.results[0]] = unless_it_wraps(infer(inst), function_.type(inst.results[0]));
    }
  }

  // Arithmetic and casts wrap at the width of their type; a wrapped result is not in the interval.
  static ScalarFacts unless_it_wraps(const ScalarFacts& f, const ir::Type& type) {
    if (!type.is_value() || !is_integer(type.dtype) || bit_width(type.dtype) == 64) return f;
    bool sign = is_signed(type.dtype);
    std::int64_t half = std::int64_t{1} << (bit_width(type.dtype) - 1);
    bool fits = f.low >= (sign ? -half : 0) && f.high <= (sign ? half - 1 : 2 * half - 1);
    return fits ? f : ScalarFacts{};
  }

  void index(const Inst& loop) {
    const ScalarFacts &low = facts_[loop.operands[0]], &high = facts_[loop.operands[1]],
                      &step = facts_[loop.operands[2]];
    ScalarFacts f;
    f.divisor = std::gcd(low.divisor, step.divisor);
    f.low = low.low;
    if (high.high != unbounded_high) f.high = std::max(low.low, high.high - 1);
    if (step.low <= 0) f = {};
    // The last index is a whole number of steps above the first.
    if (auto first = low.constant(); first && step.constant() && f.high != unbounded_high)
      f.high = *first + (f.high - *first) / *step.constant() * *step.constant();
    facts_[loop.bodies[0].params[0]] = f;
  }

  ScalarFacts infer(const Inst& inst) const {
    const ir::Type& type = function_.type(inst.results[0]);
    if (!type.is_scalar()) return {};
    if (inst.op == Op::offset_)
      return {unbounded_low, unbounded_high,
              std::gcd(facts_[inst.operands[0]].divisor, facts_[inst.operands[1]].divisor)};
    if (!type.is_value() || !is_integer(type.dtype)) return {};
    if (inst.op == Op::constant_) {
      std::int64_t value = inst.get<ir::Scalar>().integer;
      return {value, value, value == INT64_MIN ? 1 : std::abs(value)};
    }
    if (inst.op == Op::program_id_) return {0, INT32_MAX, 1};
    if (inst.op == Op::num_programs_) return {1, INT32_MAX, 1};
    if (inst.op == Op::cast_) return facts_[inst.operands[0]];
    if (inst.operands.size() != 2) return {};
    return binary(inst.op, facts_[inst.operands[0]], facts_[inst.operands[1]]);
  }

  static ScalarFacts binary(Op op, const ScalarFacts& a, const ScalarFacts& b) {
    bool known = bounded(a) && bounded(b);
    auto wide = [](std::int64_t x) { return static_cast<__int128>(x); };
    std::int64_t common = std::gcd(a.divisor, b.divisor);
    if (op == Op::add_) {
      if (!known) return {unbounded_low, unbounded_high, common};
      return interval({wide(a.low) + b.low, wide(a.high) + b.high}, common);
    }
    if (op == Op::sub_) {
      if (!known) return {unbounded_low, unbounded_high, common};
      return interval({wide(a.low) - b.high, wide(a.high) - b.low}, common);
    }
    if (op == Op::mul_) {
      std::int64_t divisor = capped_product(a.divisor, b.divisor);
      if (!known) return {unbounded_low, unbounded_high, divisor};
      return interval(
          {wide(a.low) * b.low, wide(a.low) * b.high, wide(a.high) * b.low, wide(a.high) * b.high},
          divisor);
    }
    if (op == Op::div_ || op == Op::rem_) {
      auto by = b.constant();
      if (!by || *by <= 0 || a.low < 0) return {};
      if (op == Op::rem_) return {0, std::min(a.high, *by - 1), std::gcd(a.divisor, *by)};
      return {a.low / *by, a.high == unbounded_high ? unbounded_high : a.high / *by, 1};
    }
    if (op == Op::min_) return {std::min(a.low, b.low), std::min(a.high, b.high), common};
    if (op == Op::max_) return {std::max(a.low, b.low), std::max(a.high, b.high), common};
    return {};
  }

  const ir::Function& function_;
  std::vector<ScalarFacts> facts_;
};

}  // namespace

std::vector<ScalarFacts> scalar_facts(const ir::Function& function) {
  return ScalarAnalysis(function).take();
}

}  // namespace tilewright::dsl
