#include "tests/models/onnx/cases.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "graph/compile/compile.h"
#include "models/exported/archive.h"
#include "models/onnx/file/model.h"
#include "models/onnx/file/wire.h"
#include "models/onnx/onnx_module.h"
#include "runtime/base/error.h"
#include "tests/source_folder.h"

namespace tilewright::testing {
namespace {

// The package has floats of 16 bits that end early as integers of as many bits.
Tensor as_dtype(const Tensor& given, DType dtype) {
  if (dtype != bf16 || given.dtype() != u16) return given;
  return Tensor::from_bytes(given.const_data(), given.count() * 2, given.shape(), bf16);
}

}  // namespace

std::vector<OnnxCase> onnx_cases(const std::string& name) {
  const char* only = std::getenv("TILEWRIGHT_TEST_CASE");
  auto archive = exported::Archive::open(source_folder() / "tests/models/onnx" / name);
  std::vector<OnnxCase> cases;
  for (const exported::ArchiveEntry& entry : archive.entries()) {
    if (only != nullptr && !entry.name.starts_with(only)) continue;
    std::string bytes = archive.text(entry, 1 << 24);
    OnnxCase each{entry.name, {}, {}, {}};
    tilewright::onnx::Place place{entry.name};
    for (tilewright::onnx::Fields fields(bytes, place); fields.next();) {
      if (fields.number() == 1) each.model = fields.text();
      if (fields.number() == 2) each.inputs.emplace_back(fields.text());
      if (fields.number() == 3) each.outputs.emplace_back(fields.text());
    }
    cases.push_back(std::move(each));
  }
  return cases;
}

const std::map<std::string, std::string>& unsupported_onnx_cases() {
  static const std::map<std::string, std::string> cases = [] {
    std::map<std::string, std::string> read;
    std::ifstream file(source_folder() / "docs/unsupported_onnx.txt");
    for (std::string line; std::getline(file, line);) {
      std::istringstream words(line);
      std::string kind, name, reason;
      words >> kind >> name;
      std::getline(words >> std::ws, reason);
      if (kind == "case") read.emplace(name, reason);
    }
    return read;
  }();
  return cases;
}

std::string onnx_difference(const std::vector<Tensor>& got, const std::vector<Tensor>& expected) {
  if (got.size() != expected.size())
    return concat(got.size(), " outputs; ", expected.size(), " are right");
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Tensor &a = got[i], &b = expected[i];
    if (a.dtype() != b.dtype() || a.shape() != b.shape())
      return concat("output ", i, " is ", a.dtype(), " [", a.shape(), "]; right is ", b.dtype(),
                    " [", b.shape(), "]");
    if (!is_floating(a.dtype())) {
      if (a.to(i64).to_vector<std::int64_t>() != b.to(i64).to_vector<std::int64_t>())
        return concat("output ", i, ": ", to_string(a), "; right is ", to_string(b));
      continue;
    }
    double relative = bit_width(b.dtype()) < 32 ? 1e-2 : 1e-3;
    auto x = a.to(f64).to_vector<double>(), y = b.to(f64).to_vector<double>();
    for (std::size_t j = 0; j < x.size(); ++j) {
      if (x[j] == y[j] || (std::isnan(x[j]) && std::isnan(y[j]))) continue;
      if (!(std::abs(x[j] - y[j]) <= 1e-5 + relative * std::abs(y[j])))
        return concat("output ", i, ": element ", j, " is ", x[j], "; right is ", y[j]);
    }
  }
  return {};
}

std::string what_is_wrong(const OnnxCase& c, const std::filesystem::path& path, How how) try {
  std::ofstream(path, std::ios::binary) << c.model;
  auto module = load_onnx(path);
  std::vector<Tensor> inputs, outputs;
  for (const std::string& bytes : c.inputs) {
    Tensor input = tilewright::onnx::read_tensor(bytes, c.name);
    bool is_known = inputs.size() < module->inputs().size();
    inputs.push_back(is_known ? as_dtype(input, module->inputs()[inputs.size()].dtype) : input);
  }
  auto fast = compile(*module, {.fullgraph = how == How::as_one_graph});
  std::vector<Tensor> got = how == How::at_once ? module->forward(inputs) : fast(inputs);
  for (const std::string& bytes : c.outputs) {
    Tensor output = tilewright::onnx::read_tensor(bytes, c.name);
    bool is_known = outputs.size() < got.size();
    outputs.push_back(is_known ? as_dtype(output, got[outputs.size()].dtype()) : output);
  }
  return onnx_difference(got, outputs);
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace tilewright::testing
