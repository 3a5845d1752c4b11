// A name for a tile, by which the debugger shows it and watches it (debugger/interpretation.h), and
// which stands in the text of the program: `%7.scores`. Code and its caches do not depend on it.
#pragma once

#include <string>

#include "dsl/language/tile.h"

namespace tilewright::dsl {

// The tile itself. Several tiles may have one name, as those of an unrolled loop have. A name is a
// letter or _, then letters, digits and _; raises `Error` with the line of the call for other
// names, and for operands that are not tiles.
Tile named(const Operand& tile, const std::string& name);

}  // namespace tilewright::dsl
