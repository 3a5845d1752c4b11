// Mistakes of kernel authors, with the line of the kernel that their messages must name.
#pragma once

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "dsl/language/kernel.h"
#include "tests/errors.h"

namespace tilewright::dsl::testing_mistakes {

using ::testing::HasSubstr;

using Floats = std::vector<float>;

struct Mistake {
  const char* name;
  const char* expected;  // behind the line
  // Makes the mistake, with the line that must be named in `line`; 0: that of the launch.
  void (*make)(int& line);
};

// The line of the kernel on which this stands.
#define HERE line = __LINE__

inline Tile block_of(Constexpr block) {
  return program_id(0) * block + cast(arange(0, block), i64);
}

inline void expect_named(const Mistake& mistake, const std::string& file) {
  int line = 0;
  const std::string message = error_of([&] { mistake.make(line); });
  EXPECT_THAT(message, HasSubstr(mistake.expected)) << mistake.name;
  EXPECT_THAT(message, HasSubstr(file + ":" + std::to_string(line) + ": [")) << mistake.name;
}

}  // namespace tilewright::dsl::testing_mistakes
