// A function on tensors as a case of a bench: checked against the host, then timed.
//
// The function is compiled for several sets of arguments at once, so that one call of the driver
// runs it on one set after the other: so the launch itself is not timed, and no set is still in the
// cache of the device when it is used again. Before that its results are overwritten with NaNs, a
// part of them is compared with the host's, and at the end they must be the same bits as at the
// beginning.
#pragma once

#include <string>
#include <vector>

#include "tools/bench/host_limits.h"
#include "tools/bench/random_data.h"
#include "tools/bench/section.h"

namespace tilewright::tools {

struct CaseArgument {
  DType dtype = f32;
  Shape shape;
  double deviation = 1;
  std::int64_t below = 1;  // integers are in [0, below)
  int sampled = -1;        // axis of which a part is enough for a part of the result; -1: none
  bool constant = false;   // the function is compiled with it, as with a weight
};

struct KernelCase {
  std::string name;
  std::vector<CaseArgument> arguments;
  std::function<std::vector<Tensor>(const std::vector<Tensor>&)> function;
  double flops = 0, bytes = 0;  // of one call; the rate is of flops where there are any
  int sampled_result = -1;      // the axis that answers to the arguments' sampled ones
  bool sample_end_only = false;
  double tolerance = 1e-2;  // of |result - host's| / |host's|
  // On the host: what adapters call the function, {"op": name, ..} (peer.h), what limits it, and
  // how many threads it has (0: all).
  nlohmann::json peer = {};
  HostLimit limit = HostLimit::none;
  int threads = 0;
};

void bench_kernels(BenchLog& log, const std::vector<KernelCase>& cases);

// Checks and times one case.
nlohmann::json measure_kernel(const KernelCase& c, RandomData& data, const BenchSettings& settings);

// |a - b| / |b| over all elements, as f32 on the host; infinite where one is not finite.
double relative_error(const Tensor& a, const Tensor& b);
// Fills the tensor's memory with bytes that are NaN in every floating type.
void poison(const Tensor& tensor);
bool has_nan(const Tensor& tensor);

}  // namespace tilewright::tools
