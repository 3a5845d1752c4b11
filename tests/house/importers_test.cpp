// What importers of foreign programs may do. A row of an operator adapts: it asks the call for its
// arguments and hands them to a function of graph/functions, where users of C++ find it too.
// Mathematics that is written into an importer is counted here, file by file, and only less of it
// is allowed (importer_formulas.txt).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/source_folder.h"

namespace tilewright::importers_test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

const fs::path root = source_folder();
const std::vector<std::string> importers = {"models/exported/aten", "models/onnx"};

struct Importer {
  std::string path, text;
};
const std::vector<Importer>& importer_files() {
  static const std::vector<Importer> files = [] {
    std::vector<Importer> found;
    for (const std::string& folder : importers)
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        const std::string path = fs::relative(entry.path(), root).generic_string();
        const std::string extension = entry.path().extension();
        if (extension != ".cpp" && extension != ".h") continue;
        std::ifstream in(entry.path());
        std::ostringstream text;
        text << in.rdbuf();
        found.push_back({path, text.str()});
      }
    std::ranges::sort(found, {}, &Importer::path);
    return found;
  }();
  return files;
}

// The text without comments, and with empty strings.
std::string code_of(const std::string& text) {
  std::string code;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size() - 1);
      code += '\n';
    } else if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
      code += "\"\"";
    } else {
      code += text[i];
    }
  }
  return code;
}

// Functions of elements, reductions and products, as formulas are made of.
constexpr const char* computing =
    "exp|exp2|expm1|log|log2|log10|log1p|sqrt|rsqrt|square|reciprocal|sin|cos|tan|tanh|sigmoid|relu"
    "|erf|erfc|abs|sign|floor|ceil|round|trunc|pow|where|maximum|minimum|clamp|clamp_min|clamp_max"
    "|logical_and|logical_or|logical_not|bitwise_and|shift_left|shift_right|remainder|floor_divide"
    "|isnan|isinf|isfinite|lerp|copysign|sum|prod|mean|amax|amin|any|all|var|var_mean|argmax|argmin"
    "|cumsum|cumprod|cummax|matmul|softmax|log_softmax|logsumexp|linalg_vector_norm";

// What is computed in such a text, in its order: calls of these functions with anything but an
// argument of the call that the row adapts, and arithmetic and comparisons of tensors.
std::vector<std::string> formulas_of(const std::string& text) {
  const std::string code = code_of(text);
  std::vector<std::string> found;
  auto add_all = [&](const std::regex& form) {
    for (std::sregex_iterator i(code.begin(), code.end(), form), end; i != end; ++i)
      found.push_back(i->str());
  };
  // Not of std, and no declaration, which begins with a type or stands in a namespace.
  static const std::regex call(std::string(R"((^|[^\w:.>"])()") + computing +
                               R"()\((?!\)|(c|call)\.(tensor|operand|optional_tensor)\())");
  for (std::sregex_iterator i(code.begin(), code.end(), call), end; i != end; ++i) {
    const std::string before = code.substr(0, static_cast<std::size_t>(i->position() + 1));
    if (!std::regex_search(before.end() - std::min<std::ptrdiff_t>(std::ssize(before), 12),
                           before.end(), std::regex(R"((Tensor|auto|bool|double)\s?$)")))
      found.push_back((*i)[2].str() + "()");
  }
  std::set<std::string> names;
  static const std::regex declaration(R"(\bTensor&? (\w+)(?=[ ,;={)]))");
  for (std::sregex_iterator i(code.begin(), code.end(), declaration), end; i != end; ++i) {
    names.insert((*i)[1].str());
    // Others of the same declaration.
    auto rest = code.begin() + i->position() + i->length();
    const auto stop = std::find(rest, code.end(), ';');
    static const std::regex other(R"(,\s*(\w+) = )");
    for (std::sregex_iterator j(rest, stop, other); j != std::sregex_iterator(); ++j)
      names.insert((*j)[1].str());
  }
  for (const std::string& name : names) {
    add_all(std::regex(R"(\b)" + name + R"( (\+|-|\*|/|<|<=|>|>=|==|!=) )"));
    add_all(std::regex(R"([\w)\]] (\+|-|\*|/|<|<=|>|>=|==|!=) )" + name + R"(\b(?![.(\[]|->|::))"));
  }
  add_all(std::regex(R"(\.(to|reshape|unsqueeze|expand|tensor|transpose|select|slice)\([^()]*\))"
                     R"( (\+|-|\*|/|<|<=|>|>=|==|!=) )"));
  return found;
}

// How much of it each file may have.
std::map<std::string, std::size_t> budgets() {
  std::map<std::string, std::size_t> found;
  std::ifstream in(root / "tests/house/importer_formulas.txt");
  std::size_t count = 0;
  for (std::string path; in >> count >> path;) found[path] = count;
  return found;
}

TEST(HouseImporters, ComputeNoMoreThanTheyDid) {
  ASSERT_GT(importer_files().size(), 60U);
  std::map<std::string, std::size_t> left = budgets();
  std::vector<std::string> wrong;
  for (const Importer& file : importer_files()) {
    const std::size_t count = formulas_of(file.text).size(), budget = left[file.path];
    left.erase(file.path);
    if (count > budget)
      wrong.push_back(file.path + " computes " + std::to_string(count) + " times, not " +
                      std::to_string(budget) + ": a formula belongs into graph/functions");
    if (count < budget)
      wrong.push_back(file.path + " computes " + std::to_string(count) + " times: write \"" +
                      std::to_string(count) + " " + file.path +
                      "\" into tests/house/importer_formulas.txt for " + std::to_string(budget));
  }
  for (const auto& [path, count] : left)
    wrong.push_back(path + " is in tests/house/importer_formulas.txt, and there is no such file");
  EXPECT_THAT(wrong, IsEmpty());
}

TEST(HouseImporters, FormulasAreFound) {
  EXPECT_THAT(formulas_of("Tensor swish(const Call& call) {\n"
                          "  const Tensor x = call.tensor(0);\n"
                          "  return x * sigmoid(x);\n"
                          "}\n"),
              ElementsAre("sigmoid()", "x * "));
  EXPECT_THAT(formulas_of("return where(mask, a.to(f32) - b.to(f32), 0);"),
              ElementsAre("where()", ".to(f32) - "));
  EXPECT_THAT(formulas_of("Tensor a = call.tensor(0), b = call.tensor(1);\nreturn 1.0 - b;"),
              ElementsAre("0 - b"));
  EXPECT_THAT(formulas_of("{\"aten.y\", [](const Call& c) { return exp(-c.tensor(\"self\")); }},"),
              ElementsAre("exp()"));
}

TEST(HouseImporters, RowsThatAdaptAreNoFormulas) {
  EXPECT_THAT(
      formulas_of("// where(x, y) of a comment\n"
                  "{\"aten.exp.default\", of_one<exp>},\n"
                  "{\"aten.sum.default\",\n"
                  " [](const Call& c) { return sum(c.tensor(\"self\"), c.axes(\"dim\")); }},\n"
                  "const std::int64_t last = x.size(0) - 1;\n"
                  "call.refuse(\"dim\", concat(\"is \", a, \" * b\"));\n"),
      IsEmpty());
}

// Of graph importers see functions and tensors. What else they need is named here, for the file
// that needs it.
TEST(HouseImporters, SeeFunctionsAndTensorsOfTheGraph) {
  const std::set<std::pair<std::string, std::string>> others = {
      // Whether a result is in an operand's memory, which writes in place ask.
      {"models/exported/aten/operators.cpp", "graph/tensor/tensor_copy.h"},
      // Errors about lengths name the node of the model.
      {"models/onnx/operators/recurrent.cpp", "graph/tensor/index_ranges.h"},
      // The table of what autocast casts.
      {"models/exported/aten/ops/control/autocast.cpp", "graph/tensor/precision/autocast_call.h"},
      // Values of the host, and what a branch that reads one says.
      {"models/onnx/program/value.h", "graph/tensor/user/number.h"},
      {"models/onnx/control/control.cpp", "graph/tensor/guarded.h"},
      // The number of a range's elements, whose span may go beyond i64.
      {"models/onnx/operators/folding.cpp", "graph/ir/shape_rules.h"},
      {"models/onnx/control/choice.cpp", "graph/tensor/guarded.h"},
      {"models/onnx/control/choice.cpp", "graph/tensor/recording/graph_break.h"},
      {"models/onnx/control/loops.cpp", "graph/tensor/guarded.h"},
      {"models/onnx/control/running.cpp", "graph/tensor/recording/graph_break.h"},
      {"models/onnx/onnx_module.cpp", "graph/compile/sizes/size_marks.h"},
      // Types of public headers, in place of long ones of the standard library.
      {"models/onnx/onnx_module.h", "runtime/files/file_path.h"},
      {"models/onnx/onnx_module.h", "runtime/owned.h"}};
  static const std::regex include(R"(#include "((?:runtime|dsl|autotune|graph)/[^"]+)\")");
  std::set<std::pair<std::string, std::string>> unused = others;
  std::vector<std::string> wrong;
  for (const Importer& file : importer_files())
    for (std::sregex_iterator i(file.text.begin(), file.text.end(), include), end; i != end; ++i) {
      const std::string name = (*i)[1];
      unused.erase({file.path, name});
      if (name.starts_with("graph/functions/") || name == "graph/tensor/tensor.h" ||
          name.starts_with("runtime/base/") || others.contains({file.path, name}))
        continue;
      wrong.push_back(file.path + " includes " + name);
    }
  for (const auto& [path, name] : unused)
    wrong.push_back(path + " does not include " + name + " any more: remove it from the list");
  EXPECT_THAT(wrong, IsEmpty());
}

}  // namespace
}  // namespace tilewright::importers_test
