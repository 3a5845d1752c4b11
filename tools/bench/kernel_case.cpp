#include "tools/bench/kernel_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/error.h"
#include "runtime/cpu/parallel.h"
#include "runtime/cuda/context.h"
#include "tools/bench/beside.h"
#include "tools/bench/device_clock.h"
#include "tools/measure/measure.h"

namespace tilewright::tools {
namespace {

constexpr std::int64_t sample_size = 8;       // from either end
constexpr double least_bytes = 256e6;         // of all sets together: several times a cache
constexpr std::int64_t largest_check = 64e6;  // bytes of a result that are looked at for NaNs
constexpr std::size_t most_sets = 48;

using Tensors = std::vector<Tensor>;

double bytes_of(const KernelCase& c) {
  double bytes = 0;
  for (const CaseArgument& a : c.arguments)
    bytes += static_cast<double>(element_count(a.shape) * size_bytes(a.dtype));
  return bytes;
}

std::size_t set_count(const KernelCase& c, const BenchSettings& settings) {
  if (settings.tiny || settings.device.is_emulated()) return 2;
  if (is_host(settings) && c.flops > 0) return 1;  // what computes is at home in the caches
  double sets = std::ceil(least_bytes / std::max({bytes_of(c), c.bytes, 1.0}));
  return std::clamp<std::size_t>(static_cast<std::size_t>(sets), is_host(settings) ? 1 : 2,
                                 most_sets);
}

// The sets with `given` in place of the tensors that are not constant.
Tensors with_given(const KernelCase& c, Tensors all, const Tensors& given) {
  auto next = given.begin();
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!c.arguments[i % c.arguments.size()].constant) all[i] = *next++;
  return all;
}

Tensors call_all(const KernelCase& c, const Tensors& all) {
  Tensors results;
  std::size_t size = c.arguments.size();
  for (std::size_t first = 0; first < all.size(); first += size) {
    auto begin = all.begin() + static_cast<std::ptrdiff_t>(first);
    for (Tensor& result : c.function(Tensors(begin, begin + static_cast<std::ptrdiff_t>(size))))
      results.push_back(std::move(result));
  }
  return results;
}

// The largest error of the results of one set, in the parts that are compared.
double error_of_set(const KernelCase& c, const Tensors& arguments, const Tensors& results) {
  auto part = [](const Tensor& t, int axis, bool is_end) {
    if (axis < 0 || t.size(axis) <= sample_size) return t.to(Device::cpu());
    std::int64_t begin = is_end ? t.size(axis) - sample_size : 0;
    return t.slice(axis, begin, begin + sample_size).to(Device::cpu());
  };
  double worst = 0;
  for (bool is_end : {true, false}) {
    if (!is_end && c.sample_end_only) continue;
    Tensors sampled;
    for (std::size_t i = 0; i < arguments.size(); ++i)
      sampled.push_back(part(arguments[i], c.arguments[i].sampled, is_end));
    Tensors expected = c.function(sampled);
    for (std::size_t i = 0; i < expected.size(); ++i)
      worst =
          std::max(worst, relative_error(part(results[i], c.sampled_result, is_end), expected[i]));
  }
  return worst;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.data(), b.data(),
                     static_cast<std::size_t>(a.count() * size_bytes(a.dtype()))) == 0;
}

// A part of the first and of the last result, on the host.
Tensors ends_of(const Tensors& results) {
  Tensors ends;
  for (const Tensor* t : {&results.front(), &results.back()}) {
    Tensor flat = t->reshape({-1});
    ends.push_back(
        flat.slice(0, 0, std::min<std::int64_t>(flat.count(), 1 << 20)).clone().to(Device::cpu()));
  }
  return ends;
}

HostLimit limit_of(const KernelCase& c) {
  if (c.limit != HostLimit::none) return c.limit;
  if (c.flops <= 0) return HostLimit::copy;
  DType dtype = c.arguments.front().dtype;
  return dtype == bf16 ? HostLimit::bf16 : dtype == i8 ? HostLimit::int8 : HostLimit::f32;
}

// The question that an adapter is asked to time.
nlohmann::json question_of(const KernelCase& c, std::size_t sets) {
  nlohmann::json question = c.peer;
  if (question.is_null()) return question;
  question["sets"] = sets;
  for (const CaseArgument& a : c.arguments)
    question["arguments"].push_back({{"dtype", name_of(a.dtype)},
                                     {"shape", std::vector(a.shape.begin(), a.shape.end())},
                                     {"deviation", a.deviation},
                                     {"below", a.below},
                                     {"constant", a.constant}});
  return question;
}

}  // namespace

double relative_error(const Tensor& a, const Tensor& b) {
  require(a.shape() == b.shape(), "[bench] the result has shape ", a.shape(), ", the host's ",
          b.shape());
  auto x = a.to(f32).to_vector<float>(), y = b.to(f32).to_vector<float>();
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return INFINITY;
    difference += (double(x[i]) - y[i]) * (double(x[i]) - y[i]);
    size += double(y[i]) * y[i];
  }
  return std::sqrt(difference / std::max(size, 1e-30));
}

void poison(const Tensor& tensor) {
  std::int64_t bytes = tensor.count() * size_bytes(tensor.dtype());
  if (tensor.device().is_cuda())
    cuda::context(tensor.device().ordinal()).fill(tensor.data(), 0xff, bytes);
  else
    std::memset(tensor.data(), 0xff, static_cast<std::size_t>(bytes));
}

bool has_nan(const Tensor& tensor) {
  if (!is_floating(tensor.dtype())) return false;
  Tensor flat = tensor.reshape({-1});
  std::int64_t most = largest_check / size_bytes(tensor.dtype());
  std::int64_t pieces = flat.count() <= most ? 1 : 16, size = std::min(flat.count(), most) / pieces;
  for (std::int64_t i = 0; i < pieces; ++i) {
    std::int64_t begin = pieces == 1 ? 0 : (flat.count() - size) / (pieces - 1) * i;
    Tensor part = flat.slice(0, begin, begin + size).to(Device::cpu());
    bool found = dispatch(part.dtype(), [&](auto zero) {
      using T = decltype(zero);
      const T* elements = static_cast<const T*>(part.data());
      for (std::int64_t k = 0; k < size; ++k)
        if (std::isnan(static_cast<float>(elements[k]))) return true;
      return false;
    });
    if (found) return true;
  }
  return false;
}

nlohmann::json measure_kernel(const KernelCase& c, RandomData& data,
                              const BenchSettings& settings) {
  Threads threads(c.threads);
  std::size_t sets = set_count(c, settings);
  Tensors all;
  for (std::size_t set = 0; set < sets; ++set)
    for (const CaseArgument& a : c.arguments)
      all.push_back(data.make(a.dtype, a.shape, a.deviation, a.below));
  Tensors given;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (!c.arguments[i % c.arguments.size()].constant) given.push_back(all[i]);
  CompiledFunction fast([&](const Tensors& g) { return call_all(c, with_given(c, all, g)); },
                        {.mode = settings.mode,
                         .fullgraph = true,
                         .device = settings.device,
                         .freezing = std::ranges::any_of(c.arguments, &CaseArgument::constant)});
  double start = now_s();
  Tensors results = fast.call(given);
  settings.device.synchronize();
  double first_call_s = now_s() - start;
  bool is_recorded = settings.mode == Mode::reduce_overhead || settings.mode == Mode::max_autotune;
  if (is_recorded) {
    for (const Tensor& result : results) poison(result);
    results = fast.call(given);
  }
  bool is_written = !has_nan(results.front()) && !has_nan(results.back());
  auto size = static_cast<std::ptrdiff_t>(c.arguments.size());
  auto count = static_cast<std::ptrdiff_t>(results.size() / sets);
  double error = std::max(error_of_set(c, Tensors(all.begin(), all.begin() + size),
                                       Tensors(results.begin(), results.begin() + count)),
                          error_of_set(c, Tensors(all.end() - size, all.end()),
                                       Tensors(results.end() - count, results.end())));
  Tensors before = ends_of(results);

  auto count_of_sets = static_cast<double>(sets);
  nlohmann::json row;
  if (!is_host(settings)) {
    double shortest_s = settings.tiny ? 0 : 1e-3;
    Timing time =
        device_times(settings.device, {[&] { fast.call(given); }}, settings.rounds, shortest_s)
            .front();
    row = {{"seconds", time.median / count_of_sets},
           {"least", time.least / count_of_sets},
           {"p90", time.p90 / count_of_sets}};
  } else {
    time_beside(row,
                {.ours = [&] { fast.call(given); },
                 .calls = count_of_sets,
                 .work = c.flops > 0 ? c.flops : c.bytes,
                 .question = question_of(c, sets),
                 .limit = limit_of(c)},
                settings);
    row["threads"] = thread_count();
  }
  Tensors after = ends_of(fast.call(given));
  bool is_steady = same_bits(before[0], after[0]) && same_bits(before[1], after[1]);

  PlanReport plan = fast.report().front();
  row["error"] = std::isfinite(error) ? nlohmann::json(error) : nlohmann::json();
  row["sets"] = sets;
  row["launches"] = plan.launches / static_cast<std::int64_t>(sets);
  row["first_call_s"] = first_call_s;
  if (c.flops > 0) row["flops"] = c.flops;
  if (c.bytes > 0) row["bytes"] = c.bytes;
  row["rate"] = (c.flops > 0 ? c.flops / 1e12 : c.bytes / 1e9) / row["seconds"].get<double>();
  row["unit"] = c.flops > 0 ? "TFLOP/s" : "GB/s";
  row["ok"] = is_written && is_steady && error <= c.tolerance;
  if (!is_written)
    row["note"] = "a part of the result was not written, or is NaN";
  else if (!(error <= c.tolerance))
    row["note"] = concat("the result differs from the host's by ", error);
  else if (!is_steady)
    row["note"] = "the result was another after the timing";
  return row;
}

void bench_kernels(BenchLog& log, const std::vector<KernelCase>& cases) {
  RandomData data(log.settings().device.memory() != nullptr ? log.settings().device
                                                            : Device::cpu());
  for (const KernelCase& c : cases)
    log.run(c.name, [&] { return measure_kernel(c, data, log.settings()); });
}

}  // namespace tilewright::tools
