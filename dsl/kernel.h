// A named kernel: a C++ function over tiles, traced and compiled once for each way it is used.
//
//   Kernel add("add", [](Pointer x, Pointer y, Pointer out, Scalar n, Constexpr block) {
//     Tile i = program_id(0) * block + cast(arange(0, block), i64);
//     store(out + i, load(x + i, i < n) + load(y + i, i < n), i < n);
//   });
//   add.launch(blocks, x, y, out, n, 128);  // x, y, out: float* or std::vector<float>
//
// The function's parameters say what the kernel takes: a Pointer or Scalar is given at the launch
// and its element type read off what is given; a Constexpr is a number that the program is compiled
// for. Anything else that the function needs it may capture, as long as it stays the same.
#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "dsl/tile.h"
#include "runtime/artifact.h"

namespace tilewright::dsl {

// What a kernel is specialised for, an entry a parameter: the element type of a Pointer or Scalar,
// the number of a Constexpr. For `add` above: {f32, f32, f32, i64, 128}.
using Signature = std::vector<std::variant<DType, std::int64_t>>;

// One argument of a launch. Integers are i64 scalars or constexprs, `float` is f32, `double` f64.
class LaunchArgument {
 public:
  template <typename T>
  LaunchArgument(T* pointer) : LaunchArgument(pointer, dtype_of<std::remove_const_t<T>>()) {}
  template <typename T>
  LaunchArgument(const std::vector<T>& memory) : LaunchArgument(memory.data()) {
    size_bytes_ = static_cast<std::int64_t>(memory.size() * sizeof(T));
  }
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
    size_bytes_ = elements * tilewright::size_bytes(dtype);
  }

  bool is_pointer() const { return is_pointer_; }
  bool is_integer() const { return !is_pointer_ && dtype_ == DType::i64; }
  DType dtype() const { return dtype_; }
  const Argument& value() const { return value_; }
  std::int64_t size_bytes() const { return size_bytes_; }  // of memory; 0: not known

 private:
  DType dtype_;
  bool is_pointer_;
  std::int64_t size_bytes_ = 0;
  Argument value_;
};

enum class ParameterKind : std::uint8_t { pointer, scalar, constexpr_number };

namespace detail {

using BoundParameter = std::variant<Tile, std::int64_t>;

template <typename P>
constexpr ParameterKind kind_of_parameter() {
  static_assert(std::same_as<P, Pointer> || std::same_as<P, Scalar> || std::same_as<P, Constexpr>,
                "a kernel's parameters are Pointer, Scalar or Constexpr");
  if (std::same_as<P, Pointer>) return ParameterKind::pointer;
  return std::same_as<P, Scalar> ? ParameterKind::scalar : ParameterKind::constexpr_number;
}

template <typename P>
P bound(const BoundParameter& value) {
  if constexpr (std::same_as<P, Constexpr>)
    return P(std::get<std::int64_t>(value));
  else
    return P(std::get<Tile>(value));
}

// The parameter types of a callable that has one function call operator.
template <typename F>
struct Callable : Callable<decltype(&F::operator())> {};
template <typename... P>
struct Callable<void (*)(P...)> {
  static std::vector<ParameterKind> kinds() {
    return {kind_of_parameter<std::remove_cvref_t<P>>()...};
  }
  template <typename F>
  static void call(const F& function, std::span<const BoundParameter> values) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      function(bound<std::remove_cvref_t<P>>(values[I])...);
    }
    (std::index_sequence_for<P...>());
  }
};
template <typename C, typename... P>
struct Callable<void (C::*)(P...) const> : Callable<void (*)(P...)> {};

}  // namespace detail

// What a launch runs, and with which arguments.
struct BoundLaunch {
  std::shared_ptr<const Artifact> artifact;
  std::vector<Argument> arguments;  // an entry a Pointer or Scalar
};

// A regular value; copies share what was compiled. Thread safe.
class Kernel {
 public:
  // `parameter_names` name the parameters in messages and dumps; "p0", "p1", ... if left
  // out.
  template <typename F>
  Kernel(std::string name, F function, std::vector<std::string> parameter_names = {})
      : Kernel(std::move(name), detail::Callable<F>::kinds(), std::move(parameter_names),
               [f = std::move(function)](std::span<const detail::BoundParameter> values) {
                 detail::Callable<F>::call(f, values);
               }) {}

  const std::string& name() const;
  const std::vector<ParameterKind>& parameter_kinds() const;
  const std::vector<std::string>& parameter_names() const;
  // The program for one signature. Raises `Error` where the signature does not fit the function, or
  // the function misuses the language.
  ir::Function trace(const Signature& signature) const;

  // Runs the kernel on the default device (dsl/device.h) for every program of the grid; compiles it
  // first if the arguments' types or constexprs are new. Raises `Error` where an argument does not
  // fit its parameter.
  template <typename... T>
  void launch(const Grid& grid, const T&... arguments) const {
    launch_with(grid, std::vector<LaunchArgument>{LaunchArgument(arguments)...});
  }
  void launch_with(const Grid& grid, std::span<const LaunchArgument> arguments) const;
  // Compiles what such a launch would need, and runs nothing.
  BoundLaunch bind(std::span<const LaunchArgument> arguments) const;
  // How many different programs launches have needed so far.
  std::size_t compiled_count() const;

 private:
  using Body = std::function<void(std::span<const detail::BoundParameter>)>;
  struct State;
  Kernel(std::string name, std::vector<ParameterKind> kinds, std::vector<std::string> names,
         Body body);
  Signature signature_of(std::span<const LaunchArgument> arguments) const;
  std::shared_ptr<const Artifact> artifact_for(std::span<const LaunchArgument> arguments) const;

  std::shared_ptr<State> state_;
};

}  // namespace tilewright::dsl
