// The corpus of tests/data: programs that PyTorch has exported, with inputs and what PyTorch
// computed for them. TILEWRIGHT_TEST_CORPUS names another folder of such.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/tensor/tensor.h"

namespace tilewright::testing {

struct CorpusCase {
  std::string name;               // "ops/add/float32-0", "models/Bert"
  std::filesystem::path program;  // .pt2; beside it .safetensors
};
// By name; raises `Error` where there are none. TILEWRIGHT_TEST_CASE names the only one, or a
// prefix: then there may be none of the kind.
std::vector<CorpusCase> corpus_cases(const std::string& kind);

struct CorpusRun {
  std::vector<Tensor> inputs, outputs;
};
// Several, of a program with sizes that differ.
std::vector<CorpusRun> corpus_runs(const CorpusCase& corpus_case);

// An unsupported case, and the reason: docs/unsupported_operators.txt.
struct Unsupported {
  std::set<std::string> operators;           // a program with one of them is refused
  std::map<std::string, std::string> cases;  // by name, or a folder's: the reason
};
const Unsupported& unsupported();

// How outputs differ from PyTorch's, or nothing. Integers and flags must be equal; a float may
// differ by `bounds` times as much as torch.testing.assert_close allows.
std::optional<std::string> difference(const std::vector<Tensor>& got,
                                      const std::vector<Tensor>& expected, double bounds);

}  // namespace tilewright::testing
