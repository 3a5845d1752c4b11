// Runs each pass over tile programs on the programs of its golden folders: input, a line of dashes,
// what must come out. A folder is named after the pass, and after the target if that is not any
// host: expand_math.sm_80. TILEWRIGHT_UPDATE_GOLDEN=1 in the environment rewrites what differs, and
// renumbers the input.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "dsl/codegen/gpu/passes/gpu_pipeline.h"
#include "dsl/ir/text/text.h"
#include "dsl/passes/pipeline.h"

namespace tilewright::dsl {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view divider = "----\n";

struct Golden {
  std::string pass;
  std::string target;  // "": any host
  fs::path file;
};

std::vector<Golden> goldens() {
  std::vector<Golden> all;
  for (const auto& folder :
       fs::directory_iterator(fs::path(TILEWRIGHT_SOURCE_DIR) / "tests/golden")) {
    if (!folder.is_directory()) continue;
    std::string pass = folder.path().stem(), target = folder.path().extension();
    if (!target.empty()) target.erase(0, 1);  // the dot
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == ".tile") all.push_back({pass, target, entry.path()});
  }
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

// The program before and the program after.
std::pair<std::string, std::string> halves(const fs::path& file) {
  std::string text = read(file);
  auto at = text.find(divider);
  return {text.substr(0, at), at == text.npos ? "" : text.substr(at + divider.size())};
}

bool updating() { return std::getenv("TILEWRIGHT_UPDATE_GOLDEN") != nullptr; }

TEST_P(TilePassesGolden, gives_the_expected_program) {
  auto [input, expected] = halves(GetParam().file);
  ir::Function function = ir::parse(input);
  std::string before = ir::print(function);
  std::vector<std::string> names{GetParam().pass};
  const std::string& target = GetParam().target;
  bool changed =
      gpu::run_named_passes(function, names, target.empty() ? Target{} : target_named(target))
          .front()
          .changed;
  std::string after = ir::print(function);
  if (updating() && (before != input || after != expected))
    std::ofstream(GetParam().file) << before << divider << after;
  else
    EXPECT_EQ(after, expected) << GetParam().file;
  bool nothing = GetParam().file.stem().string().starts_with("leaves_");
  EXPECT_EQ(changed, !nothing) << "files named leaves_... are those where nothing may change";
}

TEST_P(TilePassesGolden, prints_as_it_was_read) {
  auto [input, expected] = halves(GetParam().file);
  EXPECT_EQ(ir::print(ir::parse(input)), input) << "TILEWRIGHT_UPDATE_GOLDEN=1 renumbers it";
  EXPECT_EQ(ir::print(ir::parse(expected)), expected);
}

TEST(TilePassesGoldenFolder, EveryPassHasACaseThatChangesAndOneThatDoesNot) {
  for (std::string_view pass : pass_names()) {
    int leaves = 0, changes = 0;
    for (const Golden& golden : goldens())
      if (golden.pass == pass)
        ++(golden.file.stem().string().starts_with("leaves_") ? leaves : changes);
    EXPECT_GE(leaves, 1) << pass;
    EXPECT_GE(changes, 1) << pass;
  }
}

INSTANTIATE_TEST_SUITE_P(Files, TilePassesGolden, testing::ValuesIn(goldens()), [](const auto& i) {
  const std::string& target = i.param.target;
  return i.param.pass + (target.empty() ? "_" : "_" + target + "_") + i.param.file.stem().string();
});

}  // namespace
}  // namespace tilewright::dsl
