// Products on the host: weights are constants there, as those of a model are, and each size is
// measured on one thread and on all.
#include "tools/bench/sections/host_products.h"

#include <fmt/format.h>

#include "runtime/cpu/parallel.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

constexpr std::int64_t int4_group = 64;  // weights that share a scale

}  // namespace

KernelCase quantized_case(std::string name, WeightFormat format, std::int64_t m, std::int64_t n,
                          std::int64_t k) {
  bool few = m <= 16, is_int4 = format == WeightFormat::int4;
  std::int64_t groups = is_int4 ? k / int4_group : 1, row_bytes = is_int4 ? k / 2 : k;
  int sampled = few ? 0 : -1;  // with few rows a part of the columns is compared
  KernelCase c;
  c.name = std::move(name);
  c.arguments = {{.dtype = bf16, .shape = {m, k}, .sampled = few ? -1 : 0},
                 {.dtype = is_int4 ? u8 : i8,
                  .shape = {n, row_bytes},
                  .below = is_int4 ? 256 : 127,
                  .sampled = sampled,
                  .constant = true},
                 {.dtype = f32,
                  .shape = {n, groups},
                  .deviation = 1e-3,
                  .sampled = sampled,
                  .constant = true}};
  c.function = [](const Tensors& a) {
    return Tensors{quantized_linear(a[0], {.values = a[1], .scales = a[2], .zeros = {}})};
  };
  c.flops = few ? 0 : 2.0 * static_cast<double>(m) * static_cast<double>(n * k);
  c.bytes = static_cast<double>(2 * m * k + n * row_bytes + 4 * n * groups + 2 * m * n);
  c.sampled_result = few ? 1 : 0;
  c.peer = {{"op", is_int4 ? "linear int4" : "linear int8"}};
  if (few) c.limit = HostLimit::read;
  return c;
}

KernelCase int8_case(std::string name, std::int64_t m, std::int64_t n, std::int64_t k) {
  KernelCase c;
  c.name = std::move(name);
  c.arguments = {{.dtype = i8, .shape = {m, k}, .below = 127, .sampled = 0},
                 {.dtype = i8, .shape = {n, k}, .below = 127}};
  c.function = [](const Tensors& a) { return Tensors{matmul(a[0], a[1].transpose(0, 1), i32)}; };
  c.flops = 2.0 * static_cast<double>(m) * static_cast<double>(n * k);
  c.bytes = static_cast<double>(m * k + n * k + 4 * m * n);
  c.sampled_result = 0;
  c.tolerance = 0;
  c.peer = {{"op", "int8 product"}};
  return c;
}

std::vector<KernelCase> on_one_thread_and_all(const std::vector<KernelCase>& cases) {
  std::vector<KernelCase> both;
  for (const KernelCase& c : cases)
    for (int threads : {1, thread_count()}) {
      both.push_back(c);
      both.back().name += fmt::format(", {} thread{}", threads, threads == 1 ? "" : "s");
      both.back().threads = threads;
      if (thread_count() == 1) break;
    }
  return both;
}

}  // namespace tilewright::tools
