#include "models/onnx/file/own_functions.h"

#include "models/files/reader.h"

namespace tilewright::onnx {
namespace {

std::string key_of(const std::string& op, std::string_view overload) {
  return overload.empty() ? op : concat(op, ':', overload);
}

}  // namespace

std::string operator_name(std::string_view domain, std::string_view name) {
  const bool is_default = domain.empty() || domain == "ai.onnx";
  return is_default ? std::string(name) : concat(domain, '.', name);
}

void OwnFunctions::add(Fields message) {
  OwnFunction function;
  std::string_view name, domain, overload;
  while (message.next()) {
    function.size_bytes += message.payload().size();
    switch (message.number()) {
      case 1: name = message.text(); break;
      case 4: function.inputs.push_back(message.text()); break;
      case 5: function.outputs.push_back(message.text()); break;
      case 6: function.attributes.push_back(message.text()); break;
      case 7: function.nodes.push_back(message.message()); break;
      case 9: function.operator_sets.push_back(message.message()); break;
      case 10: domain = message.text(); break;
      case 11: function.defaults.push_back(message.message()); break;
      case 13: overload = message.text(); break;
      default: break;
    }
  }
  function.name = operator_name(domain, name);
  const std::string key = key_of(function.name, overload);
  const bool is_new = functions_.emplace(key, std::move(function)).second;
  message.place().expect(is_new, "two functions have the name \"", json::excerpt(key), '"');
}

const OwnFunction* OwnFunctions::find(const std::string& op, std::string_view overload) const {
  auto found = functions_.find(key_of(op, overload));
  return found == functions_.end() ? nullptr : &found->second;
}

}  // namespace tilewright::onnx
