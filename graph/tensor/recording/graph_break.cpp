#include "graph/tensor/recording/graph_break.h"

#include <utility>

#include "graph/ir/location.h"

namespace tilewright::graph {

// What to do instead, by what was wanted.
static std::string_view remedy(std::string_view operation) {
  if (operation == "item")
    return "express a choice with where(), or return the tensor and read it outside the compiled "
           "function";
  if (operation == "launch")
    return "a captured function has no memory yet: launch kernels outside the compiled function";
  if (operation == "data" || operation == "const_data")
    return "a captured function has no memory yet: hand addresses to kernels and libraries outside "
           "the compiled function";
  return "return the tensor and read it outside the compiled function";
}

GraphBreak::GraphBreak(const std::string& message, std::string operation_, std::string deed_,
                       std::source_location location)
    : Error(message), operation(std::move(operation_)), deed(std::move(deed_)), where(location) {}

DataReadError::DataReadError(std::string_view operation_, std::source_location location)
    : GraphBreak(concat("[", operation_, "] the value is not known while the function is captured",
                        location.line() > 0 ? concat(" (at ", At{location}, ")") : "", "; ",
                        remedy(operation_)),
                 std::string(operation_), "reads data", location) {}

}  // namespace tilewright::graph
