// The arguments and results of one node, and the description of one tensor, in PyTorch's schema.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/exported/program/fields.h"
#include "models/exported/program/program.h"

namespace tilewright::exported {

using ValueOf = std::function<ValueId(const std::string& name)>;  // raises for an unknown name

// Raise `Error` by `fields` for members of another form than the schema's, and for unknown kinds of
// arguments.
ArgumentValue read_argument(const Fields& fields, const json::Node& argument, std::string_view name,
                            const ValueOf& value_of);
std::vector<std::string> result_names(const Fields& fields, const json::Node& output);
// The target, name, arguments and results of a node; its source is left out. Arguments without a
// name, as higher-order operators have, are called by their places: "0", "1".
std::string target_of(const Fields& fields, const json::Node& from);
void read_arguments(const Fields& fields, const json::Node& from, Node& node,
                    const ValueOf& value_of);
// The contents of "as_graph" (subgraph.cpp).
GraphArgument read_subgraph(const Fields& fields, const json::Node& content);
// A tensor of complex numbers is described as pairs: with a last axis of 2.
// Sizes of tensors between nodes are not needed, and may be functions that are not known.
struct TensorDescription {
  TensorFacts facts;
  bool is_complex;
  std::string unread = {};  // a size that cannot be read, for require_read
};
TensorDescription read_tensor(const Fields& fields, const json::Node& tensor);
// Nothing where a size or a stride is missing or varies.
std::optional<StorageLayout> read_storage_layout(const Fields& fields, const json::Node& tensor);
// A size, stride or offset: {"as_int": 3} or {"as_expr": ...}.
SizeExpression read_size(const Fields& fields, const json::Node& size, std::string_view name);
void require_read(const Fields& fields, const std::string& unread);

}  // namespace tilewright::exported
