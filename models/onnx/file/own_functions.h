// Functions of a model's own (FunctionProto): operators that the file defines by nodes, as
// PyTorch's exporter writes modules. Calls are replaced by these nodes when the model is read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "models/onnx/file/wire.h"

namespace tilewright::onnx {

struct OwnFunction {
  std::string name;                               // "my.domain.Swish", as nodes have their operator
  std::vector<std::string_view> inputs, outputs;  // names in its nodes
  std::vector<std::string_view> attributes;       // that callers may give, without a default
  std::vector<Fields> defaults;                   // attributes that have one
  std::vector<Fields> nodes;
  std::vector<Fields> operator_sets;
  std::size_t size_bytes = 0;  // of its message
};

class OwnFunctions {
 public:
  // Raises `Error` where two functions have one name.
  void add(Fields message);
  // `overload` tells functions of one name apart; most have none.
  const OwnFunction* find(const std::string& op, std::string_view overload) const;

 private:
  std::unordered_map<std::string, OwnFunction> functions_;
};

// The operator as one name: that of the domain ai.onnx alone, of others "domain.name".
std::string operator_name(std::string_view domain, std::string_view name);

}  // namespace tilewright::onnx
