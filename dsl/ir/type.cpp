#include "dsl/ir/type.h"

#include <ostream>

#include "runtime/base/error.h"

namespace tilewright::ir {

std::string to_string(const Type& type) {
  std::string text{name_of(type.dtype)};
  if (type.is_pointer()) text = "ptr<" + text + ">";
  if (type.is_descriptor()) return "desc<" + text + ", " + std::to_string(type.desc_rank) + ">";
  return type.is_scalar() ? text : text + "[" + to_string(type.shape) + "]";
}

std::ostream& operator<<(std::ostream& out, const Type& type) { return out << to_string(type); }

}  // namespace tilewright::ir
