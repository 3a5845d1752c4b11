// Programs that PyTorch has exported compute what PyTorch computed. unsupported_operators.txt lists
// the exceptions; a case that is neither right nor listed fails, and so does a line there that is
// not true any more. TILEWRIGHT_TEST_CASE=ops/add/float32-0 runs one case alone, ops/add/,ops/mul/
// those of two folders.
#include "tests/models/exported_corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "dsl/launch/compile.h"
#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"

namespace tilewright::exported_corpus_test {
namespace {

using testing::corpus_cases;
using testing::corpus_runs;
using testing::CorpusCase;
using testing::CorpusRun;
using testing::difference;
using testing::unsupported;

// How often as much as assert_close's bounds: whole models add up many roundings.
constexpr double of_operators = 4, of_models = 20;

enum class How { at_once, compiled };

std::optional<std::string> wrong_run(const ExportedModule& module, How how,
                                     const std::vector<CorpusRun>& runs, double bounds) {
  auto fast = compile(module);
  for (const CorpusRun& run : runs) {
    std::vector<Tensor> got = how == How::compiled ? fast(run.inputs) : module.forward(run.inputs);
    if (auto found = difference(got, run.outputs, bounds)) return found;
  }
  return std::nullopt;
}

// The problem with the case, in words, or nothing.
std::optional<std::string> wrong(const CorpusCase& c, How how, double bounds) try {
  return wrong_run(*load_exported(c.program), how, corpus_runs(c), bounds);
} catch (const std::exception& error) {
  return error.what();
}

// The operators of the case that are not known.
std::set<std::string> missing_operators(const CorpusCase& c) {
  std::set<std::string> missing;
  for (const ProgramOperator& op : inspect_exported(c.program).operators)
    if (!op.is_known) missing.insert(op.name);
  return missing;
}

std::string folder_of(const std::string& name) { return name.substr(0, name.rfind('/')); }

class Tally {
 public:
  void check(const CorpusCase& c, How how, double bounds) {
    auto missing = missing_operators(c);
    bool is_excused =
        unsupported().cases.contains(c.name) || unsupported().cases.contains(folder_of(c.name));
    for (const std::string& op : missing) {
      ++cases_without_[op];
      EXPECT_TRUE(unsupported().operators.contains(op) || is_excused) << c.name << " needs " << op;
    }
    if (!missing.empty()) return;
    auto found = wrong(c, how, bounds);
    right_ += !found.has_value();
    EXPECT_TRUE(!found || is_excused)
        << c.name << ": " << found.value_or("") << "\n  repeat: TILEWRIGHT_TEST_CASE=" << c.name;
    EXPECT_FALSE(!found && unsupported().cases.contains(c.name))
        << c.name << " is right, and listed as unsupported";
  }
  void report(const char* what, std::size_t count) {
    std::cout << right_ << " of " << count << " " << what << " agree\n";
    for (const auto& [op, number] : cases_without_)
      std::cout << "without " << op << ": " << number << " cases\n";
    const dsl::CompileStatistics kernels = dsl::compile_statistics();
    std::cout << "longest to compile: " << kernels.longest << ", "
              << kernels.longest_processor_seconds << " s of a processor\n";
  }

 private:
  int right_ = 0;
  std::map<std::string, int> cases_without_;
};

// Every how many of the cases run.
std::size_t share() {
  return static_cast<std::size_t>(std::max<std::int64_t>(1, env::test_share().value_or(1)));
}

void check_all(const char* kind, How how, double bounds) {
  std::vector<CorpusCase> cases = corpus_cases(kind);
  if (cases.empty()) GTEST_SKIP() << "TILEWRIGHT_TEST_CASE names no case of " << kind;
  Tally tally;
  std::size_t count = 0;
  for (std::size_t i = 0; i < cases.size(); i += share(), ++count)
    tally.check(cases[i], how, bounds);
  tally.report(kind, count);
}

TEST(ExportedCorpus, ModelsAtOnceComputeWhatPyTorchDoes) {
  check_all("models", How::at_once, of_models);
}
TEST(ExportedCorpus, CompiledModelsComputeWhatPyTorchDoes) {
  check_all("models", How::compiled, of_models);
}
TEST(ExportedCorpus, OperatorsAtOnceComputeWhatPyTorchDoes) {
  check_all("ops", How::at_once, of_operators);
}
TEST(ExportedCorpus, CompiledOperatorsComputeWhatPyTorchDoes) {
  check_all("ops", How::compiled, of_operators);
}

}  // namespace
}  // namespace tilewright::exported_corpus_test
