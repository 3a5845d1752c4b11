#include "tests/models/exported_corpus.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "models/weights/safetensors.h"
#include "runtime/base/error.h"
#include "tests/source_folder.h"

namespace tilewright::testing {
namespace {

namespace fs = std::filesystem;

fs::path corpus_root() {
  const char* chosen = std::getenv("TILEWRIGHT_TEST_CORPUS");
  return chosen ? chosen : data_folder() / "corpus";
}

// PREFIX.0, PREFIX.1, ... of the file.
std::vector<Tensor> numbered(const Safetensors& file, const std::string& prefix) {
  std::vector<Tensor> tensors;
  for (std::string name = prefix + "0"; file.find(name) != nullptr;
       name = prefix + std::to_string(tensors.size()))
    tensors.push_back(file.tensor(name));
  return tensors;
}

// The bounds of torch.testing.assert_close.
struct Bound {
  double relative, absolute;
};
Bound bound_of(DType dtype) {
  if (dtype == bf16) return {1.6e-2, 1e-5};
  if (dtype == f16) return {1e-3, 1e-5};
  if (dtype == f64) return {1e-7, 1e-7};
  return {1.3e-6, 1e-5};
}

std::optional<std::string> float_difference(const Tensor& got, const Tensor& expected,
                                            double bounds) {
  std::vector<double> a = got.to(f64).to_vector<double>(), b = expected.to(f64).to_vector<double>();
  Bound bound = bound_of(expected.dtype());
  // Where the terms of a sum cancel, PyTorch's own error is of this size: a unit in the last place
  // of the largest element of f32.
  double largest = 0;
  for (double each : b)
    if (std::isfinite(each)) largest = std::max(largest, std::abs(each));
  const double least = expected.dtype() == f32 ? 0x1p-23 * largest : 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double allowed = std::max(bounds * (bound.absolute + bound.relative * std::abs(b[i])), least);
    if (!(std::abs(a[i] - b[i]) <= allowed))
      return concat("element ", i, " is ", a[i], "; PyTorch has ", b[i]);
  }
  return std::nullopt;
}

// `beginnings`: divided by commas.
bool begins_with_one_of(const std::string& name, const std::string& beginnings) {
  std::istringstream words(beginnings);
  for (std::string word; std::getline(words, word, ',');)
    if (name.starts_with(word)) return true;
  return false;
}

}  // namespace

std::vector<CorpusCase> corpus_cases(const std::string& kind) {
  const char* only = std::getenv("TILEWRIGHT_TEST_CASE");
  std::vector<CorpusCase> cases;
  std::error_code none;
  fs::recursive_directory_iterator files(corpus_root() / kind, none);
  for (const fs::directory_entry& entry : files) {
    if (entry.path().extension() != ".pt2") continue;
    fs::path name = fs::relative(entry.path(), corpus_root()).replace_extension();
    if (only == nullptr || begins_with_one_of(name.generic_string(), only))
      cases.push_back({name.generic_string(), entry.path()});
  }
  require(!cases.empty() || only != nullptr, "[corpus] there are no ", kind, " in ",
          corpus_root().string(), "; unset TILEWRIGHT_TEST_CORPUS to use those of tests/data");
  std::ranges::sort(cases, {}, &CorpusCase::name);
  return cases;
}

std::vector<CorpusRun> corpus_runs(const CorpusCase& corpus_case) {
  fs::path path = corpus_case.program;
  Safetensors file = Safetensors::open(path.replace_extension(".safetensors"));
  std::vector<CorpusRun> runs;
  for (int run = 0;; ++run) {
    std::string prefix = concat("run", run, ".");
    if (file.find(prefix + "out.0") == nullptr) break;
    runs.push_back({numbered(file, prefix + "in."), numbered(file, prefix + "out.")});
  }
  if (runs.empty()) runs.push_back({numbered(file, "in."), numbered(file, "out.")});
  return runs;
}

const Unsupported& unsupported() {
  static const Unsupported lists = [] {
    Unsupported read;
    std::ifstream file(source_folder() / "docs/unsupported_operators.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string kind, name, reason;
      words >> kind >> name;
      std::getline(words >> std::ws, reason);
      if (kind == "operator") read.operators.insert(name);
      if (kind == "case") read.cases.emplace(name, reason);
    }
    return read;
  }();
  return lists;
}

std::optional<std::string> difference(const std::vector<Tensor>& got,
                                      const std::vector<Tensor>& expected, double bounds) {
  if (got.size() != expected.size())
    return concat(got.size(), " outputs; PyTorch has ", expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor &a = got[i], &b = expected[i];
    if (a.dtype() != b.dtype() || a.shape() != b.shape())
      return concat("out.", i, " is ", a.dtype(), " [", a.shape(), "]; PyTorch has ", b.dtype(),
                    " [", b.shape(), "]");
    std::optional<std::string> found;
    if (is_floating(a.dtype()))
      found = float_difference(a, b, bounds);
    else if (a.to(i64).to_vector<std::int64_t>() != b.to(i64).to_vector<std::int64_t>())
      found = concat(to_string(a), "; PyTorch has ", to_string(b));
    if (found) return concat("out.", i, ": ", *found);
  }
  return std::nullopt;
}

}  // namespace tilewright::testing
