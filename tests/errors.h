// The message of the Error that a call raises, for tests of misuse.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "runtime/base/error.h"

namespace tilewright {

template <typename F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

}  // namespace tilewright
