#include "dsl/language/words/naming.h"

#include <algorithm>

#include "dsl/language/operands.h"

namespace tilewright::dsl {
namespace {

bool is_name(const std::string& text) {
  auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  auto may_follow = [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); };
  return !text.empty() && is_letter(text.front()) && std::ranges::all_of(text, may_follow);
}

}  // namespace

Tile named(const Operand& tile, const std::string& name) {
  OperationUse site("named", tile.where);
  site.expect(is_name(name), "\"", name,
              "\" is not a name; a name is a letter or _, then letters, digits and _");
  Tile value = site.tile(tile);
  site.tracer().name_value(value.value(), name);
  return value;
}

}  // namespace tilewright::dsl
