// The parameters that an optimizer trains, and groups of them with options of their own.
//
//   AdamW optimizer(net, {.lr = 3e-4, .weight_decay = 0.1},
//                   {{"*.bias", [](AdamWOptions& o) { o.weight_decay = 0; }}});
//
// A group is a filter of parameters and a change of the options. A parameter belongs to the first
// group whose filter it passes, and to the group of all others if it passes none. Groups are
// counted from 0, the others first.
#pragma once

#include <functional>
#include <initializer_list>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/layers/module.h"

namespace tilewright {

// True for some parameters: by their names, in which `*` stands for any text and `?` for any
// character, or by a function of name and tensor.
class ParameterFilter {
 public:
  using Function = std::function<bool(std::string_view name, const Tensor& parameter)>;
  ParameterFilter(const char* pattern) : ParameterFilter({std::string_view(pattern)}) {}
  ParameterFilter(const std::string& pattern) : ParameterFilter({std::string_view(pattern)}) {}
  ParameterFilter(std::initializer_list<std::string_view> patterns);  // any of them
  template <typename F>
  requires std::is_invocable_r_v<bool, const F&, std::string_view, const Tensor&> ParameterFilter(
      F function)
      : function_(std::move(function)), text_("a function") {}

  bool operator()(const NamedParameter& parameter) const {
    return function_(parameter.name, parameter.tensor);
  }
  const std::string& text() const { return text_; }  // for messages

 private:
  Function function_;
  std::string text_;
};

template <typename Options>
struct ParameterGroup {
  ParameterFilter parameters;
  std::function<void(Options& options)> change;
};

// The floating parameters of a module, each tensor once: under its first name where two layers
// share it.
std::vector<NamedParameter> trainable_parameters(Module& module);
// Those of them that pass the filter. Raises `Error` if none does.
std::vector<NamedParameter> trainable_parameters(
    Module& module, const ParameterFilter& filter,
    std::source_location w = std::source_location::current());

namespace detail {
// For each parameter the group that it belongs to. Raises `Error` for a filter that no parameter
// passes, since it is misspelt.
std::vector<std::size_t> groups_of(std::string_view optimizer,
                                   const std::vector<NamedParameter>& parameters,
                                   const std::vector<ParameterFilter>& filters,
                                   std::source_location w);
}  // namespace detail

}  // namespace tilewright
