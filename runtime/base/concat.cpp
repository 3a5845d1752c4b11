#include "runtime/base/concat.h"

#include <locale>
#include <sstream>

namespace tilewright {

void TextPart::print_characters(std::ostream& out, const void* text) {
  out << static_cast<const char*>(text);
}

std::string concat_parts(std::initializer_list<TextPart> parts) {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);
  out.imbue(std::locale::classic());
  for (const TextPart& part : parts) part.print(out);
  return out.str();
}

}  // namespace tilewright
