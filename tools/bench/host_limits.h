// The limits of the host, measured: loops of nothing but copying, reading or multiplying, written
// by hand for the instructions that the processor has.
//
// A share of a limit says more than a rate, and only if both come from the same minutes: a case
// runs these loops in turns with its own work.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright::tools {

enum class HostLimit : std::uint8_t {
  none,
  copy,  // bytes read and bytes written, to memory beyond every cache
  read,  // bytes, from there
  f32,   // multiplications and additions, of numbers in registers
  bf16,  // the same, summed in f32
  int8,  // the same, summed in i32
};
const char* name_of(HostLimit limit);

struct LimitLoop {
  std::string name;
  double work;  // of one run: bytes or operations, of all threads
  std::function<void()> run;
};
// The loops that this processor can run, on the present number of threads; all of them are timed,
// since it is not known before which is fastest. For a type without instructions, those of f32.
std::vector<LimitLoop> limit_loops(HostLimit limit);

}  // namespace tilewright::tools
