// The table from PyTorch's operators to their implementations: by the name of an overload, as
// exported programs have it, a function of a call. Each family of operators is a file of rows.
//
// An operator has several names, of which one has a row; names.cpp has the rules:
//
//   aten.multiply.Tensor     another name for aten.mul.Tensor
//   aten.slice_copy.Tensor   aten.slice.Tensor: whether a result is a view matters to writes alone
//   aten.relu_.default       aten.relu.default, whose result is written to the first argument
//   aten.div.out             aten.div.Tensor, whose result is written to the last argument
//
// A program that was exported without run_decompositions() writes in place, also through views. So
// what PyTorch gives memory of its own must have it in such a program too (`must_own`), where our
// function may give an operand itself, or a constant that is one number for all elements.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "models/exported/aten/call.h"
#include "models/exported/aten/names.h"

namespace tilewright::exported {

struct Operator {
  // `compute` is a lambda that takes a Call and gives a Tensor, a number, a pair or vector of
  // Tensors, or Results.
  template <typename F>
  requires(!std::is_pointer_v<F>) constexpr Operator(std::string_view name, F)
      : name(name), compute([](const Call& call) { return as_results(F{}(call)); }) {}

  std::string_view name;
  Results (*compute)(const Call& call);

 private:
  static Results as_results(Results results) { return results; }
  static Results as_results(Value value) {
    Results results;
    results.push_back(std::move(value));
    return results;
  }
  static Results as_results(std::pair<Tensor, Tensor> both) {
    return {Value(std::move(both.first)), Value(std::move(both.second))};
  }
  static Results as_results(std::vector<Tensor> tensors) {
    return {std::make_move_iterator(tensors.begin()), std::make_move_iterator(tensors.end())};
  }
};

// A function as such a lambda.
template <auto function>
inline constexpr auto by = [](const Call& call) { return function(call); };

// The meaning of an operator with a complex argument (complex/meanings.cpp).
struct ComplexMeaning {
  enum class How : std::uint8_t {
    none,
    same,                            // the same as the row does with any real values
    row,                             // a function of its own
    of_parts,                        // linear: the row's result for either part
    of_real_parts,                   // the sizes of a tensor, say: of the real one
    of_real_part_without_imaginary,  // ones: the imaginary part of the result is 0
    of_magnitudes,
    of_truth  // whether elements are not 0
  };
  How how = How::none;
  const Operator* row = nullptr;
};
// `row` is a name in the table, or one for complex operands alone; the former are known of reals.
ComplexMeaning complex_meaning(std::string_view row, bool is_known_of_reals);

// An operator as a program names it.
class NamedOperator {
 public:
  // The rows for real values, and for complex ones; each may be missing, but not both.
  NamedOperator(const Operator* row, const ComplexMeaning& complex, Written written, bool must_own)
      : row_(row), complex_(complex), written_(written), must_own_(must_own) {}

  // True if results are written to arguments, which are the results then.
  bool writes() const { return written_ != Written::nothing; }
  // The values that a node of this operator writes to, in the order of its results.
  std::vector<ValueId> written_by(const Node& node) const;
  // True if it may have arguments that are complex.
  bool takes_complex() const { return complex_.how != ComplexMeaning::How::none; }
  // `program_writes`: whether an operator of the program writes in place. Raises `Error` as the
  // row's function does, and where a result has not the shape of its target.
  Results compute(const Call& call, bool program_writes) const;

  bool is_known() const { return row_ != nullptr || takes_complex(); }

 private:
  Results real_results(const Call& call) const;
  Results complex_results(const Call& call) const;
  Results of_part(const Call& call, Part part) const;

  const Operator* row_;
  ComplexMeaning complex_;
  Written written_;
  bool must_own_;
};

// The operator of that name, "aten.add.Tensor", or none.
std::optional<NamedOperator> find_operator(std::string_view name);
// The names of all families, for tests and reports.
std::vector<std::string_view> operator_names();

// All of the following.
std::vector<std::span<const Operator>> operator_families();

// The families, each defined in the file of its name in ops/.
std::span<const Operator> arrangement_operators();
std::span<const Operator> arithmetic_operators();
std::span<const Operator> composite_operators();
std::span<const Operator> control_operators();
std::span<const Operator> convolution_operators();
std::span<const Operator> creation_operators();
std::span<const Operator> function_operators();
std::span<const Operator> gradient_operators();
std::span<const Operator> histogram_operators();
std::span<const Operator> indexing_operators();
std::span<const Operator> joining_operators();
std::span<const Operator> linear_algebra_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> matrix_norm_operators();
std::span<const Operator> normalisation_operators();
std::span<const Operator> ordering_operators();
std::span<const Operator> pooling_operators();
std::span<const Operator> product_operators();
std::span<const Operator> quantile_operators();
std::span<const Operator> quantisation_operators();
std::span<const Operator> random_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> reinterpretation_operators();
std::span<const Operator> resampling_operators();
std::span<const Operator> run_operators();
std::span<const Operator> scan_operators();
std::span<const Operator> scatter_operators();
std::span<const Operator> signal_window_operators();
std::span<const Operator> size_operators();
std::span<const Operator> special_operators();
std::span<const Operator> vision_operators();

// Those in complex/: of real operands that give complex ones, and the rows for complex operands.
std::span<const Operator> complex_creation_operators();
std::span<const Operator> fourier_operators();
std::span<const Operator> spectrum_operators();
std::span<const Operator> short_time_operators();
std::span<const Operator> complex_operators();
std::span<const Operator> complex_function_operators();
std::span<const Operator> complex_product_operators();
std::span<const Operator> complex_factor_operators();
std::span<const Operator> complex_convolution_operators();

}  // namespace tilewright::exported
