// The options of compile(), in the user's words. resolved_options.h turns them into facts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/compile/calls/contract.h"
#include "graph/ir/options/first_code.h"
#include "graph/ir/options/matmul_precision.h"
#include "graph/tensor/checks/index_checks.h"

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

// How calls are compiled that differ from an earlier one in sizes alone, if no axis is
// marked (sizes/size_marks.h).
enum class Dynamic : std::uint8_t {
  automatic,  // from the second size on plans are made for sizes that change
  never,      // each is a signature like any other, with programs for its sizes
  always      // plans are made for sizes that change from the first call on
};

struct Options {
  Mode mode = Mode::default_;
  bool fullgraph = false;   // a graph break is an Error (breaks come with data-dependent reads)
  bool tell_breaks = true;  // stderr says where the graph breaks, once a function
  // stderr says, once a function and option, where one of these options does not hold for a part of
  // the function, and why; explain() and report() say so in any case.
  bool tell_unkept = true;
  Backend backend = Backend::tilewright;
  int max_signatures = 8;  // plans, by the call's arguments and guarded values
  // A plan for sizes that change shares programs with those for other sizes: those of the host take
  // the number of rows as an argument, so that a new size costs next to no compilation. Their block
  // configurations are not searched for; where they would be (max_autotune, tune_in_background), on
  // GPUs, and for one row, `automatic` makes such plans past max_signatures alone. Its results may
  // differ from those of `never` by the order of additions.
  Dynamic dynamic = Dynamic::automatic;
  int max_sizes = 64;  // such plans; one more takes the place of the one used least recently
  PastLimit past_limit = PastLimit::error;
  // Every n-th call runs the function over symbols once more and is an Error, which names the line,
  // if it does something else than when it was captured; 0: never. For tests, and to look for what
  // no guard sees: a capture costs some microseconds an operation.
  int verify_capture = 0;
  // Every n-th call compares each gradient in the function (grad, value_and_grad, vjp) with
  // differences in a random direction, both in f64 by the interpreter, and is an Error, which names
  // the line of the operation, if they differ; 0: never. For tests of rules that a program gives
  // its own operations, and slow. check_gradients looks at one function by itself.
  int verify_gradients = 0;
  // A result with a NaN is an Error that names the first operation that made one, with its line, in
  // the function or in its derivative. Then the interpreter runs the call once more; other calls
  // cost a look at their results, and copies of the tensors that the function writes.
  bool detect_nan = false;
  MatmulPrecision matmul_precision = MatmulPrecision::highest;
  FirstCode first_code =
      FirstCode::automatic;  // of the host; finish_compiling() waits for the rest
  // Where code runs if all of its tensors are on the host; if some are on a GPU, it runs there.
  Device device = default_device();
  // Threads that a launch on the host may take: at most so many of thread_count(), for which its
  // programs are planned; 0: all. A server does best with 1 and a function for each of its threads.
  int threads = 0;
  // The number of threads that programs of the host are made for, whatever number of them runs:
  // results are the same bits on any number. 0: for those that there are, which is the fastest.
  // Functions of the library in C++, such as those of matrices, compute each result on one thread.
  int planned_threads = 0;
  // On hosts each of up to 16 rows of a product has the bits that it has alone, whatever is
  // computed beside it, and so has a text that is decoded in a batch: docs/promises.md says how far
  // this goes. Products of few rows may be slower, those of bf16 on AMX the most; many rows are
  // not. Block sizes are not searched for. explain() says where it does not hold, as on GPUs.
  bool batch_invariant = false;
  // How long block configurations of a signature are searched for, all regions together. Each
  // region gets a share of this in proportion to its share of a call's time; those that take next
  // to nothing are left alone.
  double tune_seconds = 5;
  // Starts with the configurations that are known, in every mode, and searches for others while the
  // function is in use, on one thread of low priority for the whole process. Some later call takes
  // over what was found; results before and after differ at most by the order of additions.
  // explain() says what came of it; destroying the function ends the search.
  bool tune_in_background = false;
  // A promise that tensors which the function uses besides its arguments, weights, are not written
  // any more, except by the function itself. What follows from weights alone is then computed once,
  // at the first call, where it is small or takes no more memory than they do (factors of a batch
  // norm, a weight that is normed), and for filters of convolutions always (weights of 8 bits that
  // are converted). On the host, weights of products with many rows are copied once into the order
  // in which they are multiplied: such products are a tenth faster, the more so the fewer their
  // rows, for as much memory as the weights take. All functions share the copies; writing a tensor
  // that was copied or computed from is an Error, and so is asking for its data() (const_data()
  // reads it). Writes through a pointer from before, and to memory of the user's own, cannot be
  // watched: the function does not see them. It holds inside branches and loops, and in segments,
  // where weights are the tensors that were there before the call and that no segment writes.
  bool freezing = false;
  // The most that a compiled function keeps of its values for the gradients in it, as a share of
  // the bytes that they read: 1 keeps all of it, 0 as little as is possible, in steps of a tenth.
  // The other values are computed again where a gradient reads them, the cheapest ones first, by
  // the same operations and with the same draws; only a sum that is fused otherwise may be added up
  // in another order. A smaller share never takes more memory: values are kept where computing them
  // again would take more than it frees. `checkpoint` holds in any case.
  double saved_share = 1;
  // A limit on the memory that a call takes for intermediate values and results (memory()), in
  // bytes; 0: none. The largest share of values that keeps to it is kept for gradients. An Error
  // that names the least possible, if there is none.
  std::int64_t memory_limit = 0;
  // Files of the choices that decide every bit of a result (graph/tune/plan_lock.h): one that is
  // written as functions are compiled, or one that compiling must keep to, whatever the clock says.
  std::string write_plan = {}, locked_plan = {};
  IndexChecks index_checks = IndexChecks::host_tensors;
  std::vector<std::string> argument_names = {};  // for messages: "argument 0 'x': axis 1 is 4"
};

}  // namespace tilewright
