// Members of a foreign JSON document, read with their types checked.
//
// Every error names the file, where in it the member is (a node, an input), the member, its value
// and a valid one. Apart from the meaning of the members, which program.cpp and tensor_data.cpp
// know.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/files/tree.h"
#include "runtime/base/dtype.h"
#include "runtime/base/error.h"

namespace tilewright::exported {

// By PyTorch's number (torch._export.serde.schema.ScalarType); none for complex numbers, and for
// types that PyTorch alone has.
std::optional<DType> dtype_of_number(std::int64_t number);

// For complex numbers (complex64, complex128), the dtype is that of their parts.
struct ElementType {
  DType dtype;
  bool is_complex = false;
};

class Fields {
 public:
  // `file` begins the errors and must outlive this.
  explicit Fields(const std::string& file) : file_(file) {}

  // The owner of the members that are read from now on: "node \"add_1\"".
  void set_place(std::string place) { place_ = std::move(place); }
  const std::string& place() const { return place_; }

  const json::Node& member(const json::Node& object, std::string_view name) const;
  std::string text(const json::Node& object, std::string_view name) const;
  std::int64_t integer(const json::Node& object, std::string_view name) const;
  const std::vector<json::Node>& list(const json::Node& object, std::string_view name) const;
  const std::vector<std::pair<std::string, json::Node>>& members(const json::Node& object,
                                                                 std::string_view name) const;
  // A null counts as missing.
  const json::Node* optional(const json::Node& object, std::string_view name) const;

  // Values by themselves; `name` is what errors call them.
  std::string as_text(const json::Node& value, std::string_view name) const;
  std::int64_t as_integer(const json::Node& value, std::string_view name) const;
  double as_number(const json::Node& value, std::string_view name) const;  // "-Infinity" and so on
  bool as_flag(const json::Node& value, std::string_view name) const;
  const std::vector<json::Node>& as_list(const json::Node& value, std::string_view name) const;
  // The number that PyTorch has for an element type.
  ElementType as_element_type(const json::Node& value, std::string_view name) const;
  // The one member of an object that names its kind: {"as_int": 3}.
  const std::pair<std::string, json::Node>& as_choice(const json::Node& value,
                                                      std::string_view name) const;

  // Raises `Error` that names the file and the place unless `condition` holds.
  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require(condition, "[load_exported] ", file_, ": ", place_, place_.empty() ? "" : ": ",
            parts...);
  }

 private:
  const std::string& file_;
  std::string place_;
};

}  // namespace tilewright::exported
