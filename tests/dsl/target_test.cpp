#include "dsl/target/target.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "runtime/base/env.h"
#include "tests/errors.h"

namespace tilewright::dsl {
namespace {

TEST(Target, TheTableOfSettingsHasEveryProcessorThatCanBeNamed) {
  auto row = std::ranges::find(env::rows(), "TILEWRIGHT_CPU", &env::Row::variable);
  ASSERT_NE(row, env::rows().end());
  std::string refusal = error_of([] { assume_host("none"); });
  std::size_t list = refusal.find("known are ");
  ASSERT_NE(list, std::string::npos) << refusal;
  std::istringstream names(refusal.substr(list + std::string("known are ").size()));
  int count = 0;
  for (std::string name; names >> name; ++count)
    EXPECT_THAT(std::string(row->meaning), testing::HasSubstr(name.substr(0, name.find(','))));
  EXPECT_GE(count, 5);
}

}  // namespace
}  // namespace tilewright::dsl
