// The names of the products of a warpgroup, and their meaning.
//
//   wgmma_m64n128k16_bf16_ss        d, a and b: 64 x 128 x 16, both from shared memory
//   wgmma_m64n128k16_bf16_rs_tb     a from registers, b stored with n innermost
//   wgmma_m64n128k16_bf16_ss_x4     four of them, one after the other into the same accumulators
//   wgmma_wait_1_f64                until all groups but one are finished, tied to 64 accumulators
//
// Accumulators come first, then for each product a (a descriptor l, or four registers i) and the
// descriptor of b, last a number that is 0 where the first must not be added to d. There are too
// many forms for rows of a table: their signatures and PTX follow from the name. Types: those of
// number_formats.def, with f32 accumulators; s8 with i32 ones. Suffixes ta and tb, for 16-bit
// types: a or b with m or n innermost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "dsl/target/number_formats.h"

namespace tilewright::dsl::emulator {

struct WgmmaForm {
  int columns = 0;  // n
  Format format = {};
  bool a_in_registers = false, transposes_a = false, transposes_b = false;
  int steps = 1;  // products, 1 to 16

  int depth() const { return 32 / bytes_of(format); }
  int accumulators() const { return columns / 2; }  // registers of a thread
  char accumulator_letter() const { return format == Format::s8 ? 'i' : 'f'; }
};

struct WgmmaWait {
  int groups = 0;        // that may be left unfinished
  int accumulators = 0;  // registers of a thread
  char letter = 'f';
};

std::optional<WgmmaForm> parse_wgmma(std::string_view name);
std::optional<WgmmaWait> parse_wgmma_wait(std::string_view name);

// The instruction with its operands, as inline assembly "text | constraints".
std::string ptx_of(const WgmmaForm& form);
std::string ptx_of(const WgmmaWait& wait);

}  // namespace tilewright::dsl::emulator
