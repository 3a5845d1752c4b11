// Values of the host that a compiled function reads and that may change between its calls.
//
// A captured function runs once, so a number, a flag or a list that it reads becomes a constant of
// the graph. Where such a value is wrapped,
//
//   Guarded<bool> use_bias{true, "use_bias"};
//   auto forward = compile([&](const Tensor& x) { return use_bias.get() ? x + bias : x; });
//
// its reading is a guard: the plan is for calls in which the value is what it was. A call in which
// it is another one finds the plan that was compiled for that, or is compiled, and says why
// (graph/compile/calls/contract.h). A number that changes at every step, a learning rate, must not
// be compiled for: a `DynamicScalar` (graph/functions/dynamic_scalar.h) is a tensor, which is data.
//
// Guards cost a call one comparison as long as no guarded value of the process has been set since:
// setting one counts up a number, and only a call that finds it changed looks at its guards.
//
// A `Guarded` is a value: copies are apart. Copying one inside a captured function reads it. One
// that is destroyed makes its readers look again, as a tensor's handle does. Setting is not thread
// safe with calls of the functions that read it.
#pragma once

#include <atomic>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <source_location>
#include <string>
#include <type_traits>
#include <utility>

#include "graph/tensor/value_text.h"

namespace tilewright {
namespace graph {

// Shared by a Guarded and the guards on it.
struct GuardedObject {
  std::string name;
  bool is_gone = false;  // the Guarded is destroyed
};
// The expectation of a captured function about a value that it has read.
struct Guard {
  std::shared_ptr<const GuardedObject> object;
  std::function<bool()> holds;        // the value is what it was when it was read
  std::function<std::string()> text;  // of the value as it is now
  std::string expected;               // the text when it was read
  std::source_location where;         // the user's line
};

class Capture;
bool is_capturing();  // on this thread
// As long as it lasts, this thread captures nothing: handles that are copied are not read by the
// function that is being captured.
class CapturePause {
 public:
  CapturePause() noexcept;
  ~CapturePause();
  CapturePause(const CapturePause&) = delete;
  CapturePause& operator=(const CapturePause&) = delete;

 private:
  Capture* paused_;
};
void note_guard(Guard guard);     // of the function that is being captured
std::uint64_t guarded_changes();  // how often values were set or ended, in this process
void add_guarded_change() noexcept;

// The text that `print` writes of the value to a stream of the classic locale, with words for
// flags.
std::string printed(const void* value, void (*print)(std::ostream& out, const void* value));
template <typename T>
std::string text_of_value(const T& value) {
  if constexpr (tilewright::detail::HostValue<T> &&
                !(std::is_enum_v<T> && requires(std::ostream & out) { out << value; })) {
    return tilewright::detail::text_of_host_value(value);
  } else if constexpr (requires(std::ostream & out) { out << value; }) {
    return printed(&value,
                   [](std::ostream& out, const void* it) { out << *static_cast<const T*>(it); });
  } else {
    return "a value that cannot be printed";
  }
}
bool is_same_floating(long double a, long double b);
// NaN is what it was, too; -0 is not 0, since 1/x tells them apart.
template <typename T>
bool is_same_value(const T& a, const T& b) {
  if constexpr (std::floating_point<T>)
    return is_same_floating(a, b);
  else
    return a == b;
}

}  // namespace graph

template <typename T>
requires std::equality_comparable<T> && std::copy_constructible<T>
class Guarded {
 public:
  Guarded() : Guarded(T{}) {}
  // The name stands in messages.
  explicit Guarded(T value, std::string name = "a guarded value")
      : state_(std::make_shared<State>(std::move(name), std::move(value))) {}
  Guarded(const Guarded& other) : Guarded(other.get(), other.state_->name) {}
  Guarded& operator=(const Guarded& other) { return *this = other.get(); }
  template <typename U = T>  // a template, so that {} is the copy of a Guarded() alone
  requires std::convertible_to<U, T> &&(!std::same_as<std::remove_cvref_t<U>, Guarded>)Guarded&
  operator=(U&& given) {
    T value = std::forward<U>(given);
    if (graph::is_same_value(state_->value, value)) return *this;
    state_->value = std::move(value);
    graph::add_guarded_change();
    return *this;
  }
  ~Guarded() {
    state_->is_gone = true;
    graph::add_guarded_change();
  }

  // The value; inside a captured function, a guard on it.
  const T& get(std::source_location where = std::source_location::current()) const {
    if (graph::is_capturing()) [[unlikely]]
      note(where);
    return state_->value;
  }

 private:
  struct State : graph::GuardedObject {
    State(std::string name, T v) : GuardedObject{std::move(name)}, value(std::move(v)) {}
    T value;
  };
  void note(std::source_location where) const {
    std::shared_ptr<const State> state = state_;
    graph::note_guard(
        {state, [state, was = state->value] { return graph::is_same_value(state->value, was); },
         [state] { return graph::text_of_value(state->value); }, graph::text_of_value(state->value),
         where});
  }
  std::shared_ptr<State> state_;
};

}  // namespace tilewright
