#include "models/layers/layers.h"

#include <cmath>
#include <optional>

#include "graph/functions/creation.h"
#include "graph/functions/random/random.h"
#include "graph/functions/reducing/products.h"
#include "graph/ir/location.h"
#include "models/layers/random.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using std::source_location;

void require_sizes(const char* layer, source_location w, std::int64_t a, std::int64_t b = 1) {
  require(a > 0 && b > 0, "[", layer, "] sizes ", a, " and ", b, " (at ", describe(w),
          "); sizes above 0 are needed");
}

void require_width(const char* layer, const std::string& path, const Tensor& x, std::int64_t width,
                   source_location w) {
  require(x.defined(), "[", layer, "] ", path, path.empty() ? "" : ": ",
          "the input is an undefined tensor (at ", graph::At{w}, "); its last axis must be ",
          width);
  require(x.rank() >= 1 && x.size(-1) == width, "[", layer, "] ", path, path.empty() ? "" : ": ",
          "the input is ", x.shape(), " (at ", graph::At{w}, "); its last axis must be ", width);
}

Tensor constant(std::int64_t width, double value, const LayerOptions& options) {
  Tensor tensor = Tensor::empty({width}, options.dtype, options.device);
  if (options.init == Init::random) fill_value(tensor, value);
  return tensor;
}

LayerOptions unfilled(LayerOptions options) {
  options.init = Init::none;
  return options;
}

bool is_rms(NormKind kind) { return kind == NormKind::rms || kind == NormKind::rms_plus_one; }
const char* name_of(NormKind kind) { return is_rms(kind) ? "rms_norm" : "layer_norm"; }

}  // namespace

Linear::Linear(std::int64_t in, std::int64_t out, bool has_bias, LayerOptions options,
               WeightOrder order, source_location w)
    : in_(in), out_(out), order_(order) {
  require_sizes("linear", w, in, out);
  weight = Tensor::empty(order == WeightOrder::out_in ? Shape{out, in} : Shape{in, out},
                         options.dtype, options.device);
  register_parameter("weight", weight);
  if (has_bias) {
    bias = Tensor::empty({out}, options.dtype, options.device);
    register_parameter("bias", bias);
  }
  if (options.init == Init::none) return;
  double bound = 1 / std::sqrt(static_cast<double>(in));
  fill_uniform(weight, -bound, bound, next_random_stream());
  if (has_bias) fill_uniform(bias, -bound, bound, next_random_stream());
}

Linear::Linear(const Tensor& shared, source_location w) : weight(shared) {
  require(shared.rank() == 2, "[linear] shared weights are ", shared.shape(), " (at ", describe(w),
          "); they must be [out, in]");
  in_ = shared.size(1);
  out_ = shared.size(0);
}

Tensor Linear::forward(const Tensor& x, source_location w) const {
  require_width("linear", path(), x, in_, w);
  require(weight.defined() || quantized.values.defined() || other_, "[linear] ", path(),
          path().empty() ? "" : ": ", "the weight is an undefined tensor (at ", graph::At{w},
          "); assign one of ", in_, order_ == WeightOrder::out_in ? " columns" : " rows");
  TensorOperand rows(x, w);
  if (weight.defined() && order_ == WeightOrder::out_in && updates_.empty() && !row_updates_)
    return linear(rows, weight, bias);
  Tensor y = product(rows, w);
  for (const auto& update : updates_) y = update->added(x, y);
  if (row_updates_) y = row_updates_->added(x, y);
  return bias.defined() ? TensorOperand(y, w) + TensorOperand(bias, w) : y;
}

Tensor Linear::product(const TensorOperand& rows, source_location w) const {
  if (other_) return other_->product(rows);
  if (!weight.defined()) return quantized_linear(rows, quantized);
  return order_ == WeightOrder::out_in ? linear(rows, weight) : matmul(rows, {weight, w});
}

void Linear::set_weight(std::unique_ptr<LinearWeight> other) {
  const Device device = weight.defined() ? weight.device() : Device::cpu();
  for (Tensor* tensor : other->tensors()) {
    tensor->move_to(device);
    register_buffer(*tensor);
  }
  other_ = std::move(other);
  weight = {};
  retire_parameter("weight");
}

void Linear::add_update(LowRankUpdate update) {
  const Device device = bias.defined()     ? bias.device()
                        : weight.defined() ? weight.device()
                        : other_           ? other_->tensors()[0]->device()
                                           : quantized.values.device();
  updates_.push_back(std::make_unique<LowRankUpdate>(std::move(update)));
  for (Tensor* tensor : {&updates_.back()->a, &updates_.back()->b, &updates_.back()->factors}) {
    if (!tensor->defined()) continue;
    tensor->move_to(device);
    register_buffer(*tensor);
  }
}

void Linear::set_row_updates(std::shared_ptr<RowUpdates> updates) {
  row_updates_ = std::move(updates);
  for (Tensor* tensor : row_updates_->tensors()) register_buffer(*tensor);
}

Tensor Linear::dense_weight() const {
  require(weight.defined() || other_, "[linear] ", path(),
          ": the weight was rounded to integers by quantize(); add updates before that");
  if (other_) return other_->dense();
  const Tensor rows = weight.to(Device::cpu()).to(f32);
  return order_ == WeightOrder::out_in ? rows : rows.transpose(0, 1).contiguous();
}

void Linear::merge_update(const LowRankUpdate& update) {
  Tensor rows = dense_weight() + matmul(update.b, update.a);
  if (update.factors.defined()) rows = rows * update.factors.reshape({update.factors.size(0), 1});
  const bool was_packed = !weight.defined();
  const DType dtype = was_packed ? f32 : weight.dtype();
  const Device device = was_packed ? other_->tensors()[0]->device() : weight.device();
  if (order_ == WeightOrder::in_out) rows = rows.transpose(0, 1);
  weight = rows.to(dtype).contiguous().to(device);
  if (!was_packed) return;
  for (Tensor* tensor : other_->tensors()) retire_buffer(*tensor);
  other_.reset();
  register_parameter("weight", weight);
}

void Linear::pack_weights(const Weights& weights, PackedNames& names) {
  const std::string name = path() + ".weight";
  if (order_ != WeightOrder::out_in || !weight.defined() || !weights.contains(name) ||
      weights.shape(name) != weight.shape())
    return;
  const std::optional<quant::GroupedCodes> codes = weights.codes(name);
  if (!codes) return;
  std::optional<quant::PackedWeight> packed = quant::packed(*codes);
  if (!packed) return;
  names.emplace(name, packed->format);
  set_weight(std::make_unique<PackedLinearWeight>(std::move(*packed)));
}

int Linear::quantize_weights(const QuantizeOptions& options, source_location w) {
  bool turns = order_ == WeightOrder::in_out && weight.defined();
  quantize_weight("weight", weight, turns ? weight.transpose(0, 1) : weight, quantized, options, w);
  return 1;
}

Conv1D::Conv1D(std::int64_t in, std::int64_t out, LayerOptions options, source_location w)
    : Linear(in, out, true, unfilled(options), WeightOrder::in_out, w) {
  if (options.init == Init::none) return;
  fill_normal(weight, 0, 0.02, next_random_stream());
  fill_value(bias, 0);
}

Embedding::Embedding(std::int64_t count, std::int64_t width, LayerOptions options,
                     source_location w) {
  require_sizes("embedding", w, count, width);
  weight = Tensor::empty({count, width}, options.dtype, options.device);
  register_parameter("weight", weight);
  if (options.init == Init::random) fill_normal(weight, 0, 1, next_random_stream());
}

Tensor Embedding::forward(const Tensor& ids, source_location w) const {
  require(ids.defined() && is_integer(ids.dtype()), "[embedding] ", path(),
          path().empty() ? "" : ": ", "ids are ",
          ids.defined() ? concat(ids.dtype(), " ", ids.shape()) : "an undefined tensor", " (at ",
          describe(w), "); integers are needed");
  return embedding({ids, w}, weight);
}

EmbeddingBag::EmbeddingBag(std::int64_t count, std::int64_t width,
                           const EmbeddingBagOptions& options, source_location w)
    : options_(options) {
  require_sizes("embedding_bag", w, count, width);
  const std::int64_t ignored = options.ignored_row.value_or(0);
  require(ignored >= 0 && ignored < count, "[embedding_bag] the ignored row is ", ignored, " (at ",
          describe(w), "); the table has ", count, " rows");
  weight = Tensor::empty({count, width}, options.layer.dtype, options.layer.device);
  register_parameter("weight", weight);
  if (options.layer.init == Init::none) return;
  fill_normal(weight, 0, 1, next_random_stream());
  if (!options.ignored_row) return;
  Tensor row = weight.slice(0, ignored, ignored + 1);
  row.copy_from(zeros({1, width}, weight.dtype()).to(weight.device()));
}

Tensor EmbeddingBag::forward(const Tensor& ids, const Tensor& offsets, const Tensor& weights,
                             source_location w) const {
  return embedding_bag({ids, w}, weight, offsets,
                       {.mode = options_.mode,
                        .weights = weights,
                        .has_last_offset = options_.has_last_offset,
                        .ignored_row = options_.ignored_row});
}

Bilinear::Bilinear(std::int64_t in_a, std::int64_t in_b, std::int64_t out, bool has_bias,
                   const LayerOptions& options, source_location w) {
  require_sizes("bilinear", w, in_a, in_b);
  require_sizes("bilinear", w, out);
  weight = Tensor::empty({out, in_a, in_b}, options.dtype, options.device);
  register_parameter("weight", weight);
  if (has_bias) {
    bias = Tensor::empty({out}, options.dtype, options.device);
    register_parameter("bias", bias);
  }
  if (options.init == Init::none) return;
  const double bound = 1 / std::sqrt(static_cast<double>(in_a));
  fill_uniform(weight, -bound, bound, next_random_stream());
  if (has_bias) fill_uniform(bias, -bound, bound, next_random_stream());
}

Tensor Bilinear::forward(const Tensor& a, const Tensor& b, source_location w) const {
  require_width("bilinear", path(), a, weight.size(1), w);
  require_width("bilinear", path(), b, weight.size(2), w);
  return bilinear({a, w}, b, weight, bias);
}

std::int64_t parameter_count(NormKind kind, std::int64_t width) {
  if (kind == NormKind::layer_no_weight) return 0;
  return kind == NormKind::layer ? 2 * width : width;
}

Norm::Norm(NormKind kind, std::int64_t width, std::optional<double> eps, LayerOptions options,
           source_location w)
    : eps(eps), kind_(kind), width_(width) {
  require_sizes(name_of(kind), w, width);
  if (kind == NormKind::layer_no_weight) return;
  weight = constant(width, kind == NormKind::rms_plus_one ? 0 : 1, options);
  register_parameter("weight", weight);
  if (kind != NormKind::layer) return;
  bias = constant(width, 0, options);
  register_parameter("bias", bias);
}

Tensor Norm::forward(const Tensor& x, source_location w) const {
  require_width(name_of(kind_), path(), x, width_, w);
  TensorOperand rows(x, w);
  const double added = eps.value_or(std::ldexp(1.0, 1 - digits(x.dtype() == f64 ? f64 : f32)));
  if (!is_rms(kind_)) return layer_norm(rows, weight, bias, added);
  if (kind_ == NormKind::rms) return rms_norm(rows, weight, added);
  Tensor scale = (weight.dtype() == f32 ? weight : weight.to(f32)) + 1;
  Tensor y = rms_norm(x.dtype() == f32 ? x : x.to(f32), scale, added);
  return x.dtype() == f32 ? y : y.to(x.dtype());
}

Dropout::Dropout(double p, const Generator& generator, source_location w)
    : p_(p), generator_(generator) {
  require(p >= 0 && p <= 1, "[dropout] the probability is ", p, " (at ", describe(w),
          "); it must be in [0, 1]");
}
Tensor Dropout::forward(const Tensor& x, source_location w) const {
  return dropout({x, w}, p_, is_training_.get(w), generator_);
}
void Dropout::train(bool is_training) {
  is_training_ = is_training;
  Module::train(is_training);
}

Tensor activate(Activation activation, const Tensor& x) {
  switch (activation) {
    case Activation::silu: return silu(x);
    case Activation::gelu: return gelu(x);
    case Activation::gelu_tanh: return gelu(x, GeluForm::tanh);
    case Activation::quick_gelu: return x * sigmoid(x * 1.702);
    case Activation::relu: return relu(x);
    case Activation::relu_squared: return square(relu(x));
  }
  __builtin_unreachable();
}

Mlp::Mlp(std::int64_t width, std::int64_t inner, bool bias, LayerOptions options)
    : Mlp(width, inner, MlpForm{.bias = bias}, options) {}

Mlp::Mlp(std::int64_t width, std::int64_t inner, const MlpForm& form, LayerOptions options)
    : down_proj(inner, width, form.bias, options, form.order), activation_(form.activation) {
  auto add = [&](std::optional<Linear>& part, std::string_view name, std::int64_t out) {
    if (name.empty()) return;
    part.emplace(width, out, form.bias, options, form.order);
    register_module(std::string(name), *part);
  };
  add(gate_proj, form.names.gate, inner);
  add(up_proj, form.names.up, inner);
  add(gate_up_proj, form.names.gate_up, 2 * inner);
  require(up_proj.has_value() != gate_up_proj.has_value(),
          "[mlp] the names of up and of gate_up are \"", form.names.up, "\" and \"",
          form.names.gate_up, "\"; one of them must be empty");
  register_module(std::string(form.names.down), down_proj);
}

Tensor Mlp::forward(const Tensor& x) const {
  if (gate_up_proj) {
    Tensor both = (*gate_up_proj)(x);
    std::int64_t inner = both.size(-1) / 2;
    return down_proj(activate(activation_, both.slice(-1, 0, inner)) *
                     both.slice(-1, inner, 2 * inner));
  }
  if (!gate_proj) return down_proj(activate(activation_, (*up_proj)(x)));
  return down_proj(activate(activation_, (*gate_proj)(x)) * (*up_proj)(x));
}

}  // namespace tilewright
