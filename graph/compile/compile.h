// compile(): from a C++ function on tensors to kernels. The front door of the library.
//
// The function takes and gives tensors and what is made of them (structure.h). It is run once for
// each call signature (dtypes, shapes and strides of the arguments, and the form of structures)
// over symbolic tensors. Tensors it uses that are not arguments (weights, caches) become inputs of
// the graph, so that layers of equal structure are equal programs. The graph is decomposed,
// simplified, cut into regions, each region becomes one tile program, equal programs are compiled
// once, and the launches are laid out as a plan that later calls of that signature replay.
//
// A signature that is not in the table is compiled; past `Options::max_signatures` (8) the next one
// is an Error that names the differences, or is handled as `Options::past_limit` says. contract.h
// documents how such calls are reported and controlled. Sizes that change, as of prompts and
// batches, are not an Error: the second size is taken as a sign that there will be others, and from
// then on programs take the number of rows as an argument, so that a third size finds them compiled
// (`Options::dynamic`). If you know this before the first call, mark a tensor (`mark_dynamic`,
// `mark_static`; sizes/size_marks.h). The latest `Options::max_sizes` such plans are kept.
//
// What a compiled function sees of the world outside its arguments:
//
//   * The elements of tensors that it uses may be written in place between calls; each call reads
//     them.
//   * A handle that it read when it was captured may be reassigned (`layer.weight = t`, or
//     `Module::quantize`), moved from, or moved to a device: the function is captured again at its
//     next call, and if the graph is the same as before, it reads the other memory from then on;
//     otherwise it is recompiled. A call pays nothing for this if no handle changed.
//   * A number, a flag or any other value of the host that is held in a `Guarded`
//     (graph/tensor/guarded.h): a call in which the value differs has a plan of its own.
//   * Everything else is read once, when a signature is captured, and is a constant of it: numbers,
//     flags, sizes of containers and pointers that the function refers to, and what is read through
//     `data()` of a tensor. Hold values that change in a Guarded, or pass them as a tensor or a
//     `DynamicScalar`; `Options::verify_capture` finds forgotten ones. Other side effects of the
//     function, such as writing to streams or counting, happen when it is captured, which may be
//     more than once; `print` and `log_callback` (graph/functions/log.h) happen at each call.
//   * Changes that move no handle are not seen: two containers that are swapped (vector::swap, or
//     std::swap of vectors, maps or unique_ptrs), push_back within the capacity, a pointer set to
//     another tensor or module, a shared_ptr<Module> replaced while the former module lives.
//   * Values of tensors, read with `item()`, `to_vector()` or `data()`, are not known when a graph
//     is made: a graph break. The function then runs at each call of that signature, and the part
//     between two breaks, a segment, is compiled like a whole function: data may decide what is
//     computed, and other side effects happen once a call and in order, at the first call too. Some
//     64 segments are kept, and numbers that were read are data for later segments. stderr says
//     once a function where its graph breaks (`Options::tell_breaks`), as do explain() and
//     report(). With `Options::fullgraph` a break is an Error.
//   * Assigning a handle that outlives the function (`c = c + x`, std::swap of two captured
//     tensors), or keeping a computed tensor elsewhere (in an optional, a list), is a graph break
//     too; write in place (copy_from) instead, or return the tensor. A handle that is made at the
//     first call and kept (a table) is not.
//   * Memory: a write to a view, the use of a view of what was written since, and asking where a
//     computed tensor lies (strides(), device(), to_dlpack()) are graph breaks. A result that is a
//     view of an argument, or of a tensor from outside the function, is one of that tensor's
//     memory, as in eager mode; of a value that the function computes each result is a copy.
//   * If the function raises an exception, its earlier writes and logs are done. If a custom op
//     raises in a graph, which runs after the function, each tensor that the graph writes is as it
//     was before the call or as one of the writes made it, whether that comes before the op or
//     after it in the program, and nothing of that graph is logged. Backend::eager follows the
//     program.
#pragma once

#include <concepts>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "dsl/launch/device.h"
#include "graph/compile/calls/call.h"
#include "graph/compile/calls/callable.h"
#include "graph/compile/calls/contract.h"
#include "graph/compile/calls/structure.h"
#include "graph/compile/options/options.h"
#include "graph/compile/reports/plan_report.h"
#include "graph/compile/sizes/size_marks.h"
#include "graph/functions/dynamic_scalar.h"
#include "graph/tensor/guarded.h"
#include "graph/tensor/tensor.h"
#include "runtime/files/file_path.h"

namespace tilewright {

// A compiled function. Copies share plans. One call at a time per object (calls from several
// threads are served one after the other). With reduce-overhead a call also waits until no other
// thread is reading a result of the call before; a later read raises the Error.
class CompiledFunction {
 public:
  CompiledFunction(TensorFunction function, Options options);
  std::vector<Tensor> call(const std::vector<Tensor>& arguments) const;
  // The function `times` times in a row on the same arguments, at least once: what one time writes
  // in place the next one reads. In modes that record launches all of them are one unit, on a GPU
  // one CUDA graph, and nobody waits in between. Gives the results of the last time.
  std::vector<Tensor> repeat(std::int64_t times, const std::vector<Tensor>& arguments) const;
  const Options& options() const;
  // Calls the function so many times with each launch timed by itself, for report() and explain().
  // On the host the first calls of a signature are timed anyway, all later ones are not; on a GPU
  // nothing is but here, where each launch is waited for, so that the times hold the launching too.
  void measure(const std::vector<Tensor>& arguments, std::int64_t calls = 5) const;
  // The memory that calls with such arguments take. Compiles the function for them where it is not,
  // and does not run it. Raises `Error` for a function whose graph breaks, which runs in segments.
  MemoryReport memory(const std::vector<Tensor>& arguments) const;
  std::vector<PlanReport> report() const;  // one entry a signature compiled, then one a segment
  std::string explain() const;             // the report as text
  // Why signatures after the first were compiled, or compiled again: the latest 64, oldest first.
  std::vector<Recompilation> recompilations() const;
  // Every plan as text: the graph, its tasks and their regions, and the tile programs.
  std::string dump() const;
  // Writes the function, for all signatures that were compiled so far, to a file that another
  // process runs without compiling (packages/package.h). Tensors that it uses besides its arguments
  // are in it with the elements that they have now. Outputs are called by these names, or out.0,
  // out.1, ... Raises `Error` "[save_package] ..." for what a package cannot hold: GPUs, graph
  // breaks, writes to tensors that are no arguments, and steps that call C++ of this process. The
  // code is for this process's instruction set, or for a foreign one ("neon", of 64-bit Arm), in a
  // process with TILEWRIGHT_CPU=sse.
  void save_package(const FilePath& file, const std::vector<std::string>& output_names = {},
                    const std::string& foreign_instruction_set = "") const;
  // With `Options::tune_in_background`: waits until the search for the signatures compiled so far
  // is over, at most this many seconds, and returns whether it is over; 0 only asks. The next call
  // runs what was found. Other threads may call the function meanwhile.
  bool wait_until_tuned(double seconds = std::numeric_limits<double>::infinity()) const;
  // From now on, where it is called inside another compiled function, a marked region of this name
  // (graph/compile/region.h). For all copies; not thread safe with calls.
  void mark_as_region(std::string name);

 protected:
  void on_move(std::function<void(const Device&)> move);
  void move_to(const Device& device);
  TensorResults call_tensors(const std::vector<Tensor>& arguments) const;
  TensorResults call_structures(const graph::Call& call) const;
  MemoryReport memory_of(const graph::Call& call) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// A compiled callable with the callable's own face: tensors in, and out what it returns.
template <typename Returned>
class CompiledCall : public CompiledFunction {
 public:
  using CompiledFunction::CompiledFunction;
  template <typename... Tensors>
  requires(std::convertible_to<const Tensors&, Tensor>&&...) Returned operator()(
      const Tensors&... arguments) const {
    return detail::Results<Returned>::from(call_tensors({Tensor(arguments)...}));
  }
  Returned operator()(const std::vector<Tensor>& arguments) const {
    return detail::Results<Returned>::from(call_tensors(arguments));
  }
  using CompiledFunction::memory;
  template <std::convertible_to<Tensor>... Tensors>
  MemoryReport memory(const Tensors&... arguments) const {
    return CompiledFunction::memory({Tensor(arguments)...});
  }

  // From now on the function runs on that device: an object with `to(Device)`, as a Module, is
  // moved there, and tensors of the host that are passed or used are copied at each call. Not
  // thread safe with calls.
  CompiledCall to(const Device& device) {
    move_to(device);
    return *this;
  }
  // How `to` moves what the function holds.
  CompiledCall with_move(std::function<void(const Device&)> move) {
    on_move(std::move(move));
    return *this;
  }
};
using Compiled = CompiledCall<Tensor>;

// A compiled callable of structures of tensors, with the callable's own face.
template <typename Returned, typename... Parameters>
class CompiledStructured : public CompiledFunction {
 public:
  template <typename F>
  CompiledStructured(std::shared_ptr<F> function, Options options)
      : CompiledFunction(refuse_list, std::move(options)),
        apply_([function = std::move(function)](std::span<void* const> values) {
          return detail::apply_structures<F, Parameters...>(*function, values);
        }) {}
  Returned operator()(const Parameters&... arguments) const { return call_with(arguments...); }
  // Fewer, where the function has defaults for the rest.
  template <typename... Given>
  requires(sizeof...(Given) < sizeof...(Parameters)) Returned operator()(
      const Given&... given) const {
    return call_first(std::index_sequence_for<Given...>{}, given...);
  }
  // As CompiledFunction's.
  MemoryReport memory(const Parameters&... arguments) const {
    return with_call([&](const graph::Call& call) { return memory_of(call); }, arguments...);
  }

  // As CompiledCall's.
  CompiledStructured to(const Device& device) {
    move_to(device);
    return *this;
  }
  CompiledStructured with_move(std::function<void(const Device&)> move) {
    on_move(std::move(move));
    return *this;
  }

 private:
  static TensorResults refuse_list(const std::vector<Tensor>&) { detail::raise_takes_structures(); }
  template <std::size_t... I, typename... Given>
  Returned call_first(std::index_sequence<I...>, const Given&... given) const {
    return call_with<std::tuple_element_t<I, std::tuple<Parameters...>>...>(given...);
  }
  template <typename... Taken>
  Returned call_with(const Taken&... arguments) const {
    return detail::Results<Returned>::from(
        with_call([&](const graph::Call& call) { return call_structures(call); }, arguments...));
  }
  // The result of `use` for the call with these arguments.
  template <typename Use, typename... Taken>
  auto with_call(const Use& use, const Taken&... arguments) const {
    detail::TensorsOf parts;
    (detail::add_tensors(arguments, parts), ...);
    parts.key += ".";  // that there is a form
    TensorFunction function = [&](const std::vector<Tensor>& tensors) {
      std::optional<std::tuple<Taken...>> copies;
      {
        graph::CapturePause pause;
        copies.emplace(arguments...);
        detail::ReplaceTensors replace{tensors};
        std::apply([&](Taken&... each) { (detail::visit_structure(each, replace), ...); }, *copies);
      }
      return std::apply(
          [&](Taken&... each) { return apply_(std::array<void*, sizeof...(Taken)>{&each...}); },
          *copies);
    };
    std::function<graph::ArgumentForm()> describe = [&] {
      return detail::form_of(options().argument_names, arguments...);
    };
    return use({function, parts.tensors, parts.key, describe});
  }

  std::function<TensorResults(std::span<void* const>)> apply_;
};

namespace detail {
// `to` moves the object, too, if it can be moved.
template <typename M, typename Face>
Face following(M& module, Face compiled) {
  if constexpr (requires(const Device& device) { module.to(device); })
    compiled.with_move([&module](const Device& device) { module.to(device); });
  return compiled;
}
}  // namespace detail

// Compiles a callable of structures of tensors (structure.h) that returns one. A template or an
// overloaded function takes up to 16 tensors. Any of them may take its tensors as one
// `const std::vector<Tensor>&`.
template <typename F>
requires(!requires(F & f) { &F::forward; }) auto compile(F function, Options options = {}) {
  detail::require_function(function);
  auto shared = std::make_shared<F>(std::move(function));
  if constexpr (!detail::gives_tensors<F>()) {
    detail::refuse_function<F>();
    return CompiledCall<Tensor>({}, options);
  } else if constexpr (detail::takes_structures<F>()) {
    return typename detail::TypedAs<F>::template As<CompiledStructured>(shared, options);
  } else {
    return CompiledCall<detail::Returned<F>>(
        [shared](const std::vector<Tensor>& a) { return detail::call_with(*shared, a); }, options);
  }
}

// Compiles an object's `forward`; the object must outlive the result.
template <typename M>
requires requires(M& m) { &M::forward; }
auto compile(M& module, Options options = {}) {
  return detail::following(module, compile(detail::Forward<M>{&module}, std::move(options)));
}
// Another member function.
template <typename M, typename Member>
requires std::is_member_function_pointer_v<Member>
auto compile(M& module, Member member, Options options = {}) {
  return detail::following(module, compile(detail::bound(module, member), std::move(options)));
}

// Generates the full code of all kernels of the process that run quick code
// (Options::first_code), on this thread and the background's. Thread safe.
void finish_compiling();

// Compiles the function for these arguments, where it is not, by calling it, and saves it.
template <typename Function, typename... Arguments>
void save_package(const FilePath& file, const Function& compiled, const Arguments&... arguments) {
  compiled(arguments...);
  compiled.save_package(file);
}

}  // namespace tilewright
