#include "dsl/language/kernel_knobs.h"

#include <bit>

#include "dsl/ir/function.h"
#include "runtime/base/error.h"

namespace tilewright::dsl {
namespace {

struct KnobRange {
  std::string_view name;
  int Knobs::*value;
  int least, most;
  bool is_power;  // of two
};
constexpr KnobRange knob_ranges[] = {{"num_warps", &Knobs::num_warps, 1, 32, true},
                                     {"num_ctas", &Knobs::num_ctas, 1, 8, true},
                                     {"num_stages", &Knobs::num_stages, 1, 8, false},
                                     {"maxnreg", &Knobs::maxnreg, 24, 255, false}};

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
    if (value > 0 && knob.is_power)
      fits = fits && std::has_single_bit(static_cast<unsigned>(value));
    require(fits, "[", kernel, "] ", knob.name, " is ", value, "; it must be ",
            knob.is_power ? "a power of two from " : "from ", knob.least, " to ", knob.most,
            ", or 0, which leaves it to the compiler");
  }
}

void follow(const Knobs& knobs, ir::Function& function) {
  if (knobs.num_warps != 0) function.warps = knobs.num_warps;
  if (knobs.num_ctas != 0) function.cluster = knobs.num_ctas;
  if (knobs.num_stages != 0) function.most_stages = knobs.num_stages;
  if (knobs.maxnreg != 0) function.most_registers = knobs.maxnreg;
}

std::map<std::string, std::int64_t, std::less<>> values_of(const Knobs& knobs) {
  std::map<std::string, std::int64_t, std::less<>> values;
  for (const KnobRange& knob : knob_ranges) values.emplace(knob.name, knobs.*knob.value);
  return values;
}

Knobs joined(const Knobs& first, const Knobs& second) {
  Knobs result = first;
  for (const KnobRange& knob : knob_ranges)
    if (result.*knob.value == 0) result.*knob.value = second.*knob.value;
  return result;
}

}  // namespace tilewright::dsl
