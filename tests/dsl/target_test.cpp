#include "dsl/target/target.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

#include "runtime/base/env.h"
#include "tests/errors.h"

namespace tilewright::dsl::target_test {
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

// The system gives them to a process that asks; then it says so, and else the processor has none.
TEST(Target, HasTilesWhereTheSystemGivesThem) {
  constexpr long given_features = 0x1022, tile_data = 18;  // ARCH_GET_XCOMP_PERM
  const bool is_known = std::string_view(host_names().front()) == "amx";
  unsigned long given = 0;
  const bool is_told = syscall(SYS_arch_prctl, given_features, &given) == 0;
  EXPECT_EQ(is_known, is_told && (given >> tile_data & 1) != 0);
}

}  // namespace
}  // namespace tilewright::dsl::target_test
