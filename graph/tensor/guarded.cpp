#include "graph/tensor/guarded.h"

#include <cmath>
#include <locale>
#include <sstream>

namespace tilewright::graph {

std::string printed(const void* value, void (*print)(std::ostream& out, const void* value)) {
  std::ostringstream out;
  out.exceptions(std::ios_base::badbit);
  out.imbue(std::locale::classic());
  out << std::boolalpha;
  print(out, value);
  return out.str();
}

bool is_same_floating(long double a, long double b) {
  return (a == b && std::signbit(a) == std::signbit(b)) || (a != a && b != b);
}

}  // namespace tilewright::graph
