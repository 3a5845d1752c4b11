#include "graph/ir/attributes.h"

namespace tilewright::graph {

bool is_default(AttributeField field, const Attributes& attributes) {
  static const Attributes defaults;
  switch (field) {
#define TILEWRIGHT_GRAPH_ATTRIBUTE(type, name, initial) \
  case AttributeField::name:                            \
    return is_same_attribute<type>(attributes.name, defaults.name);
#include "graph/ir/attributes.def"
#undef TILEWRIGHT_GRAPH_ATTRIBUTE
  }
  __builtin_unreachable();
}

std::string_view unread_attribute(const Attributes& attributes, AttributeFields fields) {
  std::string_view unread;
  for_each_attribute(attributes, [&](AttributeField field, std::string_view name, const auto&) {
    if (!fields.has(field) && !is_default(field, attributes)) unread = name;
  });
  return unread;
}

}  // namespace tilewright::graph
