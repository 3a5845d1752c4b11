// A case of pytorch_cases.json as the arguments of a function: tensors, numbers, and options by
// name. The tables of functions (pytorch_cases_test.cpp, pytorch_layers.cpp) read them.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/tensor/tensor.h"

namespace tilewright::pytorch_cases {

using nlohmann::json;
using Tensors = std::vector<Tensor>;

inline double number_of(const json& j) {
  if (!j.is_string()) return j.get<double>();
  double infinity = std::numeric_limits<double>::infinity();
  return j == "nan" ? std::nan("") : j == "inf" ? infinity : -infinity;
}
inline Shape shape_of(const json& j) {
  Shape shape;
  for (const json& size : j) shape.push_back(size.get<std::int64_t>());
  return shape;
}
inline std::vector<int> axes_of(const json& options) {
  return options.contains("axes") ? options["axes"].get<std::vector<int>>() : std::vector<int>();
}

inline Tensor tensor_of(const json& j) {
  DType dtype = *parse_dtype(j["d"].get<std::string>());
  Shape shape = shape_of(j["s"]);
  Tensor tensor = Tensor::empty(shape, dtype);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* elements = static_cast<T*>(tensor.data());
    for (std::size_t i = 0; i < j["v"].size(); ++i)
      if constexpr (std::is_same_v<T, bool>)
        elements[i] = j["v"][i] != 0;
      else if constexpr (std::is_integral_v<T>)
        elements[i] = j["v"][i].get<T>();
      else if constexpr (std::is_same_v<T, double>)
        elements[i] = number_of(j["v"][i]);
      else
        elements[i] = T(static_cast<float>(number_of(j["v"][i])));
  });
  if (j.contains("x")) tensor = tensor.expand(shape_of(j["x"]));
  return j.contains("p") ? tensor.permute(j["p"].get<std::vector<int>>()) : tensor;
}

// A case, and its tensors where they are concrete.
struct Case {
  json text;
  Tensors tensors() const {
    Tensors result;
    for (const json& a : text["a"])
      if (a.is_object()) result.push_back(tensor_of(a));
    return result;
  }
  std::size_t results() const { return text["r"].is_array() ? text["r"].size() : 1; }
  bool raises() const { return text["r"] == "error"; }
  bool writes() const { return text["f"] == "copy_from" || text["f"] == "index_copy_"; }
};

// The arguments of a case, those that are tensors from a list.
struct Arguments {
  const json& text;
  const json options;
  std::vector<TensorOperand> operands;

  Arguments(const Case& c, const Tensors& tensors)
      : text(c.text), options(c.text.contains("o") ? c.text["o"] : json::object()) {
    std::size_t next = 0;
    for (const json& a : text["a"]) {
      if (a.is_object())
        operands.emplace_back(tensors[next++]);
      else if (a.is_boolean())
        operands.emplace_back(a.get<bool>());
      else if (a.is_number_integer())
        operands.emplace_back(a.get<std::int64_t>());
      else
        operands.emplace_back(number_of(a));
    }
  }
  const TensorOperand& operator[](std::size_t i) const { return operands[i]; }
  template <typename T>
  T option(const char* name, T otherwise) const {
    return options.contains(name) ? options[name].get<T>() : otherwise;
  }
  std::vector<int> axes() const { return axes_of(options); }
  bool keep() const { return option("keep", false); }
  std::optional<int> axis() const {
    bool named = options.contains("axis") && !options["axis"].is_null();
    return named ? std::optional(options["axis"].get<int>()) : std::nullopt;
  }
  std::optional<DType> dtype() const {
    return options.contains("dtype") ? parse_dtype(options["dtype"].get<std::string>())
                                     : std::nullopt;
  }
};

using Function = Tensors (*)(const Arguments&);

// Functions with options of their own, by the names that the cases have.
const std::map<std::string, Function>& layer_functions();

}  // namespace tilewright::pytorch_cases
