// The message of the Error that a launch raises, without the line of the launch, which it must end
// with.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/errors.h"

namespace tilewright {

template <typename F>
std::string launch_error_of(F&& f) {
  static const std::regex line(R"( \(launched at [a-z_]+_test\.cpp:[0-9]+\)$)");
  const std::string text = error_of(f);
  EXPECT_TRUE(std::regex_search(text, line)) << text;
  return std::regex_replace(text, line, "");
}

}  // namespace tilewright
