#include "graph/functions/linear_algebra/dense/vector_loops.h"

#include <cstring>

// Sanitizers start after the functions that choose.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TILEWRIGHT_FOR_EACH_PROCESSOR \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TILEWRIGHT_FOR_EACH_PROCESSOR
#endif

namespace tilewright::graph::dense {
namespace {

// For processors with shorter registers the compiler divides it.
using Pack = double __attribute__((vector_size(pack * sizeof(double))));

}  // namespace

TILEWRIGHT_FOR_EACH_PROCESSOR void rotate_rows(double* column, std::int64_t step,
                                               const Rotation* by, std::int64_t count) {
  Pack upper, lower, next_upper, next_lower;
  std::memcpy(&upper, column, sizeof(Pack));
  std::memcpy(&lower, column + pack, sizeof(Pack));
  for (std::int64_t k = 0; k < count; ++k, column += step) {
    const double cosine = by[k].cosine, sine = by[k].sine;
    std::memcpy(&next_upper, column + step, sizeof(Pack));
    std::memcpy(&next_lower, column + step + pack, sizeof(Pack));
    const Pack first = cosine * upper + sine * next_upper;
    const Pack second = cosine * lower + sine * next_lower;
    // In this order the compiler makes one fused operation that waits for the column before.
    const Pack upper_part = sine * upper, lower_part = sine * lower;
    upper = cosine * next_upper - upper_part;
    lower = cosine * next_lower - lower_part;
    std::memcpy(column, &first, sizeof(Pack));
    std::memcpy(column + pack, &second, sizeof(Pack));
  }
  std::memcpy(column, &upper, sizeof(Pack));
  std::memcpy(column + pack, &lower, sizeof(Pack));
}

TILEWRIGHT_FOR_EACH_PROCESSOR void multiply_rows(const double* a, const double* b,
                                                 std::int64_t step, std::int64_t depth,
                                                 double* sums) {
  Pack upper[columns_at_once] = {}, lower[columns_at_once] = {};
  for (std::int64_t k = 0; k < depth; ++k) {
    Pack a_upper, a_lower;
    std::memcpy(&a_upper, a + k * rows_at_once, sizeof(Pack));
    std::memcpy(&a_lower, a + k * rows_at_once + pack, sizeof(Pack));
    for (std::int64_t j = 0; j < columns_at_once; ++j) {
      const double factor = b[k + j * step];
      upper[j] += a_upper * factor;
      lower[j] += a_lower * factor;
    }
  }
  for (std::int64_t j = 0; j < columns_at_once; ++j) {
    std::memcpy(sums + j * rows_at_once, &upper[j], sizeof(Pack));
    std::memcpy(sums + j * rows_at_once + pack, &lower[j], sizeof(Pack));
  }
}

TILEWRIGHT_FOR_EACH_PROCESSOR void reflect_columns(const double* v, std::int64_t rows, double tau,
                                                   double* columns, std::int64_t step,
                                                   std::int64_t count) {
  const std::int64_t whole = rows / rows_at_once * rows_at_once;
  for (std::int64_t j = 0; j < count; ++j) {
    double* column = columns + j * step;
    Pack upper = {}, lower = {}, x, y;
    for (std::int64_t i = 0; i < whole; i += rows_at_once) {
      std::memcpy(&x, v + i, sizeof(Pack));
      std::memcpy(&y, column + i, sizeof(Pack));
      upper += x * y;
      std::memcpy(&x, v + i + pack, sizeof(Pack));
      std::memcpy(&y, column + i + pack, sizeof(Pack));
      lower += x * y;
    }
    double dot = 0;
    for (std::int64_t i = whole; i < rows; ++i) dot += v[i] * column[i];
    upper += lower;
    for (std::int64_t lane = 0; lane < pack; ++lane) dot += upper[lane];
    const double factor = tau * dot;
    for (std::int64_t i = 0; i < whole; i += pack) {
      std::memcpy(&x, v + i, sizeof(Pack));
      std::memcpy(&y, column + i, sizeof(Pack));
      y -= factor * x;
      std::memcpy(column + i, &y, sizeof(Pack));
    }
    for (std::int64_t i = whole; i < rows; ++i) column[i] -= factor * v[i];
  }
}

TILEWRIGHT_FOR_EACH_PROCESSOR void update_and_multiply(double* columns, std::int64_t step,
                                                       std::int64_t rows, std::int64_t count,
                                                       const OuterProduct& first,
                                                       const OuterProduct& second, const double* x,
                                                       double* dots) {
  std::int64_t j = 0;
  for (; j + columns_at_once <= count; j += columns_at_once) {
    Pack sums[columns_at_once] = {};
    for (std::int64_t i = 0; i < rows; i += pack) {
      Pack a, b, by;
      std::memcpy(&a, first.of_rows + i, sizeof(Pack));
      std::memcpy(&b, second.of_rows + i, sizeof(Pack));
      std::memcpy(&by, x + i, sizeof(Pack));
      for (std::int64_t k = 0; k < columns_at_once; ++k) {
        double* place = columns + (j + k) * step + i;
        Pack c;
        std::memcpy(&c, place, sizeof(Pack));
        c -= a * first.of_columns[j + k];
        c -= b * second.of_columns[j + k];
        std::memcpy(place, &c, sizeof(Pack));
        sums[k] += c * by;
      }
    }
    for (std::int64_t k = 0; k < columns_at_once; ++k) {
      double dot = 0;
      for (std::int64_t lane = 0; lane < pack; ++lane) dot += sums[k][lane];
      dots[j + k] = dot;
    }
  }
  for (; j < count; ++j) {
    double dot = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      double& c = columns[j * step + i];
      c -= first.of_rows[i] * first.of_columns[j] + second.of_rows[i] * second.of_columns[j];
      dot += c * x[i];
    }
    dots[j] = dot;
  }
}

TILEWRIGHT_FOR_EACH_PROCESSOR void add_columns(const double* columns, std::int64_t step,
                                               std::int64_t rows, std::int64_t count,
                                               const double* factors, double* sums) {
  std::memset(sums, 0, static_cast<std::size_t>(rows) * sizeof(double));
  std::int64_t j = 0;
  for (; j + columns_at_once <= count; j += columns_at_once)
    for (std::int64_t i = 0; i < rows; i += pack) {
      Pack sum, c;
      std::memcpy(&sum, sums + i, sizeof(Pack));
      for (std::int64_t k = 0; k < columns_at_once; ++k) {
        std::memcpy(&c, columns + (j + k) * step + i, sizeof(Pack));
        sum += c * factors[j + k];
      }
      std::memcpy(sums + i, &sum, sizeof(Pack));
    }
  for (; j < count; ++j)
    for (std::int64_t i = 0; i < rows; ++i) sums[i] += columns[j * step + i] * factors[j];
}

}  // namespace tilewright::graph::dense
