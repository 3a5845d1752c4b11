// The call of the user's program that a function of the library is carrying out.
//
// Functions that are made of others keep one while they work: nodes, reads and errors then have the
// line of that call, where they would have one of the library's. A read of
// data that ends a graph has the call's name, too. If calls nest, the outermost counts. They cost
// next to nothing.
#pragma once

#include <source_location>
#include <string_view>
#include <typeinfo>

#include "runtime/base/error.h"

namespace tilewright::graph {

class UserCall {
 public:
  UserCall(std::string_view operation, std::source_location where);  // a literal
  ~UserCall();
  UserCall(const UserCall&) = delete;
  UserCall& operator=(const UserCall&) = delete;
  static const UserCall* current();  // of this thread, or null
  // The line of the current call, or this one without a call.
  static std::source_location line(std::source_location own);

  const std::string_view operation;
  const std::source_location where;

  // While it lives there is no current call: what was recorded before runs.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    const UserCall* paused_;
  };
};

[[noreturn]] void raise_with_line(const Error& error, std::source_location where);

// Calls the function as the user's call; its errors that name no line get that of the call.
template <typename Function>
decltype(auto) of_user_call(std::string_view operation, std::source_location where,
                            const Function& function) {
  const UserCall call(operation, where);
  try {
    return function();
  } catch (const Error& error) {
    if (typeid(error) != typeid(Error)) throw;
    raise_with_line(error, call.line(where));
  }
}

}  // namespace tilewright::graph
