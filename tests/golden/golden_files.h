// Programs before and after a pass, in files: input, a line of dashes, what must come out.
//
// The folder of a file is named after the pass, its extension after the language: tile programs in
// .tile, graphs in .graph. In files that begin with `leaves_` the pass may change nothing.
// TILEWRIGHT_UPDATE_GOLDEN=1 in the environment rewrites what differs, and renumbers the input.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/env.h"
#include "tests/source_folder.h"

namespace tilewright {

struct Golden {
  std::string pass;
  std::string target;  // "": any host
  std::filesystem::path file;

  bool leaves() const { return file.stem().string().starts_with("leaves_"); }
  std::string test_name() const {
    return pass + (target.empty() ? "_" : "_" + target + "_") + file.stem().string();
  }
  // The program before and the program after.
  std::pair<std::string, std::string> halves() const {
    std::ifstream in(file);
    std::ostringstream whole;
    whole << in.rdbuf();
    const std::string text = whole.str();
    auto at = text.find(divider);
    return {text.substr(0, at), at == text.npos ? "" : text.substr(at + divider.size())};
  }
  void expect(const std::string& before, const std::string& after) const {
    auto [input, expected] = halves();
    if (env::update_golden() && (before != input || after != expected))
      std::ofstream(file) << before << divider << after;
    else
      EXPECT_EQ(after, expected) << file;
  }
  friend void PrintTo(const Golden& golden, std::ostream* out) { *out << golden.file; }

 private:
  static constexpr std::string_view divider = "----\n";
};

// Those of one language.
inline std::vector<Golden> goldens(const std::string& extension) {
  namespace fs = std::filesystem;
  std::vector<Golden> all;
  for (const auto& folder : fs::directory_iterator(source_folder() / "tests/golden")) {
    if (!folder.is_directory()) continue;
    std::string pass = folder.path().stem(), target = folder.path().extension();
    if (!target.empty()) target.erase(0, 1);  // the dot
    for (const auto& entry : fs::directory_iterator(folder))
      if (entry.path().extension() == extension) all.push_back({pass, target, entry.path()});
  }
  std::ranges::sort(all, {}, &Golden::file);
  return all;
}

// Every pass, or name of one, has a file where it changes something and one where it does not.
template <typename Passes>
void expect_both_kinds(const Passes& passes, const std::string& extension) {
  const std::vector<Golden> all = goldens(extension);
  for (const auto& pass : passes) {
    std::string_view name;
    if constexpr (requires { pass.name; })
      name = pass.name;
    else
      name = pass;
    auto of_pass = [&](bool leaves) {
      return std::ranges::count_if(
          all, [&](const Golden& g) { return g.pass == name && g.leaves() == leaves; });
    };
    EXPECT_GE(of_pass(true), 1) << name;
    EXPECT_GE(of_pass(false), 1) << name;
  }
}

}  // namespace tilewright
