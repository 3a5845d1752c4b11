// Exported programs as packages: the results of a package have the bits that the compiled program
// gives.
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "graph/compile/packages/package.h"
#include "models/exported/exported_module.h"
#include "runtime/base/error.h"
#include "tests/every_device.h"
#include "tests/models/exported_corpus.h"
#include "tests/scratch_folder.h"

namespace tilewright::package_corpus_test {
namespace {

using testing::corpus_cases;
using testing::corpus_runs;
using testing::CorpusCase;
using testing::CorpusRun;

// As bytes, so that a NaN is equal to itself.
bool are_same_bits(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  const Tensor x = a.clone(), y = b.clone();
  return std::memcmp(x.const_data(), y.const_data(),
                     static_cast<std::size_t>(a.count() * size_bytes(a.dtype()))) == 0;
}

struct Outcome {
  int packaged = 0, refused = 0;
};

void try_case(const CorpusCase& c, bool freezing, Outcome& outcome) {
  SCOPED_TRACE(c.name);
  const ScratchFolder folder;
  const std::string file = (folder.path() / "model.twp").string();
  const auto model = load_exported(c.program);
  auto fast = compile(*model, {.tell_breaks = false,
                               .max_signatures = 64,
                               .freezing = freezing,
                               .index_checks = IndexChecks::all});
  std::vector<std::vector<Tensor>> expected;
  const std::vector<CorpusRun> runs = corpus_runs(c);
  for (const CorpusRun& run : runs) expected.push_back(fast(run.inputs));
  try {
    fast.save_package(file, model->outputs());
  } catch (const Error& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("[save_package] ")) << error.what();
    ++outcome.refused;
    return;
  }
  const std::int64_t compiled = dsl::compile_statistics().compiled;
  const Package package = load_package(file);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Tensor> got = package.run(runs[i].inputs);
    ASSERT_EQ(got.size(), expected[i].size());
    for (std::size_t j = 0; j < got.size(); ++j)
      EXPECT_TRUE(are_same_bits(got[j], expected[i][j])) << "run " << i << ", output " << j;
  }
  EXPECT_EQ(dsl::compile_statistics().compiled, compiled);
  ++outcome.packaged;
}

TEST(PackageCorpus, ModelsGiveTheSameBits) {
  TILEWRIGHT_ON_THE_HOST_ONLY("packages");
  Outcome outcome;
  bool freezing = false;
  for (const CorpusCase& c : corpus_cases("models")) try_case(c, freezing = !freezing, outcome);
  std::cout << outcome.packaged << " packaged, " << outcome.refused << " refused\n";
  EXPECT_GT(outcome.packaged, 9 * outcome.refused);
}

}  // namespace
}  // namespace tilewright::package_corpus_test
