#include "models/exported/aten/names.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace tilewright::exported {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

// Names of one function, whose overloads have the same names and arguments.
constexpr auto same_functions = std::to_array<Pair>({
    {"absolute", "abs"},
    {"arccos", "acos"},
    {"arccosh", "acosh"},
    {"arcsin", "asin"},
    {"arcsinh", "asinh"},
    {"arctan", "atan"},
    {"arctan2", "atan2"},
    {"arctanh", "atanh"},
    {"clip", "clamp"},
    {"concat", "cat"},
    {"concatenate", "cat"},
    {"divide", "div"},
    {"fix", "trunc"},
    {"ger", "outer"},
    {"greater", "gt"},
    {"greater_equal", "ge"},
    {"less", "lt"},
    {"less_equal", "le"},
    {"linalg_matmul", "matmul"},
    {"matrix_exp", "linalg_matrix_exp"},
    {"moveaxis", "movedim"},
    {"multiply", "mul"},
    {"negative", "neg"},
    {"not_equal", "ne"},
    {"row_stack", "vstack"},
    {"special_digamma", "digamma"},
    {"special_erf", "erf"},
    {"special_erfc", "erfc"},
    {"special_erfinv", "erfinv"},
    {"special_exp2", "exp2"},
    {"special_expit", "sigmoid"},
    {"special_expm1", "expm1"},
    {"special_gammainc", "igamma"},
    {"special_gammaincc", "igammac"},
    {"special_gammaln", "lgamma"},
    {"special_i0", "i0"},
    {"special_log1p", "log1p"},
    {"special_logit", "logit"},
    {"special_logsumexp", "logsumexp"},
    {"special_modified_bessel_i0", "i0"},
    {"special_modified_bessel_i1", "special_i1"},
    {"special_multigammaln", "mvlgamma"},
    {"special_polygamma", "polygamma"},
    {"special_psi", "digamma"},
    {"special_round", "round"},
    {"special_sinc", "sinc"},
    {"subtract", "sub"},
    {"trapz", "trapezoid"},
    {"true_divide", "div"},
    {"__and__", "bitwise_and"},
    {"__iand__", "bitwise_and_"},
    {"__ilshift__", "bitwise_left_shift_"},
    {"__ior__", "bitwise_or_"},
    {"__irshift__", "bitwise_right_shift_"},
    {"__ixor__", "bitwise_xor_"},
    {"__lshift__", "bitwise_left_shift"},
    {"__or__", "bitwise_or"},
    {"__rshift__", "bitwise_right_shift"},
    {"__xor__", "bitwise_xor"},
});

// Single overloads.
constexpr auto same_overloads = std::to_array<Pair>({
    {"aten.floor_divide_.Tensor", "aten.floor_divide_.default"},
    {"aten.normal_.default", "aten.normal_functional_.default"},
    {"aten.pow_.Scalar", "aten.pow_.Tensor_Scalar"},
    {"aten.pow_.Tensor", "aten.pow_.Tensor_Tensor"},
    {"aten.special_log_softmax.default", "aten.log_softmax.int"},
    {"aten.special_softmax.default", "aten.softmax.int"},
    {"aten.special_xlogy.default", "aten.xlogy.Tensor"},
    {"aten.special_xlogy.other_scalar", "aten.xlogy.Scalar_Other"},
    {"aten.special_xlogy.self_scalar", "aten.xlogy.Scalar_Self"},
    {"aten.transpose_.default", "aten.transpose_.int"},
});

// Overloads that write to a tensor that is given, where neither the end of their name nor "default"
// is what they are otherwise.
constexpr auto same_but_out = std::to_array<Pair>({
    {"add.out", "Tensor"},
    {"all.all_out", "default"},
    {"all.out", "dim"},
    {"any.all_out", "default"},
    {"any.out", "dim"},
    {"arange.start_out", "start_step"},
    {"copysign.out", "Tensor"},
    {"div.out", "Tensor"},
    {"div.out_mode", "Tensor_mode"},
    {"ldexp.out", "Tensor"},
    {"linspace.Scalar_Tensor_out", "Tensor_Tensor"},
    {"linspace.Tensor_Scalar_out", "Tensor_Tensor"},
    {"linspace.out", "Tensor_Tensor"},
    {"logspace.Scalar_Tensor_out", "Tensor_Tensor"},
    {"logspace.Tensor_Scalar_out", "Tensor_Tensor"},
    {"logspace.out", "Tensor_Tensor"},
    {"max.dim_max", "dim"},
    {"max.out", "other"},
    {"max.unary_out", "default"},
    {"mean.dtype_out", "default"},
    {"mean.out", "dim"},
    {"median.dim_values", "dim"},
    {"min.dim_min", "dim"},
    {"min.out", "other"},
    {"min.unary_out", "default"},
    {"mul.out", "Tensor"},
    {"nanmedian.dim_values", "dim"},
    {"norm.dtype_out", "ScalarOpt_dim_dtype"},
    {"norm.out", "ScalarOpt_dim"},
    {"prod.int_out", "dim_int"},
    {"sort.values_stable", "stable"},
    {"std.out", "dim"},
    {"sub.out", "Tensor"},
    {"sum.IntList_out", "dim_IntList"},
    {"var.out", "dim"},
    {"xlogy.OutScalar_Other", "Scalar_Other"},
    {"xlogy.OutScalar_Self", "Scalar_Self"},
    {"xlogy.OutTensor", "Tensor"},
});
// The names of such overloads that are "default" otherwise.
constexpr auto default_but_out = std::to_array<std::string_view>(
    {"L", "LD", "U", "eigenvalues", "eigvals", "inverse", "out", "result", "values"});
// Those of functions with lists of results, which are not supported.
constexpr auto lists_of_results =
    std::to_array<std::string_view>({"split_copy", "split_with_sizes_copy", "unbind_copy"});

// Names that end in an underscore but change no element, only the view of a tensor. A program goes
// on with the result, which is a view of the tensor as it was.
constexpr auto seen_anew = std::to_array<std::string_view>(
    {"resize", "resize_as", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze"});
// The same, and not supported.
constexpr auto no_writes =
    std::to_array<std::string_view>({"as_strided", "rename", "requires_grad", "set"});

// Operators whose results may be views of their operands, or these themselves, in PyTorch; all
// others make new tensors.
constexpr auto views = std::to_array<std::string_view>({"_conj",
                                                        "alias",
                                                        "alpha_dropout",
                                                        "as_strided",
                                                        "atleast_1d",
                                                        "atleast_2d",
                                                        "atleast_3d",
                                                        "broadcast_tensors",
                                                        "broadcast_to",
                                                        "chunk",
                                                        "conj",
                                                        "contiguous",
                                                        "detach",
                                                        "detach_",
                                                        "diagonal",
                                                        "dropout",
                                                        "dsplit",
                                                        "expand",
                                                        "expand_as",
                                                        "feature_alpha_dropout",
                                                        "feature_dropout",
                                                        "flatten",
                                                        "hsplit",
                                                        "imag",
                                                        "lift_fresh",
                                                        "linalg_diagonal",
                                                        "mH",
                                                        "mT",
                                                        "matrix_H",
                                                        "meshgrid",
                                                        "movedim",
                                                        "narrow",
                                                        "numpy_T",
                                                        "permute",
                                                        "positive",
                                                        "ravel",
                                                        "real",
                                                        "reshape",
                                                        "reshape_as",
                                                        "resolve_conj",
                                                        "resolve_neg",
                                                        "select",
                                                        "slice",
                                                        "split",
                                                        "split_with_sizes",
                                                        "squeeze",
                                                        "swapaxes",
                                                        "swapdims",
                                                        "t",
                                                        "tensor_split",
                                                        "to",
                                                        "transpose",
                                                        "type_as",
                                                        "unbind",
                                                        "unflatten",
                                                        "unfold",
                                                        "unsqueeze",
                                                        "view",
                                                        "view_as",
                                                        "view_as_complex",
                                                        "view_as_real",
                                                        "vsplit"});

struct Parts {
  std::string_view function, overload;
};
std::optional<Parts> parts_of(std::string_view name) {
  constexpr std::string_view library = "aten.";
  if (!name.starts_with(library)) return std::nullopt;
  name.remove_prefix(library.size());
  const std::size_t dot = name.find('.');
  if (dot == name.npos) return std::nullopt;
  return Parts{name.substr(0, dot), name.substr(dot + 1)};
}

std::string joined(std::string_view function, std::string_view overload) {
  return std::string("aten.").append(function).append(".").append(overload);
}

template <std::size_t count>
std::string_view other_name(const std::array<Pair, count>& pairs, std::string_view name) {
  auto found = std::ranges::find(pairs, name, &Pair::first);
  return found == pairs.end() ? std::string_view() : found->second;
}

template <std::size_t count>
bool has(const std::array<std::string_view, count>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// The overload that computes what this one writes to a tensor that is given, or nothing.
std::string_view without_out(const Parts& parts) {
  constexpr std::string_view out = "_out";
  auto [function, overload] = parts;
  if (has(lists_of_results, function)) return {};
  if (auto other = other_name(same_functions, function); !other.empty()) function = other;
  const std::string whole = std::string(function).append(".").append(overload);
  if (auto other = other_name(same_but_out, whole); !other.empty()) return other;
  if (has(default_but_out, overload)) return "default";
  return overload.ends_with(out) ? overload.substr(0, overload.size() - out.size())
                                 : std::string_view();
}

std::string_view without_underscore(std::string_view function) {
  const bool writes = function.ends_with("_") && !function.ends_with("__");
  return writes ? function.substr(0, function.size() - 1) : std::string_view();
}

// Under its own name and under others of the function.
void add_names(std::vector<OperatorName>& names, const Parts& parts, Written written) {
  auto [function, overload] = parts;
  auto add = [&](std::string_view of) {
    names.push_back({joined(of, overload), written, !has(views, of) && !has(seen_anew, of)});
  };
  add(function);
  if (auto other = other_name(same_functions, function); !other.empty()) add(other);
  if (auto other = other_name(same_overloads, joined(function, overload)); !other.empty())
    names.push_back({std::string(other), written, true});
  constexpr std::string_view copy = "_copy", unsafe = "unsafe_", private_unsafe = "_unsafe_";
  auto viewed = function;
  if (function.ends_with(copy)) viewed.remove_suffix(copy.size());
  if (function.starts_with(unsafe)) viewed.remove_prefix(unsafe.size());
  if (function.starts_with(private_unsafe)) viewed.remove_prefix(private_unsafe.size());
  if (viewed != function) names.push_back({joined(viewed, overload), written, true});
}

}  // namespace

std::vector<OperatorName> names_of(std::string_view name) {
  std::vector<OperatorName> names;
  auto parts = parts_of(name);
  if (!parts) return {{std::string(name)}};
  add_names(names, *parts, Written::nothing);
  if (const std::string_view overload = without_out(*parts); !overload.empty())
    add_names(names, {parts->function, overload}, Written::last);
  std::string whole(name);
  if (auto other = other_name(same_overloads, name); !other.empty()) whole = other;
  parts = parts_of(whole);
  if (auto other = other_name(same_functions, parts->function); !other.empty())
    parts->function = other;
  const std::string_view function = without_underscore(parts->function);
  if (!function.empty() && !has(no_writes, function))
    add_names(names, {function, parts->overload},
              has(seen_anew, function) ? Written::nothing : Written::first);
  return names;
}

bool is_view(std::string_view name) {
  const auto parts = parts_of(name);
  return parts &&
         (has(views, parts->function) || has(seen_anew, without_underscore(parts->function)));
}

}  // namespace tilewright::exported
