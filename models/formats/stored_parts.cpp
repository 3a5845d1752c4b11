#include "models/formats/stored_parts.h"

#include <algorithm>
#include <cstring>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::formats {

std::vector<std::string> Folder::stems(std::string_view ending) const {
  std::vector<std::string> stems;
  for (const std::string& name : stored.names())
    if (name.ends_with(ending)) stems.push_back(name.substr(0, name.size() - ending.size()));
  return stems;
}

void expect_part(const Weights& stored, const std::string& name, const std::vector<DType>& dtypes,
                 const std::optional<Shape>& shape) {
  std::string kinds;
  for (DType dtype : dtypes) kinds += concat(kinds.empty() ? "" : " or ", dtype);
  std::string wanted = shape ? concat(kinds, " ", *shape) : kinds;
  require(stored.contains(name), "[", formats_operation, "] there is no tensor \"",
          json::excerpt(name), "\"; ", wanted, " is needed to decode the weight beside it");
  const bool fits = std::ranges::find(dtypes, stored.dtype(name)) != dtypes.end() &&
                    (!shape || stored.shape(name) == *shape);
  require(fits, "[", formats_operation, "] tensor \"", json::excerpt(name), "\" is ",
          stored.dtype(name), " ", stored.shape(name), "; ", wanted, " is needed");
}

Tensor part(const Weights& stored, const std::string& name, const std::vector<DType>& dtypes,
            const std::optional<Shape>& shape) {
  expect_part(stored, name, dtypes, shape);
  return stored.tensor(name);
}

std::vector<DType> scale_dtypes() {
  std::vector<DType> dtypes;
  for (DType dtype : all_dtypes())
    if (is_float16(dtype) || dtype == DType::f32) dtypes.push_back(dtype);
  return dtypes;
}

DType dtype_setting(const ConfigFields& fields, std::string_view name, std::string_view missing) {
  const std::string value = fields.text(name, missing);
  std::string known;
  for (DType dtype : scale_dtypes()) {
    std::string spelled(name_of(dtype));
    spelled.replace(spelled.find('f'), 1, "float");
    if (spelled == value) return dtype;
    known += concat(known.empty() ? "" : ", ", spelled);
  }
  refuse_setting(fields, name, value, concat("known are ", known));
}

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.count()));
  const auto* from = static_cast<const std::byte*>(tensor.const_data());
  dispatch(tensor.dtype(), [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < values.size(); ++i) {
      T value;
      std::memcpy(&value, from + i * sizeof(T), sizeof(T));
      values[i] = static_cast<float>(value);
    }
  });
  return values;
}

void refuse_setting(const ConfigFields& config, std::string_view name, const std::string& value,
                    std::string_view wanted) {
  raise_error(concat("[", formats_operation, "] ", config.what(), ": ", config.full_name(name),
                     " is ", json::excerpt(value), "; ", wanted));
}

}  // namespace tilewright::formats
