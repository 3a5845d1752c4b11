// The loops that take most of the time of factorisations, compiled for several kinds of processors,
// of which the one at hand is chosen when the program starts.
//
// Apart from the code around them, which has the vectors that all processors share, as Eigen's has:
// AVX-512 makes these loops four times as fast. They are no templates and call none, so that no
// code for one kind of processors is merged with code for all.
#pragma once

#include <cstdint>

namespace tilewright::graph::dense {

struct Rotation {
  double cosine = 1, sine = 0;
};

constexpr std::int64_t pack = 8;                 // doubles of a register of AVX-512
constexpr std::int64_t rows_at_once = 2 * pack;  // that each loop goes through columns with
constexpr std::int64_t columns_at_once = 4;

// Rotates `rows_at_once` rows of the columns k and k + 1, `step` elements apart, for each k from
// `column` on. Column k becomes cosine * k + sine * (k + 1), and the other
// cosine * (k + 1) - sine * k.
void rotate_rows(double* column, std::int64_t step, const Rotation* by, std::int64_t count);

// sums [columns_at_once][rows_at_once] = the rows a [depth][rows_at_once] times columns of b, of
// `depth` elements each, `step` apart.
void multiply_rows(const double* a, const double* b, std::int64_t step, std::int64_t depth,
                   double* sums);

// Each of `count` columns, of `rows` elements and `step` apart, less tau (v . column) v.
void reflect_columns(const double* v, std::int64_t rows, double tau, double* columns,
                     std::int64_t step, std::int64_t count);

// A vector with an element for each row, and one with an element for each column.
struct OuterProduct {
  const double *of_rows, *of_columns;
};
// Subtracts both products from columns, `step` apart, of `rows` elements, a multiple of `pack`.
// dots[j] becomes the product of column j and x.
void update_and_multiply(double* columns, std::int64_t step, std::int64_t rows, std::int64_t count,
                         const OuterProduct& first, const OuterProduct& second, const double* x,
                         double* dots);
// sums [rows] = the sum of the columns, each times its factor; likewise.
void add_columns(const double* columns, std::int64_t step, std::int64_t rows, std::int64_t count,
                 const double* factors, double* sums);

}  // namespace tilewright::graph::dense
