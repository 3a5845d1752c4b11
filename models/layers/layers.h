// The layers that models are made of, under PyTorch's names and with its initial weights.
//
// Each is a few tensors and one formula. Sizes are checked here where the tensor operations would
// only say which axes differ. Misuse raises `Error` with the caller's line and, where the layer is
// registered in a module, its name there.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string_view>
#include <vector>

#include "graph/functions/indexing/embedding_bag.h"
#include "graph/functions/random/generator.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/tensor.h"
#include "models/layers/linear/linear_weight.h"
#include "models/layers/module.h"
#include "runtime/owned.h"

namespace tilewright {

// Says whether a layer draws initial weights, or leaves them for `Module::load` to fill.
enum class Init : std::uint8_t { random, none };

struct LayerOptions {
  Init init = Init::random;
  DType dtype = f32;
  Device device = Device::cpu();  // where parameters lie
};

// The axes of a linear layer's weight.
enum class WeightOrder : std::uint8_t { out_in, in_out };

// y = x W^T + b, W [out, in]. Initially uniform in +-1/sqrt(in). With `WeightOrder::in_out` W is
// kept transposed, [in, out].
class Linear : public Module {
 public:
  Linear(std::int64_t in, std::int64_t out, bool bias = true, LayerOptions options = {},
         WeightOrder order = WeightOrder::out_in,
         std::source_location w = std::source_location::current());
  // Shares the weights of another layer, an embedding; they are not parameters of this one. Rows
  // [out, in].
  explicit Linear(const Tensor& shared, std::source_location w = std::source_location::current());
  // [.., in] -> [.., out]
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  // Puts a weight [out, in] that is no matrix in place of `weight`, which is no parameter any more.
  void set_weight(std::unique_ptr<LinearWeight> other);
  // Adds an update beside the weight, or to it: a weight that is packed becomes dense then.
  void add_update(LowRankUpdate update);
  void merge_update(const LowRankUpdate& update);
  // Adds data by which each row of a call may have an update of its own. A layer has them once.
  void set_row_updates(std::shared_ptr<RowUpdates> updates);
  bool has_row_updates() const { return row_updates_ != nullptr; }
  Tensor dense_weight() const;  // f32 [out, in], on the host, without updates
  std::int64_t in() const { return in_; }
  std::int64_t out() const { return out_; }

  // Undefined: `weight` once it is quantised or another takes its place, `bias` where there is
  // none.
  Tensor weight, bias;
  QuantizedWeight quantized;  // [out, in], in either order

 protected:
  int quantize_weights(const QuantizeOptions& options, std::source_location w) override;
  void pack_weights(const Weights& weights, PackedNames& names) override;

 private:
  Tensor product(const TensorOperand& rows, std::source_location w) const;
  Owned<LinearWeight> other_;
  std::vector<std::unique_ptr<LowRankUpdate>> updates_;
  std::shared_ptr<RowUpdates> row_updates_;
  std::int64_t in_ = 0, out_ = 0;
  WeightOrder order_ = WeightOrder::out_in;
};

// A Linear of [in, out], called Conv1D in files of GPT-2. Initially normal, deviation 0.02, and 0.
class Conv1D : public Linear {
 public:
  Conv1D(std::int64_t in, std::int64_t out, LayerOptions options = {},
         std::source_location w = std::source_location::current());
};

struct EmbeddingBagOptions {
  BagMode mode = BagMode::mean;
  bool has_last_offset = false;                  // the last offset is the end, and no bag's
  std::optional<std::int64_t> ignored_row = {};  // PyTorch's padding_idx; initially 0
  LayerOptions layer = {};
};

// Rows of a table. Initially normal, deviation 1.
class Embedding : public Module {
 public:
  Embedding(std::int64_t count, std::int64_t width, LayerOptions options = {},
            std::source_location w = std::source_location::current());
  // integers [..] -> [.., width]
  Tensor forward(const Tensor& ids, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& ids,
                    std::source_location w = std::source_location::current()) const {
    return forward(ids, w);
  }
  Tensor weight;
};

// Sums, means or maxima of rows of a table, a bag of rows each. Initially normal, deviation 1.
class EmbeddingBag : public Module {
 public:
  using Options = EmbeddingBagOptions;
  EmbeddingBag(std::int64_t count, std::int64_t width, const EmbeddingBagOptions& options = {},
               std::source_location w = std::source_location::current());
  // integers [bags, m], or [n] with the offsets [bags] where bags begin, -> [bags, width]; weights
  // of the indices' shape are for sums
  Tensor forward(const Tensor& ids, const Tensor& offsets = {}, const Tensor& weights = {},
                 std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& ids, const Tensor& offsets = {}, const Tensor& weights = {},
                    std::source_location w = std::source_location::current()) const {
    return forward(ids, offsets, weights, w);
  }
  Tensor weight;

 private:
  EmbeddingBagOptions options_;
};

// y = a W b + c for each row of two inputs, W [out, of a, of b]. Initially uniform in +-1/sqrt(of
// a).
class Bilinear : public Module {
 public:
  Bilinear(std::int64_t in_a, std::int64_t in_b, std::int64_t out, bool bias = true,
           const LayerOptions& options = {},
           std::source_location w = std::source_location::current());
  // [.., of a] and [.., of b] -> [.., out]
  Tensor forward(const Tensor& a, const Tensor& b,
                 std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& a, const Tensor& b,
                    std::source_location w = std::source_location::current()) const {
    return forward(a, b, w);
  }
  Tensor weight, bias;  // no bias: undefined
};

enum class NormKind : std::uint8_t {
  rms,           // x / sqrt(mean(x^2) + eps) * weight (Zhang and Sennrich 2019)
  rms_plus_one,  // times weight + 1 (Gemma)
  layer,         // (x - mean) / sqrt(var + eps) * weight + bias
  layer_no_bias,
  layer_no_weight,  // nor a bias
};
// How many parameters a norm of that width has.
std::int64_t parameter_count(NormKind kind, std::int64_t width);

// A norm over the last axis. Initially the identity after the division: 1, or 0 of `rms_plus_one`,
// and 0.
class Norm : public Module {
 public:
  Norm(NormKind kind, std::int64_t width, std::optional<double> eps, LayerOptions options = {},
       std::source_location w = std::source_location::current());
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  Tensor weight, bias;  // undefined where the kind has none
  // Absent: the machine epsilon of the dtype that x is normalised in, 2^-52 for f64 and 2^-23 for
  // all others.
  std::optional<double> eps;

 private:
  NormKind kind_;
  std::int64_t width_;
};

class RmsNorm : public Norm {
 public:
  explicit RmsNorm(std::int64_t width, std::optional<double> eps = {}, LayerOptions options = {},
                   std::source_location w = std::source_location::current())
      : Norm(NormKind::rms, width, eps, options, w) {}
};

class LayerNorm : public Norm {
 public:
  explicit LayerNorm(std::int64_t width, double eps = 1e-5, LayerOptions options = {},
                     std::source_location w = std::source_location::current())
      : Norm(NormKind::layer, width, eps, options, w) {}
};

// While it is trained, sets elements to 0 with this probability and divides the others by its
// complement (graph/functions/random/random.h); else its input.
class Dropout : public Module {
 public:
  explicit Dropout(double p = 0.5, const Generator& generator = default_generator(),
                   std::source_location w = std::source_location::current());
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const;
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  void train(bool is_training = true) override;

 private:
  double p_;
  Generator generator_;
  Guarded<bool> is_training_{true, "training"};
};

enum class Activation : std::uint8_t { silu, gelu, gelu_tanh, quick_gelu, relu, relu_squared };
Tensor activate(Activation activation, const Tensor& x);

// The names of an MLP's parts. A part with an empty name does not exist: there is no gate, or it is
// the first half of the rows of `gate_up`.
struct MlpNames {
  std::string_view gate = "gate_proj", up = "up_proj", gate_up, down = "down_proj";
};

struct MlpForm {
  Activation activation = Activation::silu;
  bool bias = false;
  WeightOrder order = WeightOrder::out_in;
  MlpNames names;
  bool is_gated() const { return !names.gate.empty() || !names.gate_up.empty(); }
};

// down(silu(gate(x)) * up(x)), the gated MLP of Llama (Shazeer 2020, SwiGLU); or, by its form, with
// another activation f, or without a gate: down(f(up(x))).
class Mlp : public Module {
 public:
  Mlp(std::int64_t width, std::int64_t inner, bool bias = false, LayerOptions options = {});
  Mlp(std::int64_t width, std::int64_t inner, const MlpForm& form, LayerOptions options = {});
  Tensor forward(const Tensor& x) const;
  Tensor operator()(const Tensor& x) const { return forward(x); }
  std::optional<Linear> gate_proj, up_proj, gate_up_proj;  // those that the form names
  Linear down_proj;

 private:
  Activation activation_;
};

}  // namespace tilewright
