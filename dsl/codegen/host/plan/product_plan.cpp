#include "dsl/codegen/host/plan/product_plan.h"

#include "dsl/codegen/llvm/live_rows.h"
#include "dsl/ir/loop_nests.h"
#include "dsl/target/packed_product.h"
#include "dsl/target/step_rows.h"

namespace tilewright::dsl {
namespace {

using ir::Inst;
using ir::Op;
using ir::Product;
using ir::Value;

constexpr std::int64_t rows_along_k = 4;  // the most rows for which lanes along a short k pay
constexpr std::int64_t long_depth = 64;   // of k: adding up lanes costs less than transposing b
// For more rows, blocks would convert the same numbers again.
constexpr std::int64_t most_rows_converted = 8;

}  // namespace

bool ProductPlans::is_in_scratch(Value value) const {
  const Inst* inst = defs_.inst(value);
  return inst == nullptr || inst->schedule.kept || !ir::may_be_virtual(*inst);
}

bool ProductPlans::is_inside(const Inst& access) const {
  const bool loads = access.op == Op::load_desc_;
  const std::size_t first = loads ? 1 : 2;  // of the operands that say where the block begins
  const Shape& block =
      loads ? access.get<ir::BlockAccess>().shape : defs_.type(access.operands[1]).shape;
  const Inst& array = *defs_.inst(access.operands[0]);
  std::optional<Value> rows;
  if (loads) rows = live_rows_[access.results[0]];
  for (std::size_t axis = 0; axis < block.size(); ++axis) {
    const ScalarFacts& at = facts_[access.operands[first + axis]];
    const ScalarFacts& size = facts_[array.operands[1 + axis]];
    std::int64_t extent = block[static_cast<int>(axis)];
    bool fits =
        at.low >= 0 && at.high != INT64_MAX && size.low >= extent && at.high <= size.low - extent;
    fits =
        fits || (axis == 0 && rows && rows == end_along(0, access, array, first, extent, facts_));
    if (!fits) return false;
  }
  return true;
}

std::optional<Value> ProductPlans::live_rows(const Inst& dot) const {
  const std::optional<Value> rows = live_rows_[dot.results[0]];
  return rows ? rows : live_rows_[dot.operands[0]];
}

bool ProductPlans::ends_with_live_rows(const Inst& dot) const {
  const ir::Type &a = defs_.type(dot.operands[0]), &b = defs_.type(dot.operands[1]);
  const std::int64_t rows = a.shape[0];
  const bool packs =
      rows >= PackedProduct::least_rows || panel_block(defs_, dot.operands[1]).has_value();
  const int in_word = elements_in_word(a.dtype, b.dtype, defs_.type(dot.results[0]).dtype);
  return !packs || rows % PackedProduct::whole_blocks(target_, in_word) == 0;
}

bool ProductPlans::copies_left(const Inst& dot) const {
  const Value left = dot.operands[0];
  if (!live_rows(dot) || is_in_scratch(left)) return false;
  return !ends_with_live_rows(dot) || !operand(left).rows_contiguous();
}

std::optional<std::int64_t> ProductPlans::stride(const Inst& load, int axis) const {
  const Inst& array = *defs_.inst(load.operands[0]);
  const std::size_t rank = (array.operands.size() - 1) / 2;
  return facts_[array.operands[1 + rank + static_cast<std::size_t>(axis)]].constant();
}

std::optional<MatrixPlace> ProductPlans::place(Value value) const {
  const Inst* inst = defs_.inst(value);
  const Shape& shape = defs_.type(value).shape;
  if (is_in_scratch(value)) {
    const Strides strides = row_major_strides(shape);
    return MatrixPlace{value, nullptr, {0, 1}, shape[0], shape[1], strides[0], strides[1]};
  }
  if (inst->op == Op::permute_) {
    auto inner = place(inst->operands[0]);
    bool swaps = inst->get<ir::Permutation>().dims[0] == 1;
    return inner && swaps ? std::optional(inner->transposed()) : inner;
  }
  // A block of one row or column of an array of more axes is a matrix too.
  if ((inst->op == Op::reshape_ || inst->op == Op::expand_dims_) && shape.rank() == 2) {
    const Value operand = inst->operands[0];
    const Inst* source = defs_.inst(operand);
    if (is_in_scratch(operand) || source->op != Op::load_desc_ ||
        !only_moves_unit_axes(defs_.type(operand).shape, shape) || shape[0] == 1 || shape[1] == 1)
      return std::nullopt;
    inst = source;
  }
  if (inst->op != Op::load_desc_ || !is_inside(*inst)) return std::nullopt;
  const Shape& block = inst->get<ir::BlockAccess>().shape;
  std::vector<int> axes;
  for (int axis = 0; axis < block.rank(); ++axis)
    if (block.rank() == 2 || block[axis] > 1) axes.push_back(axis);
  if (axes.size() != 2) return std::nullopt;
  return MatrixPlace{value,
                     inst,
                     {axes[0], axes[1]},
                     shape[0],
                     shape[1],
                     stride(*inst, axes[0]),
                     stride(*inst, axes[1])};
}

MatrixPlace ProductPlans::operand(Value value) const {
  auto found = place(value);
  if (found && (found->rows_contiguous() || found->columns_contiguous())) return *found;
  const Inst* inst = defs_.inst(value);
  if (!is_in_scratch(value) && inst->op == Op::permute_) {
    const MatrixPlace inner = operand(inst->operands[0]);
    return inst->get<ir::Permutation>().dims[0] == 1 ? inner.transposed() : inner;
  }
  return copy_of(value);
}

std::optional<MatrixPlace> ProductPlans::converted_right(const Inst& dot) const {
  const Value right = dot.operands[1];
  const ir::Type &a = defs_.type(dot.operands[0]), &b = defs_.type(right);
  if (a.dtype != DType::f32 || b.dtype != DType::f32 ||
      defs_.type(dot.results[0]).dtype != DType::f32 || a.shape[0] > most_rows_converted)
    return std::nullopt;
  const bool is_turned = !is_in_scratch(right) && defs_.inst(right)->op == Op::permute_ &&
                         defs_.inst(right)->get<ir::Permutation>().dims[0] == 1;
  const Value numbers = is_turned ? defs_.inst(right)->operands[0] : right;
  if (is_in_scratch(numbers)) return std::nullopt;
  const Inst& cast = *defs_.inst(numbers);
  if (cast.op != Op::cast_ || size_bytes(defs_.type(cast.operands[0]).dtype) >= 4 ||
      is_in_scratch(cast.operands[0]))
    return std::nullopt;
  const auto block = place(cast.operands[0]);
  if (!block || block->load == nullptr) return std::nullopt;
  const MatrixPlace found = is_turned ? block->transposed() : *block;
  const bool is_contiguous = found.rows_contiguous() || found.columns_contiguous();
  return is_contiguous ? std::optional(found) : std::nullopt;
}

MatrixPlace ProductPlans::left_operand(const Inst& dot) const {
  return copies_left(dot) ? copy_of(dot.operands[0]) : operand(dot.operands[0]);
}

MatrixPlace ProductPlans::copy_of(Value value) const {
  const Shape& shape = defs_.type(value).shape;
  return {value, nullptr, {0, 1}, shape[0], shape[1], shape[1], 1};
}

std::optional<PanelPlace> ProductPlans::panels(Value matrix, DType sum) const {
  if (is_in_scratch(matrix)) return std::nullopt;
  auto found = panel_block(defs_, matrix);
  if (!found) return std::nullopt;
  const auto& [load, permute, in_pairs] = *found;
  if (load->schedule.kept || permute->schedule.kept || !is_inside(*load)) return std::nullopt;
  const Shape& block = load->get<ir::BlockAccess>().shape;
  const DType dtype = defs_.type(matrix).dtype;
  const int in_word = in_pairs ? 2 : 1;
  const std::int64_t width = block[2], vectors = width / target_.lanes;
  if (in_pairs ? elements_in_word(dtype, dtype, sum) != 2 : dtype != sum) return std::nullopt;
  if (width % target_.lanes != 0 || vectors < 2 || vectors > 4) return std::nullopt;
  const std::int64_t row = width * in_word;
  const auto panel = stride(*load, 0);
  if (stride(*load, 1) != row || stride(*load, 2) != in_word ||
      (in_pairs && stride(*load, 3) != 1) || !panel || *panel <= 0 || *panel % row != 0)
    return std::nullopt;
  return PanelPlace{*found, width, *panel / row, in_word};
}

std::optional<PanelStore> ProductPlans::panel_store(const Inst& store) const {
  const Value block = store.operands[1];
  const ir::Type& type = defs_.type(block);
  const bool has_pairs =
      size_bytes(type.dtype) == 2 && type.shape.rank() == 4 && type.shape[3] == 2;
  const Inst* permute = defs_.inst(block);
  if (!has_pairs || is_in_scratch(block) || permute->op != Op::permute_) return std::nullopt;
  const Value source = permute->operands[0];
  const Inst* load = defs_.inst(source);
  if (is_in_scratch(source) || load->op != Op::load_desc_ || live_rows_[source] ||
      !is_inside(*load) || !is_inside(store))
    return std::nullopt;
  PanelStore result{load, {}, {}};
  auto &from = result.from, &to = result.to;
  const std::vector<int>& dims = permute->get<ir::Permutation>().dims;
  for (std::size_t axis = 0; axis < 4; ++axis) {
    from[axis] = stride(*load, dims[axis]).value_or(0);
    to[axis] = stride(store, static_cast<int>(axis)).value_or(0);
  }
  const std::int64_t width = type.shape[2];
  const bool is_dense =
      to[3] == 1 && to[2] == 2 && to[1] == 2 * width && to[0] > 0 && to[0] % 2 == 0;
  const bool is_of_rows = from[1] == 2 * from[3] && (from[2] == 1 || from[3] == 1);
  const bool is_wide = target_.lanes >= 8 && width % target_.lanes == 0;
  return is_dense && is_of_rows && is_wide ? std::optional(result) : std::nullopt;
}

int ProductPlans::elements_in_word(DType a, DType b, DType sum) const {
  const DType wide = is_floating(a) ? accumulator(a) : DType::i32;
  return a == b && sum == wide ? static_cast<int>(dsl::elements_in_word(target_, a)) : 1;
}

int ProductPlans::packed_word(DType a, DType b, DType sum, std::int64_t depth) const {
  if (elements_in_word(a, b, sum) == 1) return 1;
  const auto elements = static_cast<int>(dsl::packed_word(target_, a));
  return depth % elements == 0 ? elements : 1;
}

int ProductPlans::tiled_word(const Inst& dot) const {
  const ir::Type &a = defs_.type(dot.operands[0]), &b = defs_.type(dot.operands[1]);
  const std::int64_t rows = a.shape[0], depth = a.shape[1], columns = b.shape[1];
  if (!target_.has_tiles || rows < PackedProduct::least_rows || depth < target_.lanes ||
      columns < target_.lanes)
    return 1;
  return packed_word(a.dtype, b.dtype, defs_.type(dot.results[0]).dtype, depth);
}

bool ProductPlans::multiplies_words_along_k(const Inst& dot) const {
  const ir::Type &a = defs_.type(dot.operands[0]), &b = defs_.type(dot.operands[1]);
  const std::int64_t word = elements_in_word(a.dtype, b.dtype, defs_.type(dot.results[0]).dtype);
  return dot.schedule.product == Product::along_k && word > 1 && b.shape[0] % word == 0 &&
         b.shape[0] >= word * least_word_lanes;
}

Product ProductPlans::product(const Inst& dot) const {
  const DType sum = defs_.type(dot.results[0]).dtype, left = defs_.type(dot.operands[0]).dtype,
              right = defs_.type(dot.operands[1]).dtype;
  const MatrixPlace a = left_operand(dot);
  auto by = [](const PackedProduct& how) {
    return how.by_tiles ? Product::tiled : Product::packed;
  };
  if (auto in_panels = panels(dot.operands[1], sum))
    return by(packed_product_of(target_, in_panels->in_word, in_panels->width / target_.lanes));
  const std::optional<MatrixPlace> converted = converted_right(dot);
  const MatrixPlace b = converted ? *converted : operand(dot.operands[1]);
  if (a.rows >= PackedProduct::least_rows && a.columns >= target_.lanes &&
      b.columns >= target_.lanes)
    return by(packed_product(target_, packed_word(left, right, sum, a.columns), b.columns));
  bool along_k = b.columns_contiguous() && a.rows_contiguous() && b.rows > 1;
  const std::int64_t most = defs_.function().row_invariant ? rows_of_a_step : rows_along_k;
  if (along_k && (a.rows <= most || b.rows >= long_depth)) return Product::along_k;
  const int in_word = elements_in_word(left, right, sum);
  bool can_interleave = target_.has_avx512() && in_word > 1 &&
                        (in_word > 2 || target_.has_fast_pairs) && a.rows_contiguous() &&
                        b.rows_contiguous() && b.rows % in_word == 0 &&
                        b.columns % interleaved_columns(in_word) == 0;
  return can_interleave ? Product::interleaved : Product::along_n;
}

}  // namespace tilewright::dsl
