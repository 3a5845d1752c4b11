// Where a thread is, and what concerns it alone.
#include <cmath>
#include <limits>

#include "dsl/emulator/meanings.h"
#include "dsl/emulator/thread_block.h"
#include "runtime/base/tf32.h"

namespace tilewright::dsl::emulator {

void thread_id(const Call& call) { call.results[0].i32 = call.thread.index; }

template <int axis>
void block_id(const Call& call) {
  call.results[0].i32 = static_cast<std::int32_t>(call.block.place()[axis]);
}
template void block_id<0>(const Call&);
template void block_id<1>(const Call&);
template void block_id<2>(const Call&);

template <int axis>
void grid_size(const Call& call) {
  call.results[0].i32 = static_cast<std::int32_t>(call.block.grid()[axis]);
}
template void grid_size<0>(const Call&);
template void grid_size<1>(const Call&);
template void grid_size<2>(const Call&);

void shared_base(const Call& call) { call.results[0].pointer = call.block.shared().base(); }

void exp2_approx(const Call& call) {
  float power = std::exp2(call.operands[0].f32);
  call.results[0].f32 = power < std::numeric_limits<float>::min() ? 0.0F : power;
}

void rsqrt_approx(const Call& call) {
  call.results[0].f32 = static_cast<float>(1 / std::sqrt(double{call.operands[0].f32}));
}

template <Format format>
void to_half(const Call& call) {
  call.results[0].u16 = half_of(format, call.operands[0].f32);
}
template <Format format>
void to_halves(const Call& call) {
  std::uint32_t high = half_of(format, call.operands[0].f32);
  call.results[0].u32 = high << 16 | half_of(format, call.operands[1].f32);
}
#define TILEWRIGHT_NUMBER_FORMAT(...)
#define TILEWRIGHT_HALF_FORMAT(name, ...)           \
  template void to_half<Format::name>(const Call&); \
  template void to_halves<Format::name>(const Call&);
#include "dsl/target/number_formats.def"

void byte_perm(const Call& call) {
  std::uint64_t high = call.operands[1].u32, bytes = high << 32 | call.operands[0].u32;
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) {
    std::uint32_t from = call.operands[2].u32 >> (4 * i) & 7;
    word |= static_cast<std::uint32_t>(bytes >> (8 * from) & 0xFF) << (8 * i);
  }
  call.results[0].u32 = word;
}

void to_tf32(const Call& call) { call.results[0].f32 = round_to_tf32(call.operands[0].f32); }

void no_operation(const Call&) {}

}  // namespace tilewright::dsl::emulator
