// Operators into which ONNX Runtime's optimisers join others (com.microsoft): activations with what
// is added before them, products with what is around them, norms of sums.
#include "graph/functions/linear_algebra/solving.h"
#include "graph/functions/normalising/mixed_norms.h"
#include "graph/functions/pointwise/activations.h"
#include "graph/functions/pointwise/arithmetic.h"
#include "graph/functions/reducing/products.h"
#include "graph/functions/reducing/reductions.h"
#include "models/onnx/operators/convolution.h"
#include "models/onnx/operators/table.h"
#include "models/onnx/runtime/integers.h"
#include "runtime/base/error.h"

namespace tilewright::onnx {
namespace runtime_fused_rows {
namespace {

Tensor with_bias(const Call& call, std::size_t input, const Tensor& x) {
  if (!call.has(input)) return x;
  const Tensor bias = call.tensor(input);
  require(x.rank() > 0 && bias.shape() == Shape({x.size(-1)}), "[onnx] a bias [", bias.shape(),
          "] for [", x.shape(), "]; one for each element of the last axis is wanted");
  return add(x, bias);
}

// By its name in an attribute, with its parameters in two others, or in the list that has both.
struct Activation {
  std::string name;
  double alpha, beta;
};
Tensor activated(const Call& call, const Tensor& x, const Activation& by) {
  if (by.name.empty()) return x;
  if (by.name == "Relu") return relu(x);
  if (by.name == "Sigmoid") return sigmoid(x);
  if (by.name == "Tanh") return tanh(x);
  if (by.name == "LeakyRelu") return leaky_relu(x, by.alpha);
  if (by.name == "HardSigmoid") return hardsigmoid(x, by.alpha, by.beta);
  if (by.name == "Clip") return clamp(x, by.alpha, by.beta).to(x.dtype());
  call.refuse(
      "activation",
      "is not one of Relu, Sigmoid, Tanh, LeakyRelu, HardSigmoid and, for convolutions, Clip");
}

Tensor general(const Call& call) {
  Tensor a = call.tensor(0), b = call.tensor(1);
  require(a.rank() == 2 && b.rank() == 2, "[onnx] [", a.shape(), "] and [", b.shape(),
          "] are no matrices");
  if (call.flag("transA", false)) a = a.transpose(0, 1);
  if (call.flag("transB", false)) b = b.transpose(0, 1);
  const double alpha = call.number("alpha", 1), beta = call.number("beta", 1);
  const Activation by{call.text("activation", ""), call.number("activation_alpha", 0),
                      call.number("activation_beta", 0)};
  if (by.name == "Clip") call.refuse("activation", "is Clip, which is not supported here");
  if (call.number("activation_gamma", 0) != 0)
    call.refuse("activation_gamma", "is of an activation that is not supported");
  return activated(call, gemm(a, b, call.optional_tensor(2), {beta, alpha}), by);
}

// The addend comes before the activation.
Tensor convolution(const Call& call) {
  Tensor sums = convolved(call, call.tensor(0), call.tensor(1), call.optional_tensor(2));
  if (call.has(3)) {
    const Tensor added = call.tensor(3);
    require(added.shape() == sums.shape(), "[onnx] [", added.shape(), "] is added to [",
            sums.shape(), "]; the same sizes are wanted");
    sums = add(sums, added);
  }
  const std::string name = call.text("activation", "");
  const std::vector<double> given = call.numbers("activation_params", std::vector<double>());
  const std::size_t wanted = name == "LeakyRelu"                       ? 1
                             : name == "HardSigmoid" || name == "Clip" ? 2
                                                                       : 0;
  if (given.size() != wanted)
    call.refuse("activation_params", concat("has ", given.size(), " numbers for the activation ",
                                            name.empty() ? "none" : name, "; it takes ", wanted));
  return activated(call, sums, {name, wanted > 0 ? given[0] : 0, wanted > 1 ? given[1] : 0});
}

// The first axis behind those of the batch, and then the last two exchanged.
Tensor turned(const Tensor& x, bool turns_batch, bool turns) {
  require(!(turns_batch || turns) || x.rank() >= 2, "[onnx] [", x.shape(),
          "] is not a matrix, and cannot be transposed");
  if (!turns_batch && !turns) return x;
  std::vector<int> axes;
  for (int axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  if (turns_batch) {
    axes.erase(axes.begin());
    axes.insert(axes.end() - 1, 0);
  }
  if (turns) std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return x.permute(axes);
}
Tensor product(const Call& call) {
  const Tensor a = turned(call.tensor(0), call.flag("transBatchA", false),
                          call.flag("transA", false)),
               b = turned(call.tensor(1), call.flag("transBatchB", false),
                          call.flag("transB", false));
  const double alpha = call.number("alpha", 1);
  const Tensor result = matmul(a, b);
  return alpha == 1 ? result : mul(result, alpha);
}

void require_last(const Tensor& weight, const Tensor& x, std::string_view what) {
  require(weight.shape() == Shape({x.size(-1)}), "[onnx] ", what, " [", weight.shape(), "] for [",
          x.shape(), "]; one for each element of the last axis is wanted");
}
// The sum of the input and a skip, which may lack the batch, and a bias.
Tensor sum_with_skip(const Call& call, std::size_t bias) {
  const Tensor x = call.tensor(0), skip = call.tensor(1);
  require(x.rank() == 2 || x.rank() == 3, "[onnx] input 0 is [", x.shape(),
          "]; [batch, steps, size] is wanted, or [tokens, size]");
  Shape least = x.shape();
  if (x.rank() == 3) least[0] = 1;
  const Shape bare(least.begin() + (x.rank() - 2), least.end());
  require(skip.shape() == x.shape() || skip.shape() == least || skip.shape() == bare,
          "[onnx] a skip [", skip.shape(), "] to [", x.shape(), "]; the same sizes are wanted");
  return with_bias(call, bias, add(x, skip));
}
void refuse_statistics(const Call& call) {
  require(!call.wants(1) && !call.wants(2),
          "[onnx] results 1 and 2, the mean and the inverse deviation, are read, which are not "
          "given; ONNX Runtime does not give them on the host either");
}
// The fourth result is the sum.
Results norm_of_sum(const Call& call) {
  refuse_statistics(call);
  const Tensor total = sum_with_skip(call, 4), weight = call.tensor(2),
               bias = call.optional_tensor(3);
  require_last(weight, total, "gamma");
  if (bias.defined()) require_last(bias, total, "beta");
  return {Value(layer_norm(total, weight, bias, call.number("epsilon", 1e-12))), Value(), Value(),
          Value(total)};
}
Results simple_norm_of_sum(const Call& call) {
  refuse_statistics(call);
  const Tensor total = sum_with_skip(call, 3), weight = call.tensor(2);
  require_last(weight, total, "gamma");
  return {Value(rms_norm(total, weight, call.number("epsilon", 1e-12))), Value(), Value(),
          Value(total)};
}
// LayerNormalization without a mean. ONNX Runtime has it in ONNX's domain too.
Results simple_norm(const Call& call) {
  const Tensor x = call.tensor(0), weight = call.tensor(1);
  const int axis = call.axis_within("axis", -1, x.rank());
  const double eps = call.number("epsilon", 1e-5);
  call.integer("stash_type", 1);
  const Shape last(x.shape().begin() + axis, x.shape().end());
  require(weight.shape() == last, "[onnx] a scale [", weight.shape(), "] for the axes from ", axis,
          " on of [", x.shape(), "]");
  if (axis == x.rank() - 1 && !call.wants(1)) return {Value(rms_norm(x, weight, eps))};
  const RmsNormResult y = mixed_rms_norm(x, axis, weight, {.eps = eps});
  if (call.wants(1)) return {Value(y.output), Value(y.rstd)};
  return {Value(y.output)};
}

// A table of numbers, or of integers with a scale and a zero point, by the inputs' numbers.
struct Table {
  std::size_t numbers, scale = 0, zero = 0;
};
Tensor numbers_of(const Call& call, const Tensor& found, const Table& table) {
  if (table.scale == 0) return found;
  return ScaledIntegers{found, scale_of(call, table.scale),
                        zero_of(call, table.zero, found.dtype())}
      .numbers();
}
Tensor all_of(const Call& call, const Table& table) {
  return numbers_of(
      call, table.scale == 0 ? call.tensor(table.numbers) : integers_of(call, table.numbers),
      table);
}
Tensor rows_of(const Call& call, const Table& table, const Tensor& ids) {
  require(call.rank(table.numbers) == 2 && is_integer(ids.dtype()), "[onnx] input ", table.numbers,
          " is [", call.shape(table.numbers), "] and ids are ", ids.dtype(), " [", ids.shape(),
          "]; a table [rows, size] and integers are wanted");
  return numbers_of(call, embedding(ids, call.tensor(table.numbers)), table);
}

struct Tables {
  Table words, places, segments, weight, bias;
  bool takes_places;
};
// The embeddings of words, their places and, if given, their segments. The second result is how
// many elements of the mask are 1, the third one the sum.
Results embedded_by(const Call& call, const Tables& tables) {
  const Tensor ids = call.tensor(0);
  require(ids.rank() == 2, "[onnx] ids are [", ids.shape(), "]; [batch, steps] is wanted");
  const std::int64_t batch = ids.size(0), steps = ids.size(1);
  const bool has_places = tables.takes_places && call.has(8);
  const Tensor places = has_places ? call.tensor(8) : arange(0, steps).reshape({1, steps});
  require(places.rank() == 2 && (places.size(0) == 1 || places.size(0) == batch) &&
              places.size(1) == steps,
          "[onnx] places [", places.shape(), "] for ids [", ids.shape(), "]");
  Tensor total = add(rows_of(call, tables.words, ids), rows_of(call, tables.places, places));
  require(call.has(1) == call.has(tables.segments.numbers),
          "[onnx] ids of segments or their table alone are given");
  if (call.has(1)) {
    require(call.shape(1) == ids.shape(), "[onnx] segments [", call.shape(1), "] for ids [",
            ids.shape(), "]");
    total = add(total, rows_of(call, tables.segments, call.tensor(1)));
  }
  const Tensor weight = all_of(call, tables.weight), bias = all_of(call, tables.bias);
  require_last(weight, total, "gamma");
  require_last(bias, total, "beta");
  Tensor counts = zeros({batch}, i32);
  if (call.has(7)) {
    require(call.shape(7) == ids.shape(), "[onnx] a mask [", call.shape(7), "] for ids [",
            ids.shape(), "]");
    counts = count_nonzero(eq(call.tensor(7), 1), {1}).to(i32);
  }
  return {Value(layer_norm(total, weight, bias, call.number("epsilon", 1e-12))), Value(counts),
          Value(total)};
}
Results embedded(const Call& call) {
  call.integer("mask_index_type", 0);
  return embedded_by(call, {{2}, {3}, {4}, {5}, {6}, true});
}
Results embedded_of_integers(const Call& call) {
  for (std::size_t unread : {10U, 15U}) static_cast<void>(call.has(unread));  // without segments
  Results results =
      embedded_by(call, {{2, 8, 13}, {3, 9, 14}, {4, 10, 15}, {5, 11, 16}, {6, 12, 17}, false});
  results.pop_back();
  return results;
}

Tensor expanded_by_axis(const Call& call) {
  const Tensor x = call.tensor(0);
  const std::int64_t axis = call.scalar(1).as_integer();
  return x.unsqueeze(call.within(axis, x.rank() + 1));
}
Tensor inverse_of(const Call& call) {
  const Tensor x = call.tensor(0);
  require(x.rank() >= 2 && x.size(-1) == x.size(-2), "[onnx] [", x.shape(),
          "] are no square matrices");
  return inverse(x);
}

constexpr Operator rows[] = {
    {"SimplifiedLayerNormalization", 1, by<simple_norm>},
    {"com.microsoft.BiasGelu", 1,
     [](const Call& c) {
       c.value(1);
       return gelu(with_bias(c, 1, c.tensor(0)), GeluForm::erf);
     }},
    {"com.microsoft.EmbedLayerNormalization", 1, by<embedded>},
    {"com.microsoft.ExpandDims", 1, by<expanded_by_axis>},
    {"com.microsoft.FastGelu", 1,
     [](const Call& c) { return gelu(with_bias(c, 1, c.tensor(0)), GeluForm::tanh); }},
    {"com.microsoft.FusedConv", 1, by<convolution>},
    {"com.microsoft.FusedGemm", 1, by<general>},
    {"com.microsoft.FusedMatMul", 1, by<product>},
    {"com.microsoft.Gelu", 1, [](const Call& c) { return gelu(c.tensor(0), GeluForm::erf); }},
    {"com.microsoft.Inverse", 1, by<inverse_of>},
    {"com.microsoft.QEmbedLayerNormalization", 1, by<embedded_of_integers>},
    {"com.microsoft.QuickGelu", 1,
     [](const Call& c) { return swish(c.tensor(0), c.number("alpha", 1.702)); }},
    {"com.microsoft.SimplifiedLayerNormalization", 1, by<simple_norm>},
    {"com.microsoft.SkipLayerNormalization", 1, by<norm_of_sum>},
    {"com.microsoft.SkipSimplifiedLayerNormalization", 1, by<simple_norm_of_sum>},
    {"com.microsoft.TransposeMatMul", 1, by<product>},
};

}  // namespace
}  // namespace runtime_fused_rows

std::span<const Operator> runtime_fused_operators() { return runtime_fused_rows::rows; }

}  // namespace tilewright::onnx
