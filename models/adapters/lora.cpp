#include "models/adapters/lora.h"

#include <algorithm>
#include <cmath>

#include "models/adapters/adapter_settings.h"
#include "models/files/model_file.h"
#include "models/files/reader.h"
#include "models/layers/layers.h"
#include "models/weights/weights.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

using adapters::adapter_operation;
using adapters::AdapterSettings;

constexpr std::string_view prefix = "base_model.model.", of_a = ".lora_A.weight",
                           of_b = ".lora_B.weight", of_lengths = ".lora_magnitude_vector",
                           of_table_a = ".lora_embedding_A", of_table_b = ".lora_embedding_B",
                           of_bias = ".base_layer.bias";

class AdapterLoader {
 public:
  AdapterLoader(Module& model, const Weights& weights, const AdapterSettings& settings,
                adapters::AdapterSink& sink)
      : model_(model), weights_(weights), settings_(settings), sink_(sink) {}

  void load() {
    for (const std::string& name : weights_.names()) {
      require(name.starts_with(prefix), "[", adapter_operation, "] tensor \"", json::excerpt(name),
              "\" is of another kind; names that begin with ", prefix, " are needed");
      const std::string_view inside = std::string_view(name).substr(prefix.size());
      auto is = [&](std::string_view ending) { return inside.ends_with(ending); };
      auto stem = [&](std::string_view ending) {
        return std::string(inside.substr(0, inside.size() - ending.size()));
      };
      if (is(of_a))
        add_update(stem(of_a));
      else if (is(of_table_a))
        add_rows(name, stem(of_table_a));
      else if (is(of_bias))
        set_bias(name, stem(of_bias));
      else if (is(of_b) || is(of_lengths) || is(of_table_b))
        require_partner(name,
                        stem(is(of_b)         ? of_b
                             : is(of_lengths) ? of_lengths
                                              : of_table_b),
                        is(of_table_b) ? of_table_a : of_a);
      else
        set_parameter(name, std::string(inside));
    }
  }

 private:
  std::string full(const std::string& layer, std::string_view ending) const {
    return concat(prefix, layer, ending);
  }

  void require_partner(const std::string& name, const std::string& layer,
                       std::string_view ending) const {
    require(weights_.contains(full(layer, ending)), "[", adapter_operation, "] tensor \"",
            json::excerpt(name), "\" has no \"", json::excerpt(full(layer, ending)),
            "\" beside it; both are needed");
  }

  template <typename Layer>
  Layer& layer_of(const std::string& path, const char* kind) const {
    auto* layer = dynamic_cast<Layer*>(model_.find(path));
    require(layer != nullptr, "[", adapter_operation, "] \"", json::excerpt(path),
            "\" is changed by the adapter; the model has no ", kind, " of that name");
    return *layer;
  }

  // A matrix of the file as f32, with its sizes checked; below 0: any.
  Tensor matrix(const std::string& name, std::int64_t rows, std::int64_t columns) const {
    require(weights_.contains(name), "[", adapter_operation, "] there is no tensor \"",
            json::excerpt(name), "\"; the other factor of its update is there");
    const Shape& shape = weights_.shape(name);
    const bool fits = is_floating(weights_.dtype(name)) && shape.rank() == 2 &&
                      (rows < 0 || shape[0] == rows) && (columns < 0 || shape[1] == columns);
    auto size = [](std::int64_t wanted) { return wanted < 0 ? "any" : std::to_string(wanted); };
    require(fits, "[", adapter_operation, "] tensor \"", json::excerpt(name), "\" is ",
            weights_.dtype(name), " ", shape, "; floats [", size(rows), ", ", size(columns),
            "] are needed");
    return values(name);
  }

  // As f32. By the weights' own conversion, which compiles nothing.
  Tensor values(const std::string& name) const {
    Tensor tensor = Tensor::empty(weights_.shape(name), f32);
    weights_.read(name, tensor);
    return tensor;
  }

  void add_update(const std::string& path) {
    Linear& layer = layer_of<Linear>(path, "linear layer");
    const std::int64_t rank = settings_.rank(path);
    const Tensor a = matrix(full(path, of_a), rank, layer.in());
    const Tensor b = matrix(full(path, of_b), layer.out(), rank);
    adapters::ReadUpdate update{path, a, b, settings_.scale(path), {}};
    const std::string lengths = full(path, of_lengths);
    if (weights_.contains(lengths)) update.factors = factors(layer, update, lengths);
    sink_.update(layer, update);
  }

  // The wanted length of each row of the changed weight, divided by that which it has.
  Tensor factors(const Linear& layer, const adapters::ReadUpdate& update,
                 const std::string& name) const {
    const Shape& shape = weights_.shape(name);
    require(element_count(shape) == layer.out(), "[", adapter_operation, "] tensor \"",
            json::excerpt(name), "\" is ", shape, "; [", layer.out(), "] is needed");
    const Tensor changed = layer.dense_weight() + matmul(update.b * update.scale, update.a);
    const std::vector<float> values = changed.to_vector<float>();
    std::vector<float> wanted = this->values(name).to_vector<float>();
    const std::size_t width = values.size() / wanted.size();
    for (std::size_t row = 0; row < wanted.size(); ++row) {
      double sum = 0;
      for (std::size_t i = row * width; i < (row + 1) * width; ++i)
        sum += static_cast<double>(values[i]) * values[i];
      wanted[row] /= static_cast<float>(std::sqrt(sum));
    }
    return Tensor::from(wanted);
  }

  // Rows of an embedding change once and for all: they are looked up, not multiplied.
  void add_rows(const std::string& name, const std::string& path) {
    require_for_all(name);
    Embedding& table = layer_of<Embedding>(path, "embedding");
    require(model_.find("lm_head") != nullptr, "[", adapter_operation, "] \"", json::excerpt(path),
            "\" is changed by the adapter and is the output matrix, too, which is not; a model "
            "with an output matrix of its own is needed");
    const std::int64_t rank = settings_.rank(path);
    const Tensor a = matrix(full(path, of_table_a), rank, table.weight.size(0));
    const Tensor b = matrix(full(path, of_table_b), table.weight.size(1), rank);
    const Tensor change = matmul(b, a).transpose(0, 1) * settings_.scale(path);
    const Device device = table.weight.device();
    const DType dtype = table.weight.dtype();
    table.weight =
        (table.weight.to(Device::cpu()).to(f32) + change).to(dtype).contiguous().to(device);
  }

  void require_for_all(const std::string& name) const {
    require(sink_.takes_other_changes(), "[", adapter_operation, "] tensor \"", json::excerpt(name),
            "\" is no update of a linear layer and no bias, which are all that a text can have by "
            "itself; load_adapter makes other changes for all texts");
  }

  void set_bias(const std::string& name, const std::string& path) {
    if (sink_.takes_other_changes()) return set_parameter(name, path + ".bias");
    const Linear& layer = layer_of<Linear>(path, "linear layer");
    const Shape& shape = weights_.shape(name);
    require(shape == Shape{layer.out()} && is_floating(weights_.dtype(name)), "[",
            adapter_operation, "] tensor \"", json::excerpt(name), "\" is ", weights_.dtype(name),
            " ", shape, "; floats [", layer.out(), "] are needed");
    sink_.bias(layer, path, values(name));
  }

  void set_parameter(const std::string& name, std::string parameter) {
    require_for_all(name);
    constexpr std::string_view saved = ".modules_to_save";
    if (std::size_t at = parameter.find(saved); at != parameter.npos)
      parameter.erase(at, saved.size());
    for (NamedParameter& known : model_.named_parameters()) {
      if (known.name != parameter) continue;
      require(weights_.shape(name) == known.tensor.shape(), "[", adapter_operation, "] tensor \"",
              json::excerpt(name), "\" is ", weights_.shape(name), "; the model's is ",
              known.tensor.shape());
      return weights_.read(name, known.tensor);
    }
    raise_error(concat("[", adapter_operation, "] tensor \"", json::excerpt(name),
                       "\" is no part of an update, and the model has no parameter \"",
                       json::excerpt(parameter), '"'));
  }

  Module& model_;
  const Weights& weights_;
  const AdapterSettings& settings_;
  adapters::AdapterSink& sink_;
};

// Changes the model itself.
class ModelChanges : public adapters::AdapterSink {
 public:
  explicit ModelChanges(bool merge) : merge_(merge) {}
  void update(Linear& layer, const adapters::ReadUpdate& read) override {
    LowRankUpdate update{read.a, read.b * read.scale, read.factors};
    merge_ ? layer.merge_update(update) : layer.add_update(std::move(update));
  }

 private:
  bool merge_;
};

// The files of a folder, within the bounds of a model's.
struct AdapterFiles {
  AdapterFiles(const std::filesystem::path& folder, bool links_may_leave)
      : folder_(folder), options_{.links_may_leave = links_may_leave} {}
  AdapterSettings settings() const {
    auto config = open_model_file(folder_, "adapter_config.json", adapter_operation, options_);
    const std::string text = config->text(max_config_bytes, adapter_operation);
    return AdapterSettings(ConfigFields(text, adapter_operation, config->name()));
  }
  Weights weights() const {
    return Weights::of(Safetensors::of(
        open_model_file(folder_, "adapter_model.safetensors", adapter_operation, options_)));
  }

 private:
  const std::filesystem::path& folder_;
  ModelFileOptions options_;
};

}  // namespace

void adapters::AdapterSink::bias(const Linear&, const std::string&, const Tensor&) {
  check(false, "an adapter's bias without a place");
}

void adapters::read_adapter(Module& model, const std::filesystem::path& folder,
                            bool links_may_leave, AdapterSink& sink) {
  const AdapterFiles files(folder, links_may_leave);
  const AdapterSettings settings = files.settings();
  const Weights weights = files.weights();
  AdapterLoader(model, weights, settings, sink).load();
}

std::int64_t ranks_of_adapter(const std::filesystem::path& folder, bool links_may_leave) {
  constexpr std::int64_t vectors = 2;  // lengths and a bias
  return AdapterFiles(folder, links_may_leave).settings().greatest_rank() + vectors;
}

void load_adapter(Module& model, const std::filesystem::path& folder, AdapterOptions options) {
  ModelChanges changes(options.merge);
  adapters::read_adapter(model, folder, options.links_may_leave, changes);
}

}  // namespace tilewright
