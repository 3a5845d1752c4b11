// A part of a model: parameters with names, and parts of its own.
//
//   struct Layer : Module {
//     Linear linear1{10, 10}, linear2{10, 10};
//     Layer() {
//       register_module("linear1", linear1);
//       register_module("linear2", linear2);
//     }
//     Tensor forward(const Tensor& x) { return relu(linear2(sigmoid(relu(linear1(x))))); }
//   };
//
// Names are joined with dots, as PyTorch does ("layers.0.linear1.weight"), so that files of weights
// made there fit. A module is neither copied nor moved: its parameters are known by address, here
// and to functions compiled from it. `compile(module)` calls `forward`. A parameter may be assigned
// another tensor, before and after compiling (`layer.weight = t`): functions see it at their next
// call.
#pragma once

#include <functional>
#include <map>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/functions/quantized.h"
#include "graph/tensor/tensor.h"
#include "models/weights/weights.h"

namespace tilewright {

struct NamedParameter {
  std::string name;
  Tensor& tensor;
};

// How far loading has come.
struct LoadProgress {
  std::string_view name;     // of the parameter that is being read
  std::int64_t bytes_done;   // of the weights, as they are stored
  std::int64_t bytes_total;  // that will be read
};

struct LoadOptions {
  bool strict = true;  // parameters without weights, and weights without a parameter, are errors
  // Weights of these names are passed over.
  std::function<bool(std::string_view name)> ignore = {};
  // Called on this thread when a parameter is begun and after each piece of some MiB of it.
  std::function<void(const LoadProgress&)> progress = {};
};

// The weights that keep the format that files have them in, by name.
using PackedNames = std::map<std::string, quant::Format, std::less<>>;

class Module {
 public:
  Module() = default;
  virtual ~Module() = default;
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  // The names under which this was registered, the outermost first, joined with dots; empty for a
  // module that is not part of another. Errors name it.
  const std::string& path() const { return path_; }

  // The modules that are registered in this one, in the order of registration.
  std::vector<const Module*> parts() const;
  // True if these are modules of a kind one after the other, of which compile_regions makes blocks.
  virtual bool is_list() const { return false; }

  // Own parameters first, then those of the parts, in the order of registration.
  std::vector<NamedParameter> named_parameters();
  std::int64_t parameter_count();
  // Tensors that are no parameters but are saved and loaded with them, running statistics say.
  std::vector<NamedParameter> named_buffers();
  // Parameters and named buffers, PyTorch's state_dict: handles that share their bytes.
  std::map<std::string, Tensor> state();

  // Moves parameters and buffers, of the parts too, to a device. A function compiled from this
  // module follows: it is compiled for that device at its next call.
  void to(const Device& device);
  // Converts floating parameters and buffers, of the parts too, to this floating dtype. They become
  // other tensors.
  void to(DType dtype, std::source_location w = std::source_location::current());

  // Sets whether the module and its parts are trained, as they are at first, or evaluated: dropout
  // depends on it. A function compiled from the module follows at its next call.
  virtual void train(bool is_training = true);
  void eval() { train(false); }

  // Turns the weights of linear layers, of the parts too, into integers of 8 or 4 bits with scales
  // (graph/functions/quantized.h). These weights are not parameters any more and take only the
  // memory of the integers; biases stay as they are. A function that was compiled from this module
  // before is compiled again at its next call. Raises `Error` that names the first layer whose rows
  // the groups do not divide, or that is quantised already; layers before it are quantised then.
  // Raises it too where nothing was quantised, as in programs that were exported, which keep their
  // weights.
  void quantize(const QuantizeOptions& options,
                std::source_location w = std::source_location::current());

  // Takes over the weights of linear layers, of the parts too, that are quantised in the files:
  // they stay packed, are decoded within products, and are not parameters any more. Returns their
  // names, which `load` is to pass over; others, and those that do not come in whole groups, are
  // left to it, which decodes them.
  PackedNames pack(const Weights& weights);
  // The part with that path, joined with dots; none where there is no such part.
  Module* find(std::string_view path);

  // Copies weights into the memory of parameters and named buffers, converting floating types; a
  // function compiled from this module sees them, also where a parameter was assigned another
  // tensor since. Raises `Error` "[load] ..." that lists the names that are missing, unexpected, or
  // of another shape, and those that are frozen (Options::freezing), before anything is written.
  void load(const Weights& weights, const LoadOptions& options = {},
            std::source_location w = std::source_location::current());

 protected:
  // For constructors. `tensor` and `part` must live as long as this module; names are not empty
  // and unique within it.
  void register_parameter(std::string name, Tensor& tensor);
  void register_module(std::string name, Module& part);
  // Implements `quantize`; returns how many weights became integers. Here: that of the parts.
  virtual int quantize_weights(const QuantizeOptions& options, std::source_location w);
  // For `quantize_weights`: replaces `weight` by integers rounded from `rows` [out, in], a view of
  // it. They become buffers, and the weight, if registered under this name, is not a parameter any
  // more.
  void quantize_weight(std::string_view name, Tensor& weight, const Tensor& rows,
                       QuantizedWeight& into, const QuantizeOptions& options,
                       std::source_location w = std::source_location::current());
  // Implements `pack`. Here: that of the parts.
  virtual void pack_weights(const Weights& weights, PackedNames& names);
  // The tensor of that name is no parameter any more; nothing where it was none.
  void retire_parameter(std::string_view name);
  // Likewise of a buffer without a name, before it goes away.
  void retire_buffer(Tensor& tensor);
  // A tensor that is not a parameter but lies where they do: a table, a cache. With a name it is
  // part of the state.
  void register_buffer(Tensor& tensor);
  void register_buffer(std::string name, Tensor& tensor);

 private:
  using OwnTensors = std::vector<std::pair<std::string, Tensor*>>;
  void collect(OwnTensors Module::*own, const std::string& prefix,
               std::vector<NamedParameter>& into);
  std::vector<NamedParameter> named_state();
  void collect_buffers(std::vector<Tensor*>& into);
  void require_new_name(const std::string& name) const;
  void prepend_to_path(const std::string& name);
  OwnTensors parameters_, named_buffers_;
  std::vector<std::pair<std::string, Module*>> parts_;
  std::vector<Tensor*> buffers_;
  std::string path_;
};

// A module that is called: `layer(x)` is `layer.forward(x)`. A base class does not know the
// functions of the class that is derived from it, so that class is its argument:
//
//   struct Rectifier : CallableModule<Rectifier> {
//     Tensor forward(const Tensor& x) const { return relu(x); }
//   };
template <typename Derived>
class CallableModule : public Module {
 public:
  template <typename... Given>
  requires requires(Derived& own, Given&&... given) { own.forward(std::forward<Given>(given)...); }
  decltype(auto) operator()(Given&&... given) {
    return static_cast<Derived&>(*this).forward(std::forward<Given>(given)...);
  }
  template <typename... Given>
  requires requires(const Derived& own, Given&&... given) {
    own.forward(std::forward<Given>(given)...);
  }
  decltype(auto) operator()(Given&&... given) const {
    return static_cast<const Derived&>(*this).forward(std::forward<Given>(given)...);
  }
};

}  // namespace tilewright
