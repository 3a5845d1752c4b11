#include "runtime/base/error.h"

#include <string_view>

namespace tilewright {

void raise_error(const std::string& message) { throw Error(message); }

void raise_error_of(std::initializer_list<TextPart> message) { throw Error(concat_parts(message)); }

void raise_internal_error(const std::string& message, std::source_location where) {
  throw InternalError(concat("internal error at ", describe(where), " in ", where.function_name(),
                             ": ", message, "; this is a bug in Tilewright"));
}

std::string describe(std::source_location where) {
  std::string_view file = where.file_name();
  if (auto slash = file.rfind('/'); slash != file.npos) file.remove_prefix(slash + 1);
  return concat(file, ":", where.line());
}

}  // namespace tilewright
