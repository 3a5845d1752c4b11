#include "graph/passes/affine_form.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "dsl/ir/immediates.h"
#include "graph/ir/shape_rules.h"

namespace tilewright::graph {
namespace {

using Form = std::optional<AffineForm>;

AffineForm everywhere(const Shape& shape, std::int64_t number) {
  return {shape, Strides(shape.size(), 0), number};
}

// The least and the greatest value, which may be beyond what 64 bits hold.
struct Extremes {
  __int128 least, greatest;
};
Extremes extremes_of(const AffineForm& form) {
  Extremes all{form.offset, form.offset};
  for (int axis = 0; axis < form.shape.rank(); ++axis) {
    const __int128 reach =
        static_cast<__int128>(form.strides[axis]) * std::max<std::int64_t>(form.shape[axis] - 1, 0);
    (reach < 0 ? all.least : all.greatest) += reach;
  }
  return all;
}
bool lies_in(const AffineForm& form, std::int64_t least, std::int64_t greatest) {
  const Extremes all = extremes_of(form);
  return least <= all.least && all.greatest <= greatest;
}
// Whether no value wraps.
bool fits(const AffineForm& form, DType dtype) {
  if (is_boolean(dtype)) return lies_in(form, 0, 1);
  const int width = bit_width(dtype);
  if (!is_signed(dtype)) return width < 64 && lies_in(form, 0, (std::int64_t{1} << width) - 1);
  const std::int64_t greatest = std::numeric_limits<std::int64_t>::max() >> (64 - width);
  return lies_in(form, -greatest - 1, greatest);
}

// a * by_a + b * by_b, of one shape.
Form combined(const AffineForm& a, std::int64_t by_a, const AffineForm& b, std::int64_t by_b) {
  auto combine = [&](std::int64_t x, std::int64_t y, std::int64_t& result) {
    std::int64_t left = 0, right = 0;
    return !__builtin_mul_overflow(x, by_a, &left) && !__builtin_mul_overflow(y, by_b, &right) &&
           !__builtin_add_overflow(left, right, &result);
  };
  AffineForm result = a;
  if (!combine(a.offset, b.offset, result.offset)) return std::nullopt;
  for (int axis = 0; axis < a.shape.rank(); ++axis)
    if (!combine(a.strides[axis], b.strides[axis], result.strides[axis])) return std::nullopt;
  return result;
}
Form times(const AffineForm& form, std::int64_t factor) {
  return combined(form, factor, everywhere(form.shape, 0), 0);
}

// By a number above 0: what floor division and its remainder are, where both are forms.
struct Digits {
  AffineForm quotient, remainder;
};
std::optional<Digits> divided(const AffineForm& form, std::int64_t divisor) {
  Digits digits{form, form};
  for (int axis = 0; axis <= form.shape.rank(); ++axis) {
    const bool is_start = axis == form.shape.rank();
    const std::int64_t step = is_start ? form.offset : form.strides[axis];
    const std::int64_t left = step % divisor, rest = left < 0 ? left + divisor : left;
    const bool goes_up = is_start || rest == 0;
    (is_start ? digits.quotient.offset : digits.quotient.strides[axis]) =
        goes_up ? step / divisor - (left < 0 ? 1 : 0) : 0;
    (is_start ? digits.remainder.offset : digits.remainder.strides[axis]) = goes_up ? rest : step;
  }
  if (!lies_in(digits.remainder, 0, divisor - 1)) return std::nullopt;
  return digits;
}

// Without steps along axes that have none; nothing where values wrap.
Form settled(Form form, DType dtype) {
  if (!form) return form;
  for (int axis = 0; axis < form->shape.rank(); ++axis)
    if (form->shape[axis] <= 1) form->strides[axis] = 0;
  return fits(*form, dtype) ? form : std::nullopt;
}

bool is_wanted(DType dtype) { return is_integer(dtype) || is_boolean(dtype); }

}  // namespace

std::optional<std::int64_t> constant_of(const AffineForm& form) {
  if (std::ranges::any_of(form.strides, [](std::int64_t step) { return step != 0; }))
    return std::nullopt;
  return form.offset;
}

std::optional<std::vector<AffineForm>> coordinates_of(AffineForm places, const Shape& shape) {
  const std::int64_t count = element_count(shape);
  if (count == 0 || !lies_in(places, 0, count - 1)) return std::nullopt;
  std::vector<AffineForm> coordinates(shape.size());
  for (int axis = shape.rank(); axis-- > 0;) {
    auto digits = divided(places, shape[axis]);
    if (!digits) return std::nullopt;
    coordinates[static_cast<std::size_t>(axis)] = std::move(digits->remainder);
    places = std::move(digits->quotient);
  }
  return coordinates;
}

AffineForms::AffineForms(const Graph& graph)
    : graph_(graph), known_(graph.nodes.size()), unshaped_(graph.nodes.size()) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    if (!is_wanted(node.dtype)) continue;
    Form form = settled(computed(node), node.dtype);
    if (!form) continue;
    known_[id] =
        form->shape == node.shape
            ? form
            : settled(view_of(Op::reshape, {.axes = {}, .sizes = node.shape}, *form), node.dtype);
    unshaped_[id] = std::move(form);
  }
}

std::optional<std::int64_t> AffineForms::constant(NodeId id) const {
  return known_[id] ? constant_of(*known_[id]) : std::nullopt;
}

Form AffineForms::difference(NodeId a, NodeId b) const {
  if (!known_[a] || !known_[b]) return std::nullopt;
  return combined(*known_[a], 1, *known_[b], -1);
}

Form AffineForms::places_of_gather(const Node& embedding) const {
  const Form& rows = unshaped_[embedding.operands[1]];
  const std::int64_t width = embedding.shape[-1];
  Form places = rows ? times(*rows, width) : std::nullopt;
  if (!places) return std::nullopt;
  places->shape.push_back(width);
  places->strides.push_back(width == 1 ? 0 : 1);
  return places;
}

Form AffineForms::computed(const Node& node) const {
  if (node.op == Op::reshape) return unshaped_[node.operands[0]];
  if (info(node.op).kind == Kind::view) {
    const Form& whole = of(node.operands[0]);
    std::int64_t step = 0;
    if (whole && node.op == Op::slice &&
        __builtin_mul_overflow(whole->strides[node.attributes.axes[0]], node.attributes.step,
                               &step))
      return std::nullopt;
    return whole ? view_of(node.op, node.attributes, *whole) : std::nullopt;
  }
  using Rule = Form (AffineForms::*)(const Node&) const;
  // Of other ops nothing is known.
  static const std::map<Op, Rule> rules = {{Op::full, &AffineForms::of_full},
                                           {Op::arange, &AffineForms::of_arange},
                                           {Op::to, &AffineForms::of_conversion},
                                           {Op::neg, &AffineForms::of_arithmetic},
                                           {Op::add, &AffineForms::of_arithmetic},
                                           {Op::sub, &AffineForms::of_arithmetic},
                                           {Op::mul, &AffineForms::of_arithmetic},
                                           {Op::eq, &AffineForms::of_comparison},
                                           {Op::ne, &AffineForms::of_comparison},
                                           {Op::lt, &AffineForms::of_comparison},
                                           {Op::le, &AffineForms::of_comparison},
                                           {Op::gt, &AffineForms::of_comparison},
                                           {Op::ge, &AffineForms::of_comparison},
                                           {Op::logical_not, &AffineForms::of_negation},
                                           {Op::logical_and, &AffineForms::of_junction},
                                           {Op::logical_or, &AffineForms::of_junction},
                                           {Op::bitwise_and, &AffineForms::of_junction},
                                           {Op::bitwise_or, &AffineForms::of_junction},
                                           {Op::where, &AffineForms::of_choice},
                                           {Op::minimum, &AffineForms::of_bound},
                                           {Op::maximum, &AffineForms::of_bound},
                                           {Op::floor_divide, &AffineForms::of_division},
                                           {Op::remainder, &AffineForms::of_division},
                                           {Op::cat, &AffineForms::of_concatenation},
                                           {Op::embedding, &AffineForms::of_gather},
                                           {Op::sum, &AffineForms::of_reduction},
                                           {Op::amax, &AffineForms::of_reduction},
                                           {Op::amin, &AffineForms::of_reduction},
                                           {Op::any, &AffineForms::of_reduction},
                                           {Op::all, &AffineForms::of_reduction},
                                           {Op::cumulate, &AffineForms::of_reduction}};
  const auto rule = rules.find(node.op);
  return rule == rules.end() ? std::nullopt : (this->*rule->second)(node);
}

Form AffineForms::of_full(const Node& node) const {
  return everywhere(node.shape, value_of_full(node).integer);
}

Form AffineForms::of_arange(const Node& node) const {
  return AffineForm{node.shape, {node.attributes.step}, node.attributes.start};
}

Form AffineForms::of_conversion(const Node& node) const {
  const Form& from = unshaped_[node.operands[0]];
  if (!from || !is_boolean(node.dtype)) return from;
  const auto number = constant_of(*from);
  return number ? Form(everywhere(node.shape, *number != 0)) : std::nullopt;
}

Form AffineForms::of_negation(const Node& node) const {
  const auto truth = constant(node.operands[0]);
  return truth ? Form(everywhere(node.shape, 1 - *truth)) : std::nullopt;
}

Form AffineForms::of_choice(const Node& node) const {
  const auto chosen = constant(node.operands[0]);
  return chosen ? unshaped_[node.operands[*chosen != 0 ? 1 : 2]] : std::nullopt;
}

Form AffineForms::of_arithmetic(const Node& node) const {
  if (is_boolean(node.dtype)) return std::nullopt;
  const Form& a = unshaped_[node.operands[0]];
  if (!a) return std::nullopt;
  if (node.op == Op::neg) return times(*a, -1);
  const Form& b = unshaped_[node.operands[1]];
  if (!b) return std::nullopt;
  if (node.op == Op::mul) {
    if (const auto factor = constant_of(*b)) return times(*a, *factor);
    const auto factor = constant_of(*a);
    return factor ? times(*b, *factor) : std::nullopt;
  }
  const std::int64_t sign = node.op == Op::add ? 1 : -1;
  // What is the same everywhere has any shape.
  if (const auto number = constant_of(*b))
    return combined(*a, 1, everywhere(a->shape, *number), sign);
  if (const auto number = constant_of(*a))
    return combined(everywhere(b->shape, *number), 1, *b, sign);
  if (a->shape == b->shape) return combined(*a, 1, *b, sign);
  const Form &left = of(node.operands[0]), &right = of(node.operands[1]);
  return left && right ? combined(*left, 1, *right, sign) : std::nullopt;
}

// A comparison whose outcome is the same everywhere.
Form AffineForms::of_comparison(const Node& node) const {
  const DType compared = graph_.node(node.operands[0]).dtype;
  const Form distance =
      is_wanted(compared) ? difference(node.operands[0], node.operands[1]) : Form();
  if (!distance) return std::nullopt;
  const auto [least, greatest] = extremes_of(*distance);
  auto decided = [&](bool is_true, bool is_false, bool wanted) -> Form {
    if (is_true) return everywhere(node.shape, wanted ? 1 : 0);
    if (is_false) return everywhere(node.shape, wanted ? 0 : 1);
    return std::nullopt;
  };
  const bool is_apart = least > 0 || greatest < 0, is_same = least == 0 && greatest == 0;
  if (node.op == Op::eq) return decided(is_same, is_apart, true);
  if (node.op == Op::ne) return decided(is_same, is_apart, false);
  if (node.op == Op::lt) return decided(greatest < 0, least >= 0, true);
  if (node.op == Op::ge) return decided(greatest < 0, least >= 0, false);
  return decided(least > 0, greatest <= 0, node.op == Op::gt);
}

Form AffineForms::of_junction(const Node& node) const {
  if (!is_boolean(node.dtype)) return std::nullopt;
  const auto a = constant(node.operands[0]), b = constant(node.operands[1]);
  const std::int64_t decides = node.op == Op::logical_or || node.op == Op::bitwise_or ? 1 : 0;
  if (a == decides || b == decides) return everywhere(node.shape, decides);
  return a && b ? Form(everywhere(node.shape, 1 - decides)) : std::nullopt;
}

Form AffineForms::of_bound(const Node& node) const {
  const Form distance = difference(node.operands[0], node.operands[1]);
  if (!distance || is_boolean(node.dtype)) return std::nullopt;
  const auto [least, greatest] = extremes_of(*distance);
  const bool wants_less = node.op == Op::minimum;
  if (greatest <= 0) return of(node.operands[wants_less ? 0 : 1]);
  return least >= 0 ? of(node.operands[wants_less ? 1 : 0]) : std::nullopt;
}

Form AffineForms::of_division(const Node& node) const {
  const Form& number = unshaped_[node.operands[0]];
  const auto divisor = constant(node.operands[1]);
  if (!number || !divisor || *divisor <= 0) return std::nullopt;
  const auto digits = divided(*number, *divisor);
  if (!digits) return std::nullopt;
  return node.op == Op::floor_divide ? digits->quotient : digits->remainder;
}

// Parts of which each goes on where the one before it ends.
Form AffineForms::of_concatenation(const Node& node) const {
  const int axis = node.attributes.axes[0];
  Form whole;
  std::int64_t done = 0;
  for (NodeId operand : node.operands) {
    const Form& part = of(operand);
    if (!part) return std::nullopt;
    const std::int64_t size = part->shape[axis];
    if (size == 0) continue;
    if (!whole) {
      whole = part;
    } else {
      std::int64_t step = whole->strides[axis], distance = 0;
      if (__builtin_sub_overflow(part->offset, whole->offset, &distance)) return std::nullopt;
      if (done == 1) step = whole->strides[axis] = distance;
      if (size > 1 && part->strides[axis] != step) return std::nullopt;
      if (static_cast<__int128>(step) * done != distance) return std::nullopt;
      for (int other = 0; other < node.shape.rank(); ++other)
        if (other != axis && part->strides[other] != whole->strides[other]) return std::nullopt;
    }
    done += size;
  }
  if (whole) whole->shape = node.shape;
  return whole;
}

Form AffineForms::of_gather(const Node& node) const {
  const Form& table = unshaped_[node.operands[0]];
  const Form places = table ? places_of_gather(node) : Form();
  const auto coordinates = places ? coordinates_of(*places, table->shape) : std::nullopt;
  if (!coordinates) {
    // Of a table that is the same everywhere any place is as good that lies in it.
    const auto number = table ? constant_of(*table) : std::nullopt;
    const bool is_inside = places && lies_in(*places, 0, element_count(table->shape) - 1);
    return number && is_inside ? Form(everywhere(places->shape, *number)) : std::nullopt;
  }
  Form result = everywhere(places->shape, table->offset);
  for (int axis = 0; result && axis < table->shape.rank(); ++axis)
    result =
        combined(*result, 1, (*coordinates)[static_cast<std::size_t>(axis)], table->strides[axis]);
  return result;
}

Form AffineForms::of_reduction(const Node& node) const {
  const auto number = constant(node.operands[0]);
  const Shape& shape = graph_.node(node.operands[0]).shape;
  if (!number || element_count(shape) == 0) return std::nullopt;
  if (node.op == Op::cumulate) {
    if (node.attributes.reduction != ir::ReduceKind::sum) return std::nullopt;
    AffineForm result = everywhere(node.shape, *number);
    result.strides[node.attributes.axes[0]] = *number;
    return result;
  }
  if (node.op != Op::sum) return everywhere(node.shape, *number);
  return times(everywhere(node.shape, *number), element_count(shape) / element_count(node.shape));
}

}  // namespace tilewright::graph
