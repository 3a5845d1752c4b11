// einsum and tensordot: letters for axes, and contractions of pairs of tensors.
#include <algorithm>
#include <cctype>
#include <numeric>

#include "graph/functions/reducing/contraction.h"
#include "graph/functions/reducing/products.h"
#include "graph/ir/location.h"
#include "graph/tensor/functional.h"
#include "graph/tensor/precision/autocast_call.h"
#include "runtime/base/error.h"

namespace tilewright {

using graph::At;
using graph::Named;
using std::source_location;

namespace {

// An equation as the user wrote it. Axes for which "..." stands have as letters the digits, of
// which the last ones are the last axes.
struct Equation {
  std::string_view text;
  source_location where;
  std::vector<std::string> operands;
  std::string result;
  int broadcast_axes = 0;  // the most that "..." stands for

  template <typename... Parts>
  void need(bool condition, const Parts&... parts) const {
    require(condition, "[einsum] ", concat(parts...), ", in '", text, "' (at ", At{where}, ")");
  }
};

std::string without_spaces(std::string_view text) {
  std::string result;
  for (char c : text)
    if (c != ' ') result += c;
  return result;
}

constexpr std::string_view digits_of_ellipsis = "0123456789";

// The letters of one operand, with digits for its ellipsis.
std::string letters_of(const Equation& equation, const std::string& part, int rank) {
  const std::size_t dots = part.find("...");
  std::string named = part;
  if (dots != std::string::npos) named.erase(dots, 3);
  for (char c : named)
    equation.need(std::isalpha(static_cast<unsigned char>(c)) != 0, "'", std::string(1, c),
                  "' is not a letter; axes are named by letters");
  const int unnamed = rank - static_cast<int>(named.size());
  equation.need(dots == std::string::npos ? unnamed == 0 : unnamed >= 0 && unnamed <= 10,
                "an operand of ", rank, " axes is named '", part,
                "'; each axis must have a letter, or '...' stand for some");
  if (dots == std::string::npos) return named;
  return named.insert(dots, digits_of_ellipsis.substr(10 - static_cast<std::size_t>(unnamed)));
}

// The letters that occur once, in order, after the axes of the ellipsis.
std::string implied_result(const Equation& equation) {
  std::string all, result;
  for (const std::string& operand : equation.operands) all += operand;
  for (char digit : digits_of_ellipsis)
    if (all.find(digit) != std::string::npos) result += digit;
  std::string sorted = all;
  std::ranges::sort(sorted);
  for (char letter : sorted)
    if (std::isalpha(static_cast<unsigned char>(letter)) && std::ranges::count(all, letter) == 1)
      result += letter;
  return result;
}

Equation parsed(std::string_view text, const std::vector<Tensor>& operands, source_location w) {
  Equation equation{text, w, {}, {}};
  const std::string plain = without_spaces(text);
  const std::size_t arrow = plain.find("->");
  std::string inputs = plain.substr(0, arrow);
  for (std::size_t begin = 0; begin <= inputs.size();) {
    const std::size_t comma = std::min(inputs.find(',', begin), inputs.size());
    const std::size_t i = equation.operands.size();
    equation.need(i < operands.size(), "there are ", operands.size(),
                  " operands; there must be one for each part before '->'");
    const int rank = graph::tensor_of({operands[i], w}, "einsum").rank();
    equation.operands.push_back(letters_of(equation, inputs.substr(begin, comma - begin), rank));
    begin = comma + 1;
  }
  equation.need(equation.operands.size() == operands.size(), "there are ", operands.size(),
                " operands; there must be one for each part before '->'");
  equation.result = implied_result(equation);
  if (arrow == std::string::npos) return equation;
  std::string unnamed = equation.result;
  std::erase_if(unnamed, [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
  equation.result = plain.substr(arrow + 2);
  if (const std::size_t dots = equation.result.find("..."); dots != std::string::npos)
    equation.result.replace(dots, 3, unnamed);
  for (char letter : equation.result) {
    bool is_known = std::ranges::any_of(equation.operands, [&](const std::string& of) {
      return of.find(letter) != std::string::npos;
    });
    equation.need(is_known && std::ranges::count(equation.result, letter) == 1,
                  "the result names '", std::string(1, letter),
                  "', which must stand there once and in an operand");
  }
  return equation;
}

// Axes of one letter become their diagonal.
Named diagonals(Named x, const Equation& equation) {
  for (std::size_t i = 0; i < x.axes.size(); ++i)
    for (std::size_t k = x.axes.find(x.axes[i], i + 1); k != std::string::npos;
         k = x.axes.find(x.axes[i], i + 1)) {
      const int first = static_cast<int>(i), second = static_cast<int>(k);
      equation.need(x.tensor.size(first) == x.tensor.size(second), "axis '",
                    std::string(1, x.axes[i]), "' has sizes ", x.tensor.size(first), " and ",
                    x.tensor.size(second), "; an axis that an operand names twice has one size");
      std::vector<int> order;
      std::string letters;
      for (int axis = 0; axis < x.tensor.rank(); ++axis)
        if (axis != first && axis != second) {
          order.push_back(axis);
          letters += x.axes[static_cast<std::size_t>(axis)];
        }
      order.insert(order.end(), {first, second});
      letters += x.axes[i];
      Tensor aligned = graph::permute_operand(x.tensor, order, equation.where);
      x = {graph::diagonal_operand(aligned, equation.where), letters};
      i = 0;
    }
  return x;
}

}  // namespace

Tensor einsum(std::string_view text, const std::vector<Tensor>& operands, source_location w) {
  if (const graph::AutocastCall cast("einsum", w); cast.is_listed())
    return einsum(text, cast(operands), w);
  require(!operands.empty(), "[einsum] there are no operands (at ", At{w}, "); give at least one");
  Equation equation = parsed(text, operands, w);
  Named product = diagonals({operands[0], equation.operands[0]}, equation);
  for (std::size_t i = 1; i < operands.size(); ++i) {
    std::string kept = equation.result;
    for (std::size_t k = i + 1; k < operands.size(); ++k) kept += equation.operands[k];
    Named next = diagonals({operands[i], equation.operands[i]}, equation);
    require(product.tensor.dtype() == next.tensor.dtype(), "[einsum] operand ", i, " is ",
            next.tensor.dtype(), ", those before are ", product.tensor.dtype(), " (at ", At{w},
            "); they must have one dtype: convert with to()");
    product = graph::contracted(product, next, kept, "einsum", w);
  }
  product = graph::summed(product, equation.result, w);
  return graph::ordered(product, equation.result, w);
}

Tensor tensordot(const TensorOperand& a, const Tensor& b, std::vector<int> axes_of_a,
                 std::vector<int> axes_of_b) {
  if (const graph::AutocastCall cast("tensordot", a.where, {a.tensor, b}); cast.is_listed())
    return tensordot(cast(a), cast(b), std::move(axes_of_a), std::move(axes_of_b));
  source_location w = a.where;
  const Tensor x = graph::tensor_of(a, "tensordot"), y = graph::tensor_of({b, w}, "tensordot");
  require(axes_of_a.size() == axes_of_b.size(), "[tensordot] ", axes_of_a.size(), " axes of a and ",
          axes_of_b.size(), " of b are named (at ", At{w}, "); they go in pairs");
  require(x.rank() + y.rank() <= 26, "[tensordot] a and b have ", x.rank() + y.rank(), " axes (at ",
          At{w}, "); there may be 26");
  std::string of_a(static_cast<std::size_t>(x.rank()), 'a'),
      of_b(static_cast<std::size_t>(y.rank()), 'a');
  std::iota(of_a.begin(), of_a.end(), 'a');
  std::iota(of_b.begin(), of_b.end(), static_cast<char>('a' + x.rank()));
  std::string kept = of_a + of_b;
  for (std::size_t i = 0; i < axes_of_a.size(); ++i) {
    const auto from =
        static_cast<std::size_t>(graph::axis_of(axes_of_a[i], x.shape(), "tensordot", w));
    const auto to =
        static_cast<std::size_t>(graph::axis_of(axes_of_b[i], y.shape(), "tensordot", w));
    std::erase(kept, of_a[from]);
    std::erase(kept, of_b[to]);
    of_b[to] = of_a[from];
  }
  Named product = graph::contracted({x, of_a}, {y, of_b}, kept, "tensordot", w);
  return graph::ordered(product, kept, w);
}
Tensor tensordot(const TensorOperand& a, const Tensor& b, int axes) {
  const int rank_a = graph::tensor_of(a, "tensordot").rank();
  const int rank_b = graph::tensor_of({b, a.where}, "tensordot").rank();
  require(axes >= 0 && axes <= std::min(rank_a, rank_b), "[tensordot] ", axes,
          " axes are summed over (at ", At{a.where}, "); there must be as many of either operand");
  std::vector<int> last(static_cast<std::size_t>(axes)), first = last;
  std::iota(last.begin(), last.end(), rank_a - axes);
  std::iota(first.begin(), first.end(), 0);
  return tensordot(a, b, last, first);
}

namespace {

// The operand's own axes, as letters of those of the product.
Named placed(const Tensor& x, std::vector<int> put_in, int rank, source_location w) {
  for (int& axis : put_in) axis = axis < 0 ? axis + rank : axis;
  std::string letters;
  for (int axis = 0; axis < rank; ++axis)
    if (std::ranges::find(put_in, axis) == put_in.end()) letters += static_cast<char>('a' + axis);
  require(static_cast<int>(letters.size()) == x.rank(), "[trilinear] an operand of ", x.rank(),
          " axes and ", put_in.size(), " put in does not have the ", rank, " of the product (at ",
          At{w}, "); each operand must have as many with those put in");
  return {x, letters};
}

}  // namespace

Tensor trilinear(const TensorOperand& a, const Tensor& b, const Tensor& c,
                 const TrilinearAxes& axes) {
  source_location w = a.where;
  const Tensor x = graph::tensor_of(a, "trilinear"), y = graph::tensor_of({b, w}, "trilinear"),
               z = graph::tensor_of({c, w}, "trilinear");
  const int rank = x.rank() + static_cast<int>(axes.expand_a.size());
  std::string kept;
  for (int axis = 0; axis < rank; ++axis) {
    auto is_it = [&](int summed) { return summed == axis || summed + rank == axis; };
    if (std::ranges::none_of(axes.summed, is_it)) kept += static_cast<char>('a' + axis);
  }
  Named third = placed(z, axes.expand_c, rank, w);
  Named first =
      graph::contracted(placed(x, axes.expand_a, rank, w), placed(y, axes.expand_b, rank, w),
                        kept + third.axes, "trilinear", w);
  Named product = graph::contracted(first, third, kept, "trilinear", w);
  return graph::ordered(graph::summed(product, kept, w), kept, w);
}

}  // namespace tilewright
