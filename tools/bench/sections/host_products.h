// Products as the host's sections have them, beside those of every device (products.cpp).
#pragma once

#include "graph/functions/quantized.h"
#include "tools/bench/kernel_case.h"

namespace tilewright::tools {

// x [m, k] in bf16 times a weight [n, k] of 8 bits, or of 4 in groups of 64.
KernelCase quantized_case(std::string name, WeightFormat format, std::int64_t m, std::int64_t n,
                          std::int64_t k);
// a [m, k] times b [n, k] transposed, of integers of 8 bits, summed up in 32 of which 8 are kept.
KernelCase int8_case(std::string name, std::int64_t m, std::int64_t n, std::int64_t k);
// Each case twice, with the number of threads in its name.
std::vector<KernelCase> on_one_thread_and_all(const std::vector<KernelCase>& cases);

}  // namespace tilewright::tools
