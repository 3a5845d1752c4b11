// Code asks an element type for facts, and names it only where it must. One type is in all of those
// places, bf16: so it is looked where this one is named. dsl/README.md, "Adding an element type",
// says what stands in each.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <string>

#include "tests/source_folder.h"

namespace tilewright::dtypes_test {
namespace {

namespace fs = std::filesystem;

// Without comments, and without what others named: instruction sets, a field of config.json, and a
// type in pickles.
std::string code_of(const fs::path& path) {
  static const std::regex comment("//.*"),
      foreign("avx512_?bf16(?![a-z0-9_])|amx[-_]bf16|use_bfloat16|BFloat16Storage");
  std::ifstream in(path);
  std::string code;
  for (std::string line; std::getline(in, line);)
    code += std::regex_replace(std::regex_replace(line, comment, ""), foreign, "") + "\n";
  return code;
}

TEST(House, FewPlacesNameAnElementType) {
  static const std::regex name("bf16|bfloat16", std::regex::icase);
  const fs::path root = source_folder();
  std::set<std::string> naming;
  for (const char* room : {"runtime", "dsl", "autotune", "graph", "models"})
    for (const auto& entry : fs::recursive_directory_iterator(root / room)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".def") continue;
      if (std::regex_search(code_of(entry.path()), name))
        naming.insert(fs::relative(entry.path(), root).generic_string());
    }
  EXPECT_THAT(naming, testing::ElementsAre(
                          "dsl/codegen/host/emit_rounding.cpp",  // AVX-512's that rounds to it
                          "dsl/target/device_ops.def",           // PTX's instructions
                          "dsl/target/number_formats.def",       // what tensor cores multiply
                          "dsl/target/word_products.def",        // what hosts multiply in words
                          "graph/quant/formats.def",             // scales in files
                          "models/gguf/gguf_types.cpp",          // its number in GGUF files
                          "models/optimizers/rules/muon.h",      // Muon's products by definition
                          "models/quantise/quant_targets.cpp",   // its name in bitsandbytes' files
                          "runtime/base/dtype.def",              // its row
                          "runtime/base/half.h"));               // what stores it on the host
}

}  // namespace
}  // namespace tilewright::dtypes_test
