#include "dsl/language/kernel_knobs.h"

#include <bit>

#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

struct KnobRange {
  std::string_view name;
  int Knobs::*value;
  int least, most;
};
constexpr KnobRange knob_ranges[] = {{"num_warps", &Knobs::num_warps, 1, 32},
                                     {"num_ctas", &Knobs::num_ctas, 1, 8}};

}  // namespace

bool set_knob(Knobs& knobs, std::string_view name, std::int64_t value) {
  for (const KnobRange& knob : knob_ranges)
    if (knob.name == name) {
      knobs.*knob.value = static_cast<int>(value);
      return true;
    }
  return false;
}

void require_knobs(const std::string& kernel, const Knobs& knobs) {
  for (const KnobRange& knob : knob_ranges) {
    const int value = knobs.*knob.value;
    bool fits = value == 0 || (value >= knob.least && value <= knob.most);
    if (value > 0) fits = fits && std::has_single_bit(static_cast<unsigned>(value));
    require(fits, "[", kernel, "] ", knob.name, " is ", value, "; it must be a power of two from ",
            knob.least, " to ", knob.most, ", or 0, which leaves it to the compiler");
  }
}

Knobs joined(const Knobs& first, const Knobs& second) {
  Knobs result = first;
  for (const KnobRange& knob : knob_ranges)
    if (result.*knob.value == 0) result.*knob.value = second.*knob.value;
  return result;
}

}  // namespace tilewright::dsl
