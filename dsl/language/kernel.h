// A named kernel: a C++ function over tiles, traced and compiled once for each way it is used.
//
//   Kernel add("add", [](Pointer x, Pointer y, Pointer out, Scalar n, Constexpr block) {
//     Tile i = program_id(0) * block + cast(arange(0, block), i64);
//     store(out + i, load(x + i, i < n) + load(y + i, i < n), i < n);
//   });
//   add.launch(blocks, x, y, out, n, 128);  // x, y, out: Tensors, std::vector<float>, float*, ...
//
// The function's parameters define the arguments of the kernel: a Pointer or Scalar is given at the
// launch, and its element type is that of the argument; a Constexpr is a number that the program is
// compiled for. Anything else that the function needs it may capture, as long as it stays the same.
//
// The grid may be computed from the launch's numbers, and knobs say how a GPU runs the kernel:
//
//   add.launch([&](const Config& c) { return Grid{cdiv(n, c["block"])}; }, x, y, out, n, 128);
//   add.with(Knobs{.num_warps = 4}).launch(blocks, x, y, out, n, 128);
//   add.on(Device::emulated("sm_90a")).launch(blocks, x, y, out, n, 128);
//
// By default, it runs where its tensors lie, in the calling thread's stream. Programs are compiled
// for the types of the arguments and, as Triton's, for properties of their numbers and addresses:
// an integer that is 1 is a constant, and of other integers and of pointers it is known whether
// they are multiples of 16 (bytes).
//
// A launch knows how large vectors, arrays, spans and tensors are. Memory that the kernel writes
// must not overlap that of another argument, since code is made as if it did not; and a kernel that
// goes beyond its memory is an Error in the emulator, and on the host with `Check::bounds`.
#pragma once

#include <array>
#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/language/kernel_knobs.h"
#include "dsl/language/kernel_signature.h"
#include "dsl/language/tile.h"
#include "runtime/artifact.h"

namespace tilewright {
class Device;        // dsl/launch/device.h
class DeviceMemory;  // runtime/device_memory.h
}  // namespace tilewright

namespace tilewright::dsl {

// True if dtype_of knows the type.
template <typename T>
constexpr bool is_element_type() {
  bool is_one = false;
#define TILEWRIGHT_DTYPE(name, host, ...) is_one = is_one || std::same_as<T, host>;
#include "runtime/base/dtype.def"
#undef TILEWRIGHT_DTYPE
  return is_one;
}

class Kernel;
struct CompiledKernel;  // kernel_state.h
struct KernelState;
class LaunchArgument;
class Config;
using LaunchArguments = std::span<const LaunchArgument>;
// Takes a launch over from the kernel; false: it is to run as usual.
using RecordLaunch = bool (*)(const Kernel& kernel, const Grid& grid, LaunchArguments arguments,
                              std::source_location where);

// Host types of elements: float, std::int32_t, ... (runtime/base/dtype.def).
template <typename T>
concept Element = is_element_type<std::remove_cv_t<T>>();
// Types with a function `LaunchArgument launch_argument(const T&)` beside them, as Tensor's.
template <typename T>
concept GivesLaunchArgument = requires(const T& value) {
  { launch_argument(value) } -> std::same_as<LaunchArgument>;
};

// One argument of a launch: a number, or memory. Integers are i64 scalars or constexprs, `float` is
// f32, `double` f64. A const argument is not written: a kernel that would raises `Error`.
class LaunchArgument {
 public:
  template <Element T>
  LaunchArgument(T* pointer) : LaunchArgument(pointer, dtype_of<std::remove_cv_t<T>>()) {
    is_read_only_ = std::is_const_v<T>;
  }
  template <Element T, std::size_t N>
  LaunchArgument(std::span<T, N> memory) : LaunchArgument(memory.data()) {
    know_size(memory.size_bytes());
  }
  template <Element T>
  requires(!std::same_as<T, bool>) LaunchArgument(std::vector<T>& memory)
      : LaunchArgument(std::span(memory)) {}
  template <Element T>
  requires(!std::same_as<T, bool>) LaunchArgument(const std::vector<T>& memory)
      : LaunchArgument(std::span(memory)) {}
  template <Element T, std::size_t N>
  LaunchArgument(std::array<T, N>& memory) : LaunchArgument(std::span<T>(memory)) {}
  template <Element T, std::size_t N>
  LaunchArgument(const std::array<T, N>& memory) : LaunchArgument(std::span<const T>(memory)) {}
  template <std::integral T>
  LaunchArgument(T number)
      : dtype_(std::same_as<T, bool> ? DType::boolean : DType::i64), is_pointer_(false) {
    value_.integer = static_cast<std::int64_t>(number);
  }
  LaunchArgument(float number) : dtype_(DType::f32), is_pointer_(false) {
    value_.integer = 0;
    value_.single = number;
  }
  LaunchArgument(double number) : dtype_(DType::f64), is_pointer_(false) {
    value_.floating = number;
  }
  // Memory whose element type the C++ type does not say.
  LaunchArgument(const void* memory, DType dtype) : dtype_(dtype), is_pointer_(true) {
    value_.pointer = memory;
  }
  // Also how much of it there is.
  LaunchArgument(const void* memory, DType dtype, std::int64_t elements)
      : LaunchArgument(memory, dtype) {
    know_size(static_cast<std::size_t>(elements * tilewright::size_bytes(dtype)));
  }
  template <GivesLaunchArgument T>
  LaunchArgument(const T& value) : LaunchArgument(launch_argument(value)) {}

  // For authors of `launch_argument`: says in which memory it is (Device::memory). A launch on
  // another device raises `Error`.
  LaunchArgument& lies_in(DeviceMemory* place) {
    place_ = place;
    knows_place_ = true;
    return *this;
  }
  // Called with `owner` before a kernel runs that writes to the memory; may raise `Error`.
  using BeforeWrite = void (*)(const void* owner);
  LaunchArgument& before_write(BeforeWrite call, const void* owner) {
    before_write_ = call;
    owner_ = owner;
    return *this;
  }

  // For authors of `launch_argument`: the memory stands for a value that is recorded, not there
  // yet. A launch with such an argument calls `record` with all its arguments.
  LaunchArgument& is_recorded_by(RecordLaunch record, const void* value) {
    record_ = record;
    recorded_ = value;
    return *this;
  }
  RecordLaunch record() const { return record_; }
  const void* recorded_value() const { return recorded_; }

  bool is_pointer() const { return is_pointer_; }
  bool is_integer() const { return !is_pointer_ && dtype_ == DType::i64; }
  DType dtype() const { return dtype_; }
  const Argument& value() const { return value_; }
  std::int64_t size_bytes() const { return size_bytes_; }  // of memory; 0: empty or not known
  bool knows_size() const { return knows_size_; }
  bool is_read_only() const { return is_read_only_; }
  bool lies_elsewhere(const DeviceMemory* place) const { return knows_place_ && place_ != place; }
  DeviceMemory* place() const { return place_; }
  bool knows_place() const { return knows_place_; }
  void will_be_written() const {
    if (before_write_ != nullptr) before_write_(owner_);
  }

 private:
  void know_size(std::size_t bytes) {
    size_bytes_ = static_cast<std::int64_t>(bytes);
    knows_size_ = true;
  }

  DType dtype_;
  bool is_pointer_, is_read_only_ = false, knows_size_ = false, knows_place_ = false;
  std::int64_t size_bytes_ = 0;
  Argument value_;
  DeviceMemory* place_ = nullptr;
  BeforeWrite before_write_ = nullptr;
  const void* owner_ = nullptr;
  RecordLaunch record_ = nullptr;
  const void* recorded_ = nullptr;
};

constexpr std::int64_t cdiv(std::int64_t whole, std::int64_t part) {
  return (whole + part - 1) / part;
}

// The numbers of one launch by the names of the kernel's parameters: Constexprs, and Scalars that
// are integers.
class Config {
 public:
  Config(const Kernel& kernel, LaunchArguments arguments)
      : kernel_(kernel), arguments_(arguments) {}
  // Raises `Error` naming the knobs.
  std::int64_t operator[](std::string_view name) const;

 private:
  const Kernel& kernel_;
  LaunchArguments arguments_;
};

// How many programs a launch has: numbers, or a function of its Config. Knows the user's line,
// which errors of the launch name.
class LaunchGrid {
 public:
  using Function = std::function<Grid(const Config&)>;
  LaunchGrid(const Grid& grid, std::source_location where = std::source_location::current())
      : grid_(grid), where_(where) {}
  template <std::integral T>
  LaunchGrid(T x, std::source_location where = std::source_location::current())
      : grid_(static_cast<std::int64_t>(x)), where_(where) {}
  LaunchGrid(std::int64_t x, std::int64_t y, std::int64_t z = 1,
             std::source_location where = std::source_location::current())
      : grid_(x, y, z), where_(where) {}
  template <typename F>
  requires std::is_invocable_r_v<Grid, const F&, const Config&> LaunchGrid(
      F function, std::source_location where = std::source_location::current())
      : function_(std::move(function)), where_(where) {}

  Grid of(const Kernel& kernel, LaunchArguments arguments) const {
    return function_ ? function_(Config(kernel, arguments)) : grid_;
  }
  std::source_location where() const { return where_; }

 private:
  Grid grid_;
  Function function_;
  std::source_location where_;
};

namespace detail {

template <typename P>
concept KernelParameter =
    std::same_as<P, Pointer> || std::same_as<P, Scalar> || std::same_as<P, Constexpr>;

template <KernelParameter P>
constexpr ParameterKind kind_of_parameter() {
  if (std::same_as<P, Pointer>) return ParameterKind::pointer;
  return std::same_as<P, Scalar> ? ParameterKind::scalar : ParameterKind::constexpr_number;
}

template <KernelParameter P>
P bound(const BoundParameter& value) {
  if constexpr (std::same_as<P, Constexpr>)
    return P(std::get<std::int64_t>(value));
  else
    return P(std::get<Tile>(value));
}

// The parameters in the type of a function.
template <typename R, bool changes_itself, typename... P>
struct Parameters {
  static constexpr bool is_const = !changes_itself, gives_nothing = std::is_void_v<R>,
                        are_kernels = (KernelParameter<P> && ...);
  static std::vector<ParameterKind> kinds() { return {kind_of_parameter<P>()...}; }
  template <typename F>
  static void call(const F& function, std::span<const BoundParameter> values) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { function(bound<P>(values[I])...); }
    (std::index_sequence_for<P...>());
  }
};
template <typename R, typename... P>
Parameters<R, false, std::remove_cvref_t<P>...> parameters_of(R (*)(P...));
template <typename C, typename R, typename... P>
Parameters<R, false, std::remove_cvref_t<P>...> parameters_of(R (C::*)(P...) const);
template <typename C, typename R, typename... P>
Parameters<R, true, std::remove_cvref_t<P>...> parameters_of(R (C::*)(P...));

template <typename F>
auto call_operator_of() {
  if constexpr (requires { &F::operator(); })
    return &F::operator();
  else if constexpr (std::is_pointer_v<F>)
    return F{};
}

// Reports in one line the problem with a kernel's function, if there is one.
template <typename F>
constexpr bool is_kernel_function() {
  using Call = decltype(call_operator_of<F>());
  if constexpr (std::is_void_v<Call>) {
    static_assert(
        sizeof(F) == 0,
        "a kernel's function names the types of its parameters: Pointer, Scalar, Constexpr; "
        "a lambda with auto, or several call operators, does not");
    return false;
  } else {
    using All = decltype(parameters_of(Call{}));
    static_assert(All::is_const,
                  "a kernel's function is run once a signature, as const; a mutable "
                  "lambda cannot be");
    static_assert(All::gives_nothing, "a kernel's function returns nothing; results are stored");
    static_assert(All::are_kernels, "a kernel's parameters are Pointer, Scalar or Constexpr");
    return All::is_const && All::gives_nothing && All::are_kernels;
  }
}

template <typename F>
std::vector<ParameterKind> kinds_of() {
  if constexpr (is_kernel_function<F>())
    return decltype(parameters_of(call_operator_of<F>()))::kinds();
  else
    return {};
}

template <typename F>
void call_with(const F& function, std::span<const BoundParameter> values) {
  if constexpr (is_kernel_function<F>())
    decltype(parameters_of(call_operator_of<F>()))::call(function, values);
}

}  // namespace detail

// The checks while kernels run.
//
//   bounds   each load, store and atomic on the host is compared with the memory that the launch
//            knows (vectors, arrays, spans, tensors). What lies outside is not touched, and the
//            launch raises `Error` with the kernel's line, program, array and index. It costs
//            about as much again as the kernel does, or several times that where it did little
//            else than go through memory (dsl/README.md). Pointers made from several parameters
//            are not checked.
//
//            The emulator does so always, if all sizes are known; a GPU never. A kernel that is a
//            custom op, or is launched inside compile(), is looked at as in a launch of its own.
//   asserts  what the kernel says with device_assert (language/tile.h) is looked at, on the host
//            and on emulated GPUs, and the launch raises `Error` once all programs have run. A
//            GPU never does.
//
//   all      both
struct BoundLaunch {
  std::shared_ptr<const Artifact> artifact;
  // An entry a Pointer or Scalar. With checks there are more, and accesses outside are
  // skipped, and false asserts passed over, silently.
  std::vector<Argument> arguments;
  std::vector<std::int64_t> report, asserts;  // that these point to
};

// A regular value; copies share the compiled programs. Thread safe.
class Kernel {
 public:
  // `parameter_names` name the parameters in messages and dumps; "p0", "p1", ... if left
  // out.
  template <typename F>
  Kernel(std::string name, F function, std::vector<std::string> parameter_names = {})
      : Kernel(std::move(name), detail::kinds_of<F>(), std::move(parameter_names),
               [f = std::move(function)](std::span<const detail::BoundParameter> values) {
                 detail::call_with(f, values);
               }) {}

  const std::string& name() const;
  const std::vector<ParameterKind>& parameter_kinds() const;
  const std::vector<std::string>& parameter_names() const;
  // The program for one signature. Raises `Error` where the signature does not fit the function, or
  // the function misuses the language.
  ir::Function trace(const Signature& signature) const;

  // The program that such a launch on `device` compiles, before any pass, including the known facts
  // about numbers and addresses. Raises `Error` as `trace` and `signature_of`.
  ir::Function program_of(LaunchArguments arguments, const Device& device) const;

  // Runs the kernel for every program of the grid, on the device of `on`, else on the GPU where the
  // first of its tensors that lie on one lies, else on the default device (dsl/launch/device.h);
  // compiles it first if the arguments' types, constexprs or facts are new. A grid with a size of 0
  // runs nothing. Raises `Error`, which names the line of the launch, where an argument does not
  // fit its parameter, is null, lies on another device, is const and written, or is written and
  // overlaps another, and for grids of negative sizes or more than 2^63 - 1 programs.
  template <typename... T>
  void launch(const LaunchGrid& grid, T&&... arguments) const {
    constexpr bool fit = (std::convertible_to<T, LaunchArgument> && ...);
    static_assert(fit,
                  "a kernel's arguments are numbers, Tensors, and pointers, std::vector, "
                  "std::array and std::span of elements (float, double, std::int32_t, ...)");
    if constexpr (fit)
      launch_with(grid, std::array<LaunchArgument, sizeof...(T)>{std::forward<T>(arguments)...});
  }
  // `knobs` take the place of the kernel's own where they are not 0.
  void launch_with(const LaunchGrid& grid, LaunchArguments arguments,
                   const Knobs& knobs = {}) const;
  // Compiles everything that such a launch would need, and runs nothing.
  BoundLaunch bind(LaunchArguments arguments, const Knobs& knobs = {}) const;
  // The same kernel, compiled separately, whose launches are checked. A kernel without such a
  // setting is checked according to TILEWRIGHT_CHECK at the time when it is compiled.
  Kernel with(Check check) const;
  // The checks while it runs: by `with`, else by the current value of TILEWRIGHT_CHECK. Raises
  // `Error` for a word there that is not a check.
  Check checks() const;
  // The same kernel, compiled separately with these knobs. Raises `Error` where one is out of
  // range.
  Kernel with(const Knobs& knobs) const;
  // The same kernel, compiled separately, on this device.
  Kernel on(const Device& device) const;
  // The same kernel, compiled separately: of the parameters of these names nothing is known but
  // their types, so that numbers which change at every launch need one program.
  Kernel without_facts_of(const std::vector<std::string>& names) const;
  const Knobs& knobs() const;
  bool has_device() const;  // of `on`
  // The signature for such arguments. Raises `Error` where one does not fit its parameter.
  Signature signature_of(LaunchArguments arguments) const;
  // Writes the kernel into the program that is being traced on this thread. For lowerings that make
  // a program around it; `values` has an entry a parameter.
  void trace_into(std::span<const detail::BoundParameter> values) const;
  // How many different programs launches have needed so far.
  std::size_t compiled_count() const;

 private:
  Kernel(std::string name, std::vector<ParameterKind> kinds, std::vector<std::string> names,
         detail::KernelBody body);
  Kernel copy() const;
  bool fits(LaunchArguments arguments) const;
  std::vector<LaunchArgument> without_constexprs(LaunchArguments arguments) const;
  ir::Function trace(const Signature& signature, std::span<const Fact> facts,
                     const Knobs& knobs) const;
  Fact known_fact(const LaunchArgument& argument, std::size_t i) const;
  bool have_facts(LaunchArguments arguments, std::span<const Fact> facts) const;
  ir::Function program_of(LaunchArguments arguments, const Device& device,
                          const Knobs& knobs) const;
  Device device_of(LaunchArguments arguments) const;
  void run(const LaunchGrid& grid, LaunchArguments arguments, const Knobs& knobs) const;
  static void run_checked(const CompiledKernel& compiled, const Grid& grid,
                          std::span<const Argument> values,
                          std::span<const LaunchArgument> of_params);
  std::shared_ptr<const CompiledKernel> compiled_for(LaunchArguments arguments,
                                                     const Device& device,
                                                     const Knobs& knobs) const;

  std::shared_ptr<KernelState> state_;
};

}  // namespace tilewright::dsl
