// The question whether a generation is to end, asked before each of its steps.
//
// It is made of a std::stop_token, as that of a std::stop_source or a std::jthread, or of anything
// else with a `stop_requested`, of which it keeps a copy; or, by std::ref, of an object that others
// change meanwhile, which must outlive it. Separate because the header of std::stop_token takes a
// twentieth of the time in which a program with tilewright.h compiles.
#pragma once

#include <concepts>
#include <functional>
#include <utility>

namespace tilewright {

class Cancellation {
 public:
  Cancellation() = default;  // it is not
  template <typename Token>
  requires std::copy_constructible<Token> &&
      (!std::same_as<Token, Cancellation>)&&requires(const Token& token) {
    { token.stop_requested() } -> std::same_as<bool>;
  }
  Cancellation(Token token)
      : is_asked_([token = std::move(token)] { return token.stop_requested(); }) {}
  template <typename Flag>
  requires requires(Flag& flag) {
    { flag.stop_requested() } -> std::same_as<bool>;
  }
  Cancellation(std::reference_wrapper<Flag> flag)
      : is_asked_([flag] { return flag.get().stop_requested(); }) {}
  bool stop_requested() const { return is_asked_ && is_asked_(); }

 private:
  std::function<bool()> is_asked_;
};

}  // namespace tilewright
