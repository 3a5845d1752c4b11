// A transform in steps, one for each factor of the number of points.
//
// Before a step the elements lie as [outer, rest, done]: `done` counts results of the steps so far,
// times what lies within the axis; `rest` = factor * next is what is left to be transformed. The
// step transforms over the factor, multiplies by roots of unity, and makes of each place of `next`
// as many results as the factor, slower than those that are there.
#include "graph/functions/convolving/padding.h"
#include "graph/functions/fourier/steps.h"

namespace tilewright::transforms {
namespace {

constexpr std::int64_t longest_sum = 13;  // factors beyond are products by matrices

struct FactorStep {
  std::int64_t factor, next, kept;  // results of the factor that are wanted
  bool is_last;
};

const Tensor& any_part(const ComplexParts& x) { return x.real.defined() ? x.real : x.imaginary; }

template <typename F>
ComplexParts each(const ComplexParts& x, const F& function) {
  auto part = [&](const Tensor& t) { return t.defined() ? function(t) : Tensor(); };
  return {part(x.real), part(x.imaginary)};
}

// Roots that the results `first` to `end` of the factor are multiplied by, [end - first, next, 1],
// or for one [next, 1].
ComplexParts roots(const FactorStep& step, std::int64_t first, std::int64_t end, double sign,
                   DType dtype) {
  std::vector<double> cosines, sines;
  for (std::int64_t k = first; k < end; ++k)
    for (std::int64_t j = 0; j < step.next; ++j) {
      const Root root = root_of_unity(j * k, step.factor * step.next, sign);
      cosines.push_back(root.cosine);
      sines.push_back(root.sine);
    }
  const Shape shape = end - first == 1 ? Shape{step.next, 1} : Shape{end - first, step.next, 1};
  return {constant_of(cosines, shape, dtype), constant_of(sines, shape, dtype)};
}

// The given elements from `first` on, as many as the axis `next`; undefined beyond them.
Tensor piece(const Tensor& x, std::int64_t first, std::int64_t next) {
  const std::int64_t given = x.size(1);
  if (first >= given) return {};
  Tensor some = x.slice(1, first, first + next);
  return first + next <= given ? some : pad(some, {0, 0, 0, first + next - given});
}

ComplexParts weighted(const ComplexParts& x, std::int64_t first, const Transform& transform) {
  if (!transform.is_mirrored || !any_part(x).defined()) return x;
  const std::int64_t count = any_part(x).size(1);
  std::vector<double> weights;
  for (std::int64_t i = 0; i < count; ++i) weights.push_back(transform.weight(first + i));
  const Tensor factor = constant_of(weights, {count, 1}, any_part(x).dtype());
  return each(x, [&](const Tensor& part) { return part * factor; });
}

// Undefined parts as zeros.
Tensor stacked(const ComplexTerms& terms, Tensor ComplexParts::*part, int axis,
               const Tensor& like) {
  std::vector<Tensor> parts;
  for (const ComplexParts& term : terms) {
    const Tensor& own = term.*part;
    parts.push_back((own.defined() ? own : zeros(like.shape(), like.dtype())).unsqueeze(axis));
  }
  return cat(parts, axis);
}

// [outer, next, done] of each, beside each other as [outer, next, kept * done]. Where nothing lies
// within the axis, results of one kind are written in a row, and the next step reads across them.
ComplexParts joined(const ComplexTerms& terms, const FactorStep& step, bool only_real) {
  Tensor like;
  for (const ComplexParts& term : terms)
    if (any_part(term).defined()) like = any_part(term);
  const std::int64_t outer = like.size(0), done = like.size(2);
  auto join = [&](Tensor ComplexParts::*part) {
    if (done == 1 && !step.is_last)
      return stacked(terms, part, 1, like).reshape({outer, step.kept, step.next}).transpose(1, 2);
    return stacked(terms, part, 2, like).reshape({outer, step.next, step.kept * done});
  };
  if (only_real) return {join(&ComplexParts::real), {}};
  return {join(&ComplexParts::real), join(&ComplexParts::imaginary)};
}

ComplexParts step_of_sums(const ComplexParts& x, const FactorStep& step, const Transform& transform,
                          bool is_first) {
  const DType dtype = any_part(x).dtype();
  ComplexTerms terms;
  for (std::int64_t j = 0; j < step.factor; ++j) {
    terms.push_back(each(x, [&](const Tensor& t) { return piece(t, j * step.next, step.next); }));
    if (is_first) terms.back() = weighted(terms.back(), j * step.next, transform);
  }
  terms = transform_of_terms(terms, transform.sign);
  terms.resize(static_cast<std::size_t>(step.kept));
  for (std::int64_t k = 0; k < step.kept; ++k) {
    ComplexParts& term = terms[static_cast<std::size_t>(k)];
    if (step.is_last)
      term = times(term, Root{transform.scale, 0});
    else if (k > 0)
      term = times(term, roots(step, k, k + 1, transform.sign, dtype));
  }
  return joined(terms, step, step.is_last && transform.is_real);
}

ComplexParts step_by_matrix(ComplexParts x, const FactorStep& step, const Transform& transform,
                            bool is_first) {
  const std::int64_t outer = any_part(x).size(0), done = any_part(x).size(2);
  const DType dtype = any_part(x).dtype();
  const std::int64_t missing = step.factor * step.next - any_part(x).size(1);
  if (is_first) x = weighted(x, 0, transform);
  x = each(x, [&](const Tensor& t) {
    Tensor whole = missing > 0 ? pad(t, {0, 0, 0, missing}) : t;
    return whole.reshape({outer, step.factor, step.next * done});
  });
  Transform own{step.factor, transform.sign, step.is_last ? transform.scale : 1, step.kept};
  own.is_real = step.is_last && transform.is_real;
  ComplexParts y = each(by_matrix(x, own), [&](const Tensor& t) {
    return t.reshape({outer, step.kept, step.next, done});
  });
  if (!step.is_last) y = times(y, roots(step, 0, step.kept, transform.sign, dtype));
  return each(y, [&](const Tensor& t) {
    return t.transpose(1, 2).reshape({outer, step.next, step.kept * done});
  });
}

}  // namespace

ComplexParts by_factors(const ComplexParts& x, const Transform& transform,
                        const std::vector<std::int64_t>& factors) {
  const std::int64_t outer = any_part(x).size(0), inner = any_part(x).size(2);
  ComplexParts y = x;
  std::int64_t next = transform.points;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const std::int64_t factor = factors[i];
    const bool is_last = i + 1 == factors.size();
    next /= factor;
    const std::int64_t faster = transform.points / factor;  // results that vary before the last
    const std::int64_t kept = is_last ? (transform.wanted + faster - 1) / faster : factor;
    const FactorStep step{factor, next, kept, is_last};
    y = factor > longest_sum ? step_by_matrix(y, step, transform, i == 0)
                             : step_of_sums(y, step, transform, i == 0);
  }
  return each(y, [&](const Tensor& t) {
    return t.reshape({outer, t.count() / (outer * inner), inner}).slice(1, 0, transform.wanted);
  });
}

}  // namespace tilewright::transforms
