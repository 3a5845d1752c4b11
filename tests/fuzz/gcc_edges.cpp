// Functions that gcc calls at edges and comparisons, where libFuzzer expects clang's only. Edges
// are counted, by a hash of where they are, in counters that libFuzzer does take; it is linked
// before libFuzzer's own function of that name, which ends the process.
#include <cstddef>
#include <cstdint>

extern "C" void __sanitizer_cov_8bit_counters_init(std::uint8_t* begin, std::uint8_t* end);

namespace {

constexpr std::size_t edges = 1 << 16;
std::uint8_t counters[edges];

[[gnu::constructor]] void announce() {
  __sanitizer_cov_8bit_counters_init(counters, counters + edges);
}

}  // namespace

extern "C" void __sanitizer_cov_trace_pc() {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  ++counters[(place ^ place >> 16) % edges];
}
extern "C" void __sanitizer_cov_trace_cmpf(float, float) {}
extern "C" void __sanitizer_cov_trace_cmpd(double, double) {}
