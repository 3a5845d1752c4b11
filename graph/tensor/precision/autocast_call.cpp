#include "graph/tensor/precision/autocast_call.h"

#include <algorithm>
#include <iterator>

#include "graph/ir/user_call.h"

namespace tilewright::graph {
namespace {

struct Row {
  std::string_view name;
  AutocastKind cpu, cuda;
};
using enum AutocastKind;
constexpr Row rows[] = {
#define TILEWRIGHT_AUTOCAST(name, cpu, cuda) {#name, cpu, cuda},
#include "graph/tensor/precision/autocast.def"
#undef TILEWRIGHT_AUTOCAST
};
static_assert(std::ranges::is_sorted(rows, {}, &Row::name));

DType widest_of(DType dtype, std::span<const Tensor> all) {
  const bool has_f32 = std::ranges::any_of(
      all, [](const Tensor& x) { return x.defined() && x.dtype() == DType::f32; });
  return has_f32 ? DType::f32 : dtype;
}

// Functions of the library that are in no list compute as they do without autocast, whatever they
// are made of.
bool is_inside_unlisted_call(std::string_view function, AutocastLists lists) {
  const UserCall* call = UserCall::current();
  return call != nullptr && call->operation != function &&
         autocast_kind(call->operation, lists) != by_parts;
}

}  // namespace

std::optional<AutocastKind> autocast_kind(std::string_view function, AutocastLists lists) {
  const auto row = std::ranges::lower_bound(rows, function, {}, &Row::name);
  if (row == std::end(rows) || row->name != function) return std::nullopt;
  return lists == AutocastLists::cpu ? row->cpu : row->cuda;
}

bool is_cast(DType dtype) { return dtype == DType::f32 || is_float16(dtype); }

bool AutocastCall::is_active() { return autocast_state().has_value(); }

void AutocastCall::begin(std::string_view function, std::source_location where,
                         std::span<const Tensor> all) {
  const AutocastState state = *autocast_state();
  const std::optional<AutocastKind> kind = autocast_kind(function, state.lists);
  if (!kind || *kind == by_parts || is_inside_unlisted_call(function, state.lists)) return;
  if (*kind == few_bits) dtype_ = state.dtype;
  if (*kind == AutocastKind::f32) dtype_ = DType::f32;
  if (*kind == widest && !all.empty()) dtype_ = widest_of(state.dtype, all);
  where_ = where;
  paused_ = exchange_autocast(std::nullopt);
}

AutocastCall::~AutocastCall() {
  if (paused_) exchange_autocast(paused_);
}

Tensor AutocastCall::operator()(const Tensor& tensor) const {
  if (!dtype_ || !tensor.defined() || !is_cast(tensor.dtype())) return tensor;
  return tensor.to(*dtype_, where_);
}
TensorOperand AutocastCall::operator()(const TensorOperand& operand) const {
  if (operand.is_number) return operand;
  return {(*this)(operand.tensor), operand.where};
}
std::vector<Tensor> AutocastCall::operator()(const std::vector<Tensor>& tensors) const {
  std::vector<Tensor> all;
  for (const Tensor& tensor : tensors) all.push_back((*this)(tensor));
  return all;
}

AutocastPause::AutocastPause() : paused_(exchange_autocast(std::nullopt)) {}
AutocastPause::~AutocastPause() { exchange_autocast(paused_); }

}  // namespace tilewright::graph
