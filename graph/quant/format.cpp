#include "graph/quant/format.h"

#include <ostream>

namespace tilewright::quant {

const FormatFacts& facts_of(Format format) {
  static constexpr FormatFacts facts[] = {
#define TILEWRIGHT_QUANT_FORMAT(name, bits, block, scales, zeros, values, packing, nesting)     \
  {#name,           bits, block, DType::scales, Zeros::zeros, Values::values, Packing::packing, \
   Nesting::nesting},
#include "graph/quant/formats.def"
#undef TILEWRIGHT_QUANT_FORMAT
  };
  return facts[static_cast<std::size_t>(format)];
}

std::ostream& operator<<(std::ostream& out, Format format) { return out << facts_of(format).name; }

}  // namespace tilewright::quant
