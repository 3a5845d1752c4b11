#include "dsl/codegen/gpu/plan/tensor_copy.h"

#include <algorithm>

#include "dsl/target/tma.h"

namespace tilewright::dsl::gpu {
namespace {

using ir::Inst;
using ir::Op;
using ir::Value;

constexpr std::int64_t any_size = std::int64_t{1} << 31;  // of a dimension that is never left
constexpr std::int64_t most_rows = 256;

// constant + sum of factor * index.
struct Sum {
  std::int64_t constant = 0;
  std::vector<std::pair<Value, std::int64_t>> terms;
};

class Analysis {
 public:
  Analysis(const ir::Function& function, const Uses& uses, const std::vector<ScalarFacts>& facts)
      : function_(function), uses_(uses), facts_(facts) {}

  void add(Value value, std::int64_t factor, Sum& sum) const {
    if (auto number = facts_[value].constant()) {
      sum.constant += factor * *number;
      return;
    }
    const Inst* inst = uses_.definition(value);
    if (inst != nullptr && function_.type(value).dtype == DType::i64) {
      if (inst->op == Op::add_ || inst->op == Op::sub_) {
        add(inst->operands[0], factor, sum);
        return add(inst->operands[1], inst->op == Op::add_ ? factor : -factor, sum);
      }
      if (inst->op == Op::mul_)
        for (std::size_t i : {std::size_t{0}, std::size_t{1}})
          if (auto number = facts_[inst->operands[i]].constant())
            return add(inst->operands[1 - i], factor * *number, sum);
    }
    for (auto& [index, by] : sum.terms)
      if (index == value) {
        by += factor;
        return;
      }
    sum.terms.emplace_back(value, factor);
  }

  // The parameter that a scalar pointer comes from; the way there is added to the sum.
  Value follow(Value pointer, Sum& sum) const {
    while (const Inst* inst = uses_.definition(pointer)) {
      if (inst->op != Op::offset_) break;
      add(inst->operands[1], 1, sum);
      pointer = inst->operands[0];
    }
    return pointer;
  }

  std::optional<int> param(Value value) const {
    for (std::size_t i = 0; i < function_.params.size(); ++i)
      if (function_.params[i].value == value) return static_cast<int>(i);
    return std::nullopt;
  }

  // A size or stride: a constant, or a parameter.
  std::optional<TensorMapSpec::Extent> extent(Value value, std::int64_t factor) const {
    if (auto number = facts_[value].constant())
      return TensorMapSpec::Extent{std::nullopt, factor * *number};
    const Inst* inst = uses_.definition(value);
    if (inst != nullptr && inst->op == Op::cast_) value = inst->operands[0];
    if (!is_integer(function_.type(value).dtype)) return std::nullopt;
    if (auto p = param(value)) return TensorMapSpec::Extent{p, factor};
    return std::nullopt;
  }

  std::int64_t divisor(Value value) const { return facts_[value].divisor; }
  bool is_never_negative(Value value) const { return facts_[value].low >= 0; }

 private:
  const ir::Function& function_;
  const Uses& uses_;
  const std::vector<ScalarFacts>& facts_;
};

}  // namespace

std::optional<TensorCopy> tensor_copy(const ir::Function& function, const Uses& uses,
                                      const std::vector<ScalarFacts>& facts, const Inst& make_desc,
                                      std::int64_t rows, std::int64_t columns, int swizzle_bytes) {
  if (make_desc.op != Op::make_desc_ || make_desc.operands.size() != 5) return std::nullopt;
  Analysis analysis(function, uses, facts);
  const ir::Type& pointer = function.type(make_desc.operands[0]);
  std::int64_t bytes = size_bytes(pointer.dtype);
  const Value* sizes = make_desc.operands.data() + 1;
  const Value* strides = make_desc.operands.data() + 3;
  if (facts[strides[1]].constant() != 1 || rows > most_rows) return std::nullopt;

  Sum start;
  auto base = analysis.param(analysis.follow(make_desc.operands[0], start));
  if (!base || !tma::takes(function.params[static_cast<std::size_t>(*base)].align_bytes) ||
      !tma::takes(start.constant * bytes))
    return std::nullopt;
  auto height = analysis.extent(sizes[0], 1), width = analysis.extent(sizes[1], 1);
  auto row_stride = analysis.extent(strides[0], bytes);
  if (!height || !width || !row_stride || !tma::takes(analysis.divisor(strides[0]) * bytes))
    return std::nullopt;
  // With a single row, the stride may be anything; the map wants one.
  if (!row_stride->param && row_stride->factor <= 0) return std::nullopt;

  TensorCopy copy;
  copy.map = {*base,
              start.constant * bytes,
              pointer.dtype,
              swizzle_bytes,
              {*width, *height},
              {*row_stride},
              {static_cast<int>(columns), static_cast<int>(rows)}};
  for (const auto& [index, factor] : start.terms) {
    if (factor <= 0 || !tma::takes(factor * bytes) || !analysis.is_never_negative(index))
      return std::nullopt;
    copy.outer.push_back(index);
    copy.map.sizes.push_back({std::nullopt, any_size});
    copy.map.strides_bytes.push_back({std::nullopt, factor * bytes});
    copy.map.box.push_back(1);
  }
  if (copy.map.box.size() > tma::most_dimensions) return std::nullopt;
  return copy;
}

}  // namespace tilewright::dsl::gpu
