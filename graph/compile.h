// compile(): from a C++ function on tensors to kernels. The front door of the library.
//
// The function is run once for each call signature (dtypes, shapes and strides of the arguments)
// over symbolic tensors. Tensors it uses that are not arguments (weights, caches) become inputs of
// the graph, so that layers of equal structure are equal programs. The graph is decomposed,
// simplified, cut into regions, each region becomes one tile program, equal programs are compiled
// once, and the launches are laid out as a plan that later calls of that signature replay.
//
// A signature that is not in the table is compiled; at `Options::max_signatures` (8) different ones
// the next is an Error that names what differs: never a silent fall-back.
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/device.h"
#include "graph/index_checks.h"
#include "graph/matmul_precision.h"
#include "graph/tensor.h"

namespace tilewright {

enum class Mode : std::uint8_t {
  default_,                   // fused kernels; outputs are fresh tensors
  reduce_overhead,            // + launches recorded once and replayed with fixed buffers, on a GPU
                              //   as a CUDA graph: an output is valid until the next call of the
                              //   function (reading it later is an Error), inputs are read by
                              //   address
  max_autotune,               // reduce_overhead + block configurations timed at compile, for
                              //   `Options::tune_seconds` where they were not before
  max_autotune_no_cudagraphs  // default + the same
};
// "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"
std::string_view name_of(Mode mode);
Mode parse_mode(std::string_view name);  // raises `Error` listing the names

// For finding the stage that goes wrong: each adds one to the former.
enum class Backend : std::uint8_t {
  eager,      // the function as it is, no capture
  aot_eager,  // captured, decomposed, simplified; one kernel a node
  tilewright  // + fused regions and the plan
};
std::string_view name_of(Backend backend);
Backend parse_backend(std::string_view name);

struct Options {
  Mode mode = Mode::default_;
  bool fullgraph = false;  // a graph break is an Error (breaks come with data-dependent reads)
  Backend backend = Backend::tilewright;
  int max_signatures = 8;
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  // Of compiled regions whose tensors all lie on the host; where some lie on a GPU, code runs
  // there.
  Device device = default_device();
  // For which a signature's block configurations are searched for, all regions together: each gets
  // the part that it takes of a call's time, and those that take next to nothing are left alone.
  double tune_seconds = 5;
  // Every mode begins with the configurations that are known, and searches for the others while the
  // function is in use, on one thread of low priority for the whole process. What is found runs
  // from some later call on: calls before and after agree as far as orders of adding do. explain()
  // says what came of it; destroying the function ends the search.
  bool tune_in_background = false;
  // A promise that tensors which the function uses besides its arguments, weights, are not written
  // any more, except by the function itself. On the host, weights of products with many rows are
  // then copied once, at the first call, into the order in which they are multiplied: such products
  // are a tenth faster, the more so the fewer their rows, for as much memory as the weights take.
  // All functions share the copies; writing a tensor that was copied is an Error. (Memory of the
  // user's that he writes himself is not watched.)
  bool freezing = false;
  // Files of the choices that decide every bit of a result (graph/tune/plan_lock.h): one that is
  // written as functions are compiled, or one that compiling must keep to, whatever the clock says.
  std::string write_plan = {}, locked_plan = {};
  IndexChecks index_checks = IndexChecks::host_tensors;
};

// One fused region of a compiled function, for reports.
struct RegionReport {
  std::string kernel;      // name of its tile program
  std::string kind;        // rows, flat, product, attention, ...
  std::int64_t instances;  // of the region in the function
  std::int64_t launches;   // that compute them: fewer, where several become one
  std::int64_t bytes;      // read and written by one launch
  double compile_seconds;
  std::vector<std::string> ops;  // what was fused
  std::string key;               // content hash
};
struct PlanReport {
  std::string signature;
  std::string device;                 // that it runs on
  std::int64_t host_bytes = 0;        // copied from the host to that device by each call
  std::vector<RegionReport> regions;  // distinct programs
  std::int64_t launches = 0;
  std::int64_t nodes = 0;                                              // of the simplified graph
  std::int64_t arena_bytes = 0;                                        // intermediate buffers
  std::int64_t packed_weights = 0, packed_bytes = 0;                   // copies of frozen weights
  double capture_seconds = 0, lower_seconds = 0, compile_seconds = 0;  // wall
  std::string tuning = {};  // what came of it, a sentence; empty: there was none
};

using TensorFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

// A compiled function. Copies share plans. One call at a time per object (calls from several
// threads are served one after the other).
class CompiledFunction {
 public:
  CompiledFunction(TensorFunction function, Options options);
  std::vector<Tensor> call(const std::vector<Tensor>& arguments) const;
  // The function `times` times in a row on the same arguments, at least once: what one time writes
  // in place the next one reads. In modes that record launches all of them are one unit, on a GPU
  // one CUDA graph, and nobody waits in between. Gives the results of the last time.
  std::vector<Tensor> repeat(std::int64_t times, const std::vector<Tensor>& arguments) const;
  const Options& options() const;
  std::vector<PlanReport> report() const;  // one entry a signature compiled
  std::string explain() const;             // the report as text
  // The tile programs and the fused graph of every plan, as text.
  std::string dump() const;
  // Of `Options::tune_in_background`: waits until nothing is searched for any more for the
  // signatures compiled so far, at most so many seconds, and says whether that is so; 0: only asks.
  // The next call runs what was found. Others may call the function meanwhile.
  bool wait_until_tuned(double seconds = std::numeric_limits<double>::infinity()) const;

 protected:
  void on_move(std::function<void(const Device&)> move);
  void move_to(const Device& device);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A compiled callable with the callable's own face: Tensor(Tensor...) in, Tensor out.
class Compiled : public CompiledFunction {
 public:
  using CompiledFunction::CompiledFunction;
  template <typename... Tensors>
  requires(std::convertible_to<Tensors, Tensor>&&...) Tensor operator()(
      const Tensors&... arguments) const {
    return call({Tensor(arguments)...}).front();
  }

  // From now on the function runs on that device: an object with `to(Device)`, as a Module, is
  // moved there, and tensors of the host that are passed or used are copied at each call. Not
  // thread safe with calls.
  Compiled to(const Device& device) {
    move_to(device);
    return *this;
  }
  // How `to` moves what the function holds.
  Compiled with_move(std::function<void(const Device&)> move) {
    on_move(std::move(move));
    return *this;
  }
};

namespace detail {
[[noreturn]] void raise_too_many_arguments(std::size_t count);
template <typename F, std::size_t... I>
Tensor apply(F& f, const std::vector<Tensor>& a, std::index_sequence<I...>) {
  return f(a[I]...);
}
template <std::size_t>
using AnyTensor = Tensor;
// Calls `f` with as many tensors as it was given, up to 6.
template <typename F, std::size_t N = 0>
Tensor call_with(F& f, const std::vector<Tensor>& a) {
  if constexpr (N > 6) {
    raise_too_many_arguments(a.size());
  } else {
    if constexpr ([]<std::size_t... I>(std::index_sequence<I...>) {
                    return std::is_invocable_v<F&, AnyTensor<I>...>;
                  }(std::make_index_sequence<N>{}))
      if (a.size() == N) return apply(f, a, std::make_index_sequence<N>{});
    return call_with<F, N + 1>(f, a);
  }
}
}  // namespace detail

// Compiles a callable Tensor(Tensor...) with up to six arguments.
template <typename F>
requires(!requires(F & f) { &F::forward; }) Compiled compile(F function, Options options = {}) {
  auto shared = std::make_shared<F>(std::move(function));
  return Compiled(
      [shared](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{detail::call_with(*shared, a)};
      },
      options);
}

// Compiles an object's `forward`; the object must outlive the result.
template <typename M>
requires requires(M& m) { &M::forward; }
Compiled compile(M& module, Options options = {}) {
  auto forward = [&module](auto&&... a) -> decltype(module.forward(a...)) {
    return module.forward(a...);
  };
  Compiled compiled(
      [forward](const std::vector<Tensor>& a) mutable {
        return std::vector<Tensor>{detail::call_with(forward, a)};
      },
      options);
  if constexpr (requires(const Device& device) { module.to(device); })
    compiled.with_move([&module](const Device& device) { module.to(device); });
  return compiled;
}

}  // namespace tilewright
