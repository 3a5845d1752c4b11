// The sections limits and rows: what runs at the speed of memory, and that speed.
#include <fmt/format.h>

#include "runtime/cuda/context.h"
#include "tools/bench/beside.h"
#include "tools/bench/device_clock.h"
#include "tools/bench/kernel_case.h"

namespace tilewright::tools {
namespace {

using Tensors = std::vector<Tensor>;

struct RowFunction {
  const char* name;
  int passes;  // over a matrix, ideally
  bool has_second = false;
  Tensors (*function)(const Tensors&);  // of two matrices, two vectors, targets
};

const RowFunction row_functions[] = {
    {"softmax", 2, false, [](const Tensors& a) { return Tensors{softmax(a[0], -1)}; }},
    {"layer_norm", 2, false,
     [](const Tensors& a) { return Tensors{layer_norm(a[0], a[1], a[2])}; }},
    {"rms_norm+residual", 4, true,
     [](const Tensors& a) {
       Tensor total = a[0] + a[4];
       return Tensors{rms_norm(total, a[1]), total};
     }},
    {"gelu+bias", 2, false,
     [](const Tensors& a) { return Tensors{gelu(a[0] + a[1], GeluForm::tanh)}; }},
    {"silu*mul", 3, true, [](const Tensors& a) { return Tensors{silu(a[0]) * a[4]}; }},
    {"cross_entropy", 1, false,
     [](const Tensors& a) {
       return Tensors{cross_entropy(a[0], a[3], {.reduction = LossReduction::none})};
     }},
};

KernelCase row_case(const RowFunction& f, DType dtype, std::int64_t rows, std::int64_t columns) {
  KernelCase c;
  c.name = fmt::format("{} {} {}x{}", f.name, name_of(dtype), rows, columns);
  CaseArgument matrix{.dtype = dtype, .shape = {rows, columns}, .sampled = 0};
  CaseArgument vector{.dtype = dtype, .shape = {columns}};
  c.arguments = {
      matrix, vector, vector, {.dtype = i64, .shape = {rows}, .below = columns, .sampled = 0}};
  if (f.has_second) c.arguments.push_back(matrix);
  c.function = f.function;
  c.bytes = static_cast<double>(f.passes) * static_cast<double>(rows * columns * size_bytes(dtype));
  c.sampled_result = 0;
  c.peer = {{"op", f.name}};
  c.limit = f.passes == 1 ? HostLimit::read : HostLimit::copy;
  return c;
}

// The driver's own copy and fill, which no kernel of ours can be wrong in.
nlohmann::json driver_row(const Device& device, std::int64_t bytes, double counted, int rounds,
                          const std::function<void(cuda::Context&, void*, void*)>& work) {
  Tensor from = Tensor::empty({bytes}, u8, device), to = Tensor::empty({bytes}, u8, device);
  poison(from);
  cuda::Context& context = cuda::context(device.ordinal());
  Timing time =
      device_times(device, {[&] { work(context, to.data(), from.data()); }}, rounds).front();
  return {{"seconds", time.median},
          {"least", time.least},
          {"p90", time.p90},
          {"bytes", counted},
          {"rate", counted / 1e9 / time.median},
          {"unit", "GB/s"}};
}

// The loops of host_limits.h alone, on one thread and on all.
void bench_host_limits(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  int all = thread_count();
  for (int threads : {1, all}) {
    Threads scope(threads);
    for (HostLimit limit :
         {HostLimit::copy, HostLimit::read, HostLimit::f32, HostLimit::bf16, HostLimit::int8}) {
      bool is_memory = limit == HostLimit::copy || limit == HostLimit::read;
      if (settings.tiny && is_memory) continue;
      for (const LimitLoop& loop : limit_loops(limit))
        log.run(fmt::format("{}: {}, {} thread{}", name_of(limit), loop.name, threads,
                            threads == 1 ? "" : "s"),
                [&] {
                  nlohmann::json row;
                  time_beside(row, {.ours = loop.run, .work = loop.work}, settings);
                  row["rate"] = loop.work / row["seconds"].get<double>() / (is_memory ? 1e9 : 1e12);
                  row["unit"] = is_memory ? "GB/s" : "TFLOP/s";
                  row["threads"] = threads;
                  return row;
                });
    }
    if (all == 1) break;
  }
}

}  // namespace

void bench_limits(BenchLog& log) {
  const BenchSettings& settings = log.settings();
  if (is_host(settings)) bench_host_limits(log);
  std::int64_t size = settings.tiny ? 1 << 16 : std::int64_t{1} << 30;
  auto bytes = static_cast<double>(size);
  if (settings.device.is_cuda()) {
    log.run("copy by the driver", [&] {
      return driver_row(settings.device, size, 2 * bytes, settings.rounds,
                        [&](auto& c, void* to, void* from) { c.copy(to, from, size); });
    });
    log.run("fill by the driver", [&] {
      return driver_row(settings.device, size, bytes, settings.rounds,
                        [&](auto& c, void* to, void*) { c.fill(to, 1, size); });
    });
  }
  CaseArgument matrix{.dtype = f32, .shape = {size / 4096, 1024}, .sampled = 0};
  std::vector<KernelCase> cases(3);
  cases[0] = {.name = "scale f32", .arguments = {matrix}, .bytes = 2 * bytes, .sampled_result = 0};
  cases[0].function = [](const Tensors& a) { return Tensors{a[0] * 1.5}; };
  cases[1] = {.name = "read f32", .arguments = {matrix}, .bytes = bytes, .sampled_result = 0};
  cases[1].function = [](const Tensors& a) { return Tensors{sum(a[0], {1})}; };
  cases[2] = {
      .name = "add f32", .arguments = {matrix, matrix}, .bytes = 3 * bytes, .sampled_result = 0};
  cases[2].function = [](const Tensors& a) { return Tensors{a[0] + a[1]}; };
  bench_kernels(log, cases);
}

void bench_device_rows(BenchLog& log) {
  std::vector<KernelCase> cases;
  auto add = [&](const char* name, DType dtype, std::int64_t rows, std::int64_t columns) {
    for (const RowFunction& f : row_functions)
      if (std::string_view(name) == f.name || std::string_view(name) == "all")
        cases.push_back(row_case(f, dtype, rows, columns));
  };
  if (log.settings().tiny) {
    add("all", bf16, 24, 130);
  } else if (is_host(log.settings())) {
    add("all", f32, 4096, 4096);
    add("all", f32, 512, 50257);
    add("all", bf16, 4096, 4096);
  } else {
    add("all", bf16, 16384, 4096);
    for (std::int64_t columns : {1024, 8192, 32768, 131072})
      add("softmax", f32, (std::int64_t{1} << 27) / columns, columns);
    for (std::int64_t columns : {1024, 8192, 32768})
      for (const char* name : {"rms_norm+residual", "layer_norm"})
        add(name, bf16, (std::int64_t{1} << 27) / columns, columns);
    add("cross_entropy", bf16, 8192, 128256);
    add("softmax", bf16, 2048, 131072);
    add("layer_norm", f32, 16384, 4096);
  }
  bench_kernels(log, cases);
}

}  // namespace tilewright::tools
