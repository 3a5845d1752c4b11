// Runs each pass over tile programs on the programs of its golden folder: input, a line of dashes,
// what must come out. UPDATE_GOLDEN in the environment rewrites what differs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "dsl/ir/text.h"
#include "dsl/passes/pipeline.h"

namespace tilewright::dsl {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view divider = "----\n";

struct Golden {
  std::string pass;
  fs::path file;
};

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  for (const Pass& pass : passes())
    for (const auto& entry : fs::directory_iterator(fs::path(TILEWRIGHT_SOURCE_DIR) /
                                                    "tests/golden" / std::string(pass.name)))
      if (entry.path().extension() == ".tile")
        all.push_back({std::string(pass.name), entry.path()});
  std::ranges::sort(all, {}, &Golden::file);
  return all;
}

std::string read(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

class TilePassesGolden : public testing::TestWithParam<Golden> {};

TEST_P(TilePassesGolden, gives_the_expected_program) {
  std::string text = read(GetParam().file);
  auto at = text.find(divider);
  std::string input = text.substr(0, at);
  std::string expected = at == text.npos ? "" : text.substr(at + divider.size());
  ir::Function function = ir::parse(input);
  EXPECT_EQ(ir::print(ir::parse(ir::print(function))), ir::print(function));
  std::vector<std::string> names{GetParam().pass};
  bool changed = run_passes(function, names).front().changed;
  std::string printed = ir::print(function);
  if (printed != expected && std::getenv("UPDATE_GOLDEN") != nullptr) {
    std::ofstream(GetParam().file) << input << divider << printed;
    return;
  }
  EXPECT_EQ(printed, expected) << GetParam().file;
  bool nothing = GetParam().file.stem().string().starts_with("leaves_");
  EXPECT_EQ(changed, !nothing) << "files named leaves_... are those where nothing may change";
}

TEST(TilePassesGoldenFolder, EveryPassHasACaseThatChangesAndOneThatDoesNot) {
  for (const Pass& pass : passes()) {
    int leaves = 0, changes = 0;
    for (const Golden& golden : goldens())
      if (golden.pass == pass.name)
        ++(golden.file.stem().string().starts_with("leaves_") ? leaves : changes);
    EXPECT_GE(leaves, 1) << pass.name;
    EXPECT_GE(changes, 1) << pass.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, TilePassesGolden, testing::ValuesIn(goldens()), [](const auto& i) {
  return i.param.pass + "_" + i.param.file.stem().string();
});

}  // namespace
}  // namespace tilewright::dsl
