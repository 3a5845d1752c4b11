#include "graph/functions/linear_algebra/dense/diagonal_iterations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tilewright::graph::dense {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr std::int64_t most_steps = 60;  // for each value; two or three are usual

double greatest_of(std::span<const double> a, std::span<const double> b) {
  double greatest = 0;
  for (double x : a) greatest = std::max(greatest, std::abs(x));
  for (double x : b) greatest = std::max(greatest, std::abs(x));
  return greatest;
}

// The smaller singular value of [f g; 0 h] (LAPACK's dlas2).
double smaller_singular_value(double f, double g, double h) {
  const double least = std::min(std::abs(f), std::abs(h));
  const double most = std::max(std::abs(f), std::abs(h)), between = std::abs(g);
  if (least == 0) return 0;
  const double sum = 1 + least / most, difference = (most - least) / most;
  if (between < most) {
    const double square = (between / most) * (between / most);
    return least * 2 /
           (std::sqrt(sum * sum + square) + std::sqrt(difference * difference + square));
  }
  const double ratio = most / between;
  if (ratio == 0) return least * most / between;
  const double a = sum * ratio, b = difference * ratio;
  return 2 * least / (std::sqrt(1 + a * a) + std::sqrt(1 + b * b)) * ratio;
}

// A step on the block of rows [first, last] (J. Demmel and W. Kahan, Accurate singular values of
// bidiagonal matrices, 1990). Without a shift, a zero on the diagonal moves to the end.
struct BidiagonalStep {
  std::span<double> d, e;
  std::vector<Rotation> of_rows, of_columns;

  void shifted(std::size_t first, std::size_t last, double shift) {
    double f = (std::abs(d[first]) - shift) * (std::copysign(1, d[first]) + shift / d[first]);
    double g = e[first];
    for (std::size_t i = first; i < last; ++i) {
      const Turn right(f, g);
      if (i > first) e[i - 1] = right.length;
      const auto [c, s] = right.by;
      const Turn left(c * d[i] + s * e[i], s * d[i + 1]);
      const double above = c * e[i] - s * d[i], below = c * d[i + 1];
      const auto [cl, sl] = left.by;
      d[i] = left.length;
      f = cl * above + sl * below;
      d[i + 1] = cl * below - sl * above;
      if (i + 1 < last) {
        g = sl * e[i + 1];
        e[i + 1] *= cl;
      }
      of_columns.push_back(right.by);
      of_rows.push_back(left.by);
    }
    e[last - 1] = f;
  }
  void unshifted(std::size_t first, std::size_t last) {
    Rotation right, left;
    for (std::size_t i = first; i < last; ++i) {
      const Turn turn(d[i] * right.cosine, e[i]);
      if (i > first) e[i - 1] = left.sine * turn.length;
      right = turn.by;
      const Turn next(left.cosine * turn.length, d[i + 1] * right.sine);
      left = next.by;
      d[i] = next.length;
      of_columns.push_back(right);
      of_rows.push_back(left);
    }
    const double h = d[last] * right.cosine;
    d[last] = h * left.cosine;
    e[last - 1] = h * left.sine;
  }
};

// A step on the rows [first, last] of a symmetric tridiagonal matrix, with Wilkinson's shift.
void tridiagonal_step(std::span<double> d, std::span<double> e, std::size_t first, std::size_t last,
                      std::vector<Rotation>& rotations) {
  const double half = (d[last - 1] - d[last]) / 2, beside = e[last - 1];
  const double shift =
      d[last] - beside * (beside / (half + std::copysign(std::hypot(half, beside), half)));
  double x = d[first] - shift, z = e[first];
  for (std::size_t k = first; k < last; ++k) {
    const Turn turn(x, z);
    const auto [c, s] = turn.by;
    if (k > first) e[k - 1] = turn.length;
    const double a = d[k], b = e[k], next = d[k + 1];
    const double upper = c * a + s * b, lower = c * b + s * next;
    d[k] = c * upper + s * lower;
    e[k] = c * lower - s * upper;
    d[k + 1] = c * (c * next - s * b) - s * (c * b - s * a);
    x = e[k];
    if (k + 1 < last) {
      z = s * e[k + 1];
      e[k + 1] *= c;
    }
    rotations.push_back(turn.by);
  }
}

// The first row of the block that ends in row `last` and has no zero beside its diagonal.
std::size_t start_of_block(std::span<const double> beside, std::size_t last) {
  std::size_t first = last;
  while (first > 0 && beside[first - 1] != 0) --first;
  return first;
}

}  // namespace

bool find_singular_values(std::span<double> diagonal, std::span<double> above, RotatedColumns* left,
                          RotatedColumns* right) {
  BidiagonalStep step{diagonal, above, {}, {}};
  const double negligible = epsilon * greatest_of(diagonal, above);
  const auto most = static_cast<std::int64_t>(diagonal.size()) * most_steps;
  std::int64_t steps = 0;
  for (std::size_t last = diagonal.size(); last-- > 1;) {
    for (;; ++steps) {
      for (double& x : above.first(last))
        if (std::abs(x) <= negligible) x = 0;
      if (above[last - 1] == 0) break;
      if (steps == most) return false;
      const std::size_t first = start_of_block(above, last);
      bool has_zero = false;
      for (double& x : diagonal.subspan(first, last + 1 - first)) {
        if (std::abs(x) <= negligible) x = 0;
        has_zero |= x == 0;
      }
      const double shift =
          has_zero ? 0
                   : smaller_singular_value(diagonal[last - 1], above[last - 1], diagonal[last]);
      const double part = has_zero ? 0 : shift / diagonal[first];
      step.of_rows.clear();
      step.of_columns.clear();
      if (part * part < epsilon)
        step.unshifted(first, last);
      else
        step.shifted(first, last, shift);
      if (left != nullptr) left->rotate(static_cast<std::int64_t>(first), step.of_rows);
      if (right != nullptr) right->rotate(static_cast<std::int64_t>(first), step.of_columns);
    }
  }
  for (RotatedColumns* columns : {left, right})
    if (columns != nullptr) columns->finish();
  return true;
}

bool find_eigenvalues(std::span<double> diagonal, std::span<double> beside,
                      RotatedColumns* vectors) {
  std::vector<Rotation> rotations;
  const double least = std::numeric_limits<double>::min();
  const auto most = static_cast<std::int64_t>(diagonal.size()) * most_steps;
  std::int64_t steps = 0;
  for (std::size_t last = diagonal.size(); last-- > 1;) {
    for (;; ++steps) {
      for (std::size_t i = 0; i < last; ++i) {
        const double around = std::abs(diagonal[i]) + std::abs(diagonal[i + 1]);
        if (std::abs(beside[i]) <= epsilon * around || std::abs(beside[i]) < least) beside[i] = 0;
      }
      if (beside[last - 1] == 0) break;
      if (steps == most) return false;
      const std::size_t first = start_of_block(beside, last);
      rotations.clear();
      tridiagonal_step(diagonal, beside, first, last, rotations);
      if (vectors != nullptr) vectors->rotate(static_cast<std::int64_t>(first), rotations);
    }
  }
  if (vectors != nullptr) vectors->finish();
  return true;
}

}  // namespace tilewright::graph::dense
