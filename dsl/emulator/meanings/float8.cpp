// Conversions of floats of 8 bits, two at a time: the second operand is the lower half.
#include "runtime/base/float8.h"

#include <algorithm>
#include <cmath>

#include "dsl/emulator/meanings.h"
#include "dsl/emulator/thread_block.h"
#include "runtime/base/half.h"

namespace tilewright::dsl::emulator {
namespace {

// The instructions saturate.
float clamped(float value, float most) {
  return std::isnan(value) ? value : std::clamp(value, -most, most);
}

}  // namespace

void to_e4m3x2(const Call& call) {
  auto code = [&](int i) { return e4m3_bits(clamped(call.operands[i].f32, 448)); };
  call.results[0].u16 = static_cast<std::uint16_t>(code(0) << 8 | code(1));
}

void to_e5m2x2(const Call& call) {
  auto code = [&](int i) { return e5m2_bits(clamped(call.operands[i].f32, 57344)); };
  call.results[0].u16 = static_cast<std::uint16_t>(code(0) << 8 | code(1));
}

void from_e4m3x2(const Call& call) {
  auto half = [&](int shift) {
    return half_bits(e4m3_value(static_cast<std::uint8_t>(call.operands[0].u16 >> shift)));
  };
  call.results[0].u32 = std::uint32_t{half(8)} << 16 | half(0);
}

void from_e5m2x2(const Call& call) {
  std::uint32_t codes = call.operands[0].u16;
  call.results[0].u32 = (codes & 0xFF00U) << 16 | (codes & 0xFFU) << 8;
}

}  // namespace tilewright::dsl::emulator
