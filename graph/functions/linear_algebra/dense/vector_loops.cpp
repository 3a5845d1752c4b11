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
    upper = cosine * next_upper - sine * upper;
    lower = cosine * next_lower - sine * lower;
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

}  // namespace tilewright::graph::dense
