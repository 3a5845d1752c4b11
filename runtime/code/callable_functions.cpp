#include "runtime/code/callable_functions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "runtime/code/message.h"

// Conversions of half precision, of the compiler's own library: for processors without F16C.
extern "C" {
_Float16 __truncsfhf2(float x);
float __extendhfsf2(_Float16 x);
}

namespace tilewright {
namespace {

template <typename Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(function);
}

std::vector<CallableFunction> sorted_functions() {
  using F = float (*)(float);
  using D = double (*)(double);
  std::vector<CallableFunction> functions = {
#define TILEWRIGHT_LIBM(name) \
  {#name, address_of(static_cast<D>(&::name))}, {#name "f", address_of(static_cast<F>(&::name##f))}
      TILEWRIGHT_LIBM(exp),
      TILEWRIGHT_LIBM(exp2),
      TILEWRIGHT_LIBM(log),
      TILEWRIGHT_LIBM(log2),
      TILEWRIGHT_LIBM(sin),
      TILEWRIGHT_LIBM(cos),
      TILEWRIGHT_LIBM(tanh),
      TILEWRIGHT_LIBM(erf),
      TILEWRIGHT_LIBM(floor),
      TILEWRIGHT_LIBM(ceil),
      TILEWRIGHT_LIBM(roundeven),
#undef TILEWRIGHT_LIBM
      {"fmod", address_of(static_cast<double (*)(double, double)>(&::fmod))},
      {"fmodf", address_of(static_cast<float (*)(float, float)>(&::fmodf))},
      {"fma", address_of(static_cast<double (*)(double, double, double)>(&::fma))},
      {"fmaf", address_of(static_cast<float (*)(float, float, float)>(&::fmaf))},
      {"__truncsfhf2", address_of(&::__truncsfhf2)},
      {"__extendhfsf2", address_of(&::__extendhfsf2)},
      {"write_message", address_of(&write_message)},
      {"memcpy", address_of(&::memcpy)},
      {"memset", address_of(&::memset)},
      {"memmove", address_of(&::memmove)}};
  std::ranges::sort(functions, {}, &CallableFunction::name);
  return functions;
}

}  // namespace

std::span<const CallableFunction> callable_functions() {
  static const std::vector<CallableFunction> functions = sorted_functions();
  return functions;
}

}  // namespace tilewright
