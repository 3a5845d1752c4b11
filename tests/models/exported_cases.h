// PyTorch's results for an exported program, as scripts of tools/ write them to a cases.json:
// tensors with their shape, dtype and values.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing {

inline nlohmann::json case_of(const std::filesystem::path& folder, const std::string& name) {
  std::ifstream file(folder / "cases.json");
  return nlohmann::json::parse(file)[name];
}

inline std::optional<DType> integer_named(const std::string& name) {
  for (const auto& [other, dtype] :
       {std::pair{"int64", i64}, {"int32", i32}, {"int16", i16}, {"int8", i8}, {"uint8", u8}})
    if (name == other) return dtype;
  return std::nullopt;
}

inline Tensor tensor_of(const nlohmann::json& described) {
  const Shape shape(described["shape"].get<std::vector<std::int64_t>>());
  const std::string dtype = described["dtype"];
  std::vector<double> values;
  for (const nlohmann::json& value : described["values"])  // "nan" and "-inf" are strings
    values.push_back(value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr)
                                       : value.get<double>());
  if (dtype == "float64") return Tensor::from(values, shape);
  if (const auto kind = integer_named(dtype))
    return Tensor::from(std::vector<std::int64_t>(values.begin(), values.end()), shape).to(*kind);
  Tensor floats = Tensor::from(std::vector<float>(values.begin(), values.end()), shape);
  if (dtype == "bfloat16") return floats.to(bf16);
  return dtype == "bool" ? floats.to(DType::boolean) : floats;
}

inline std::vector<Tensor> tensors_of(const nlohmann::json& list) {
  std::vector<Tensor> tensors;
  for (const nlohmann::json& each : list) tensors.push_back(tensor_of(each).clone());
  return tensors;
}

// Floats to 1e-5 of what is right; infinities and NaN as they are.
inline void expect_near(const std::vector<Tensor>& got, const nlohmann::json& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor right_tensor = tensor_of(wanted[i]);
    ASSERT_EQ(got[i].shape(), right_tensor.shape()) << i;
    ASSERT_EQ(got[i].dtype(), right_tensor.dtype()) << i;
    const std::vector<double> values = got[i].to(f64).to_vector<double>();
    const std::vector<double> right = right_tensor.to(f64).to_vector<double>();
    for (std::size_t k = 0; k < values.size(); ++k) {
      if (values[k] == right[k] || (std::isnan(values[k]) && std::isnan(right[k]))) continue;
      ASSERT_NEAR(values[k], right[k], 1e-5 * (1 + std::abs(right[k]))) << i << ", " << k;
    }
  }
}

}  // namespace tilewright::testing
