// The sections gemm, prefill and decode: products of matrices, and attention of one row.
#include <fmt/format.h>

#include "tools/bench/kernel_case.h"
#include "tools/bench/sections/host_products.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

// x [m, k] times w [n, k] transposed; with few rows a part of the columns is compared, otherwise a
// part of the rows.
KernelCase linear_case(std::string name, DType dtype, std::int64_t m, std::int64_t n,
                       std::int64_t k) {
  bool few = m <= 16;
  double size = static_cast<double>(size_bytes(dtype));
  double elements =
      static_cast<double>(m) * k + static_cast<double>(n) * k + static_cast<double>(m) * n;
  KernelCase c;
  c.name = std::move(name);
  c.arguments = {{.dtype = dtype, .shape = {m, k}, .sampled = few ? -1 : 0},
                 {.dtype = dtype, .shape = {n, k}, .deviation = 0.02, .sampled = few ? 0 : -1}};
  c.function = [](const Tensors& a) { return Tensors{linear(a[0], a[1])}; };
  c.flops = few ? 0 : 2.0 * static_cast<double>(m) * n * k;
  c.bytes = elements * size;
  c.sampled_result = few ? 1 : 0;
  c.peer = {{"op", "linear"}};
  c.limit = few ? HostLimit::read : HostLimit::none;
  return c;
}

struct LlamaSizes {
  const char* name;
  std::int64_t hidden, inner, heads, kv_heads, head_size, vocabulary;
};
constexpr LlamaSizes llamas[] = {{"1B", 2048, 8192, 32, 8, 64, 128256},
                                 {"3B", 3072, 8192, 24, 8, 128, 128256}};
constexpr LlamaSizes tiny_llama = {"tiny", 64, 128, 4, 2, 16, 96};

std::vector<LlamaSizes> llamas_of(const BenchSettings& settings) {
  if (settings.tiny) return {tiny_llama};
  if (is_host(settings)) return {llamas[0]};
  return {std::begin(llamas), std::end(llamas)};
}

struct Layer {
  const char* name;
  std::int64_t n, k;
};
std::vector<Layer> layers_of(const LlamaSizes& s) {
  return {{"qkv", (s.heads + 2 * s.kv_heads) * s.head_size, s.hidden},
          {"o", s.hidden, s.heads * s.head_size},
          {"gate_up", 2 * s.inner, s.hidden},
          {"down", s.hidden, s.inner},
          {"lm_head", s.vocabulary, s.hidden}};
}

// silu(x gate^T) * (x up^T), which a library of products does in three kernels.
KernelCase gated_case(const LlamaSizes& s, std::int64_t m) {
  KernelCase c =
      linear_case(fmt::format("{} silu(gate)*up M={} N={} K={} bf16", s.name, m, s.inner, s.hidden),
                  bf16, m, s.inner, s.hidden);
  c.arguments.push_back(c.arguments.back());
  c.function = [](const Tensors& a) {
    return Tensors{silu(linear(a[0], a[1])) * linear(a[0], a[2])};
  };
  c.peer = {{"op", "gated"}};
  c.flops *= 2;
  c.bytes += static_cast<double>(s.inner * s.hidden * 2);
  return c;
}

KernelCase one_row_attention(const LlamaSizes& s, std::int64_t keys) {
  KernelCase c;
  c.name = fmt::format("{} attention of 1 row, {} keys, {} of {} heads, bf16", s.name, keys,
                       s.kv_heads, s.heads);
  CaseArgument kv{.dtype = bf16, .shape = {1, s.kv_heads, keys, s.head_size}};
  c.arguments = {{.dtype = bf16, .shape = {1, s.heads, 1, s.head_size}}, kv, kv};
  c.function = [](const Tensors& a) {
    return Tensors{scaled_dot_product_attention(a[0], a[1], a[2])};
  };
  c.bytes = 2.0 * static_cast<double>(element_count(kv.shape)) * 2;
  c.peer = {{"op", "attention"}};
  c.limit = HostLimit::read;
  return c;
}

}  // namespace

void bench_gemm(BenchLog& log) {
  std::vector<KernelCase> cases;
  auto add = [&](DType dtype, std::int64_t m, std::int64_t n, std::int64_t k) {
    cases.push_back(
        linear_case(fmt::format("{} {}x{}x{}", name_of(dtype), m, n, k), dtype, m, n, k));
  };
  if (log.settings().tiny) {
    add(bf16, 136, 128, 72);
    add(f32, 40, 24, 32);
    if (is_host(log.settings()))
      cases.insert(cases.end(), {quantized_case("int8 40x24x32", WeightFormat::int8, 40, 24, 32),
                                 int8_case("i8 64x48x40", 64, 48, 40)});
  } else if (is_host(log.settings())) {
    for (std::int64_t n : {512, 1024, 2048, 4096}) {
      add(bf16, n, n, n);
      add(f32, n, n, n);
      cases.push_back(
          quantized_case(fmt::format("int8 {}x{}x{}", n, n, n), WeightFormat::int8, n, n, n));
      cases.push_back(int8_case(fmt::format("i8 {}x{}x{}", n, n, n), n, n, n));
    }
    for (KernelCase& c : cases) c.arguments[1].constant = true;
    cases = on_one_thread_and_all(cases);
  } else {
    add(bf16, 4096, 4096, 4096);
    add(bf16, 8192, 8192, 8192);
    add(f16, 4096, 4096, 4096);
    add(bf16, 2048, 2048, 2048);
    add(bf16, 1024, 1024, 1024);
    add(bf16, 8192, 8192, 1024);
    add(bf16, 6144, 6144, 6144);
    add(bf16, 3072, 3072, 3072);  // two waves of tiles and a tail on an H100
    add(bf16, 512, 4096, 14336);
    add(bf16, 1000, 1032, 520);
    add(f32, 4096, 4096, 4096);
    KernelCase plain = linear_case("bf16 4096x4096x4096, b [k, n]", bf16, 4096, 4096, 4096);
    plain.function = [](const Tensors& a) { return Tensors{matmul(a[0], a[1])}; };
    cases.push_back(std::move(plain));
  }
  bench_kernels(log, cases);
}

void bench_prefill(BenchLog& log) {
  std::vector<KernelCase> cases;
  std::vector<std::int64_t> rows = {2048, 128};
  if (is_host(log.settings())) rows = {512};
  if (log.settings().tiny) rows = {24};
  for (std::int64_t m : rows)
    for (const LlamaSizes& s : llamas_of(log.settings())) {
      for (const Layer& layer : layers_of(s))
        if (layer.n != s.vocabulary)
          cases.push_back(linear_case(
              fmt::format("{} {} M={} N={} K={} bf16", s.name, layer.name, m, layer.n, layer.k),
              bf16, m, layer.n, layer.k));
      cases.push_back(gated_case(s, m));
    }
  bench_kernels(log, cases);
}

void bench_decode(BenchLog& log) {
  std::vector<KernelCase> cases;
  bool tiny = log.settings().tiny;
  for (const LlamaSizes& s : llamas_of(log.settings())) {
    for (std::int64_t m : {1, 8})
      for (const Layer& layer : layers_of(s))
        cases.push_back(linear_case(
            fmt::format("{} {} M={} N={} K={} bf16", s.name, layer.name, m, layer.n, layer.k), bf16,
            m, layer.n, layer.k));
    cases.push_back(gated_case(s, 1));
    if (is_host(log.settings()))
      for (auto [format, name] :
           {std::pair(WeightFormat::int8, "int8"), std::pair(WeightFormat::int4, "int4")})
        for (const Layer& layer : layers_of(s))
          cases.push_back(quantized_case(
              fmt::format("{} {} M=1 N={} K={} {}", s.name, layer.name, layer.n, layer.k, name),
              format, 1, layer.n, layer.k));
    for (std::int64_t keys :
         tiny ? std::vector<std::int64_t>{40} : std::vector<std::int64_t>{1024, 16384})
      cases.push_back(one_row_attention(s, keys));
  }
  bench_kernels(log, cases);
}

// The time of each case with block sizes by rule, and with those that tuning chose.
void bench_tune(BenchLog& log) {
  std::vector<KernelCase> cases;
  if (log.settings().tiny) {
    cases.push_back(linear_case("bf16 64x64x32", bf16, 64, 64, 32));
  } else {
    for (std::int64_t m : {4096, 512, 128, 1})
      cases.push_back(linear_case(fmt::format("bf16 {}x4096x4096", m), bf16, m, 4096, 4096));
    cases.push_back(linear_case("bf16 2048x16384x3072", bf16, 2048, 16384, 3072));
    cases.push_back(linear_case("bf16 3072x3072x3072", bf16, 3072, 3072, 3072));
  }
  RandomData data(log.settings().device.memory() != nullptr ? log.settings().device
                                                            : Device::cpu());
  for (const KernelCase& c : cases)
    log.run(c.name, [&] {
      BenchSettings settings = log.settings();
      settings.mode = Mode::reduce_overhead;
      nlohmann::json ruled = measure_kernel(c, data, settings);
      settings.mode = Mode::max_autotune;
      nlohmann::json tuned = measure_kernel(c, data, settings);
      tuned["by_rule_s"] = ruled["seconds"];
      tuned["ok"] = ruled["ok"].get<bool>() && tuned["ok"].get<bool>();
      return tuned;
    });
}

}  // namespace tilewright::tools
