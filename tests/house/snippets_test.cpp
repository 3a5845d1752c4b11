// Code in the documents compiles, against the headers as they are installed; and code that should
// not compile is refused in a line that a person can read.
//
// Every ```cpp block of every .md file is taken. It stands in a function of its own, or, if it
// defines a function, in a namespace of its own, after
//
//   using namespace tilewright; using namespace tilewright::dsl; namespace tw = tilewright;
//
// and sees `x`, a Tensor, and `folder`, a std::string. Anything else that it needs stands in a
// comment right before the block, which no reader is shown: <!-- given: std::int64_t m = 64; -->
//
// So is each snippet in a comment of a public header: lines further in than the comment, the first
// of which has a bracket, an `=` or a `;`. Its context stands in header_snippets.txt.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::snippets_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
const fs::path root = source_folder();

struct Output {
  int status;
  std::string text;
};

Output output_of(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "no process"};
  Output output{0, {}};
  std::array<char, 4096> part{};
  for (std::size_t got = 0; (got = fread(part.data(), 1, part.size(), pipe)) > 0;)
    output.text.append(part.data(), got);
  output.status = pclose(pipe);
  return output;
}

struct Snippet {
  std::string document;  // from the root
  int line = 0;          // of its first line there
  std::string given, code;
};

// Or a template, which cannot stand in one.
bool defines_function(const std::string& code) {
  static const std::regex form(
      R"((^|\n)(?!for|if|while|switch|else)[A-Za-z_][\w:<>,&* ]* [\w:]+\([^=;"[]*\)( const)? \{)");
  return std::regex_search(code, form) || code.find("template <") != code.npos;
}

// Which headers a snippet includes, and the rest of it.
std::pair<std::string, std::string> without_includes(const std::string& code) {
  std::string includes, rest;
  std::istringstream lines(code);
  for (std::string line; std::getline(lines, line);) {
    bool is_include = line.starts_with("#include");
    (is_include ? includes : rest) += line + "\n";
    if (is_include) rest += "\n";  // so that lines keep their numbers
  }
  return {includes, rest};
}

std::vector<Snippet> snippets_of(const fs::path& path) {
  std::vector<Snippet> snippets;
  std::ifstream in(path);
  std::string given;
  int number = 0;
  bool is_given = false;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("<!-- given:")) {
      is_given = true;
      given.clear();
      line.erase(0, std::string("<!-- given:").size());
    }
    if (is_given) {
      std::size_t end = line.find("-->");
      given += line.substr(0, end) + "\n";
      is_given = end == std::string::npos;
      continue;
    }
    if (line == "```cpp") {
      Snippet snippet{fs::relative(path, root).generic_string(), number + 1, given, {}};
      while (std::getline(in, line) && line != "```") ++number, snippet.code += line + "\n";
      ++number;
      snippets.push_back(std::move(snippet));
    }
    if (!line.empty()) given.clear();
  }
  return snippets;
}

std::vector<Snippet> all_snippets() {
  std::vector<Snippet> all;
  for (const fs::path& document : documents())
    for (Snippet& snippet : snippets_of(document)) all.push_back(std::move(snippet));
  return all;
}

// Lines of a comment that stand further in than it are a snippet if one ends as C++ does, and the
// first is no row of a table.
bool is_code(const std::string& lines) {
  static const std::regex end(R"(;[ ]*(//[^\n]*)?\n)"), first(R"(^[^\n]*[({=;])"),
      columns(R"(^[^\n({=;/]*[^ ({=;/]   )");
  return std::regex_search(lines, end) && std::regex_search(lines, first) &&
         !std::regex_search(lines, columns);
}

std::vector<Snippet> snippets_of_header(const fs::path& path, const std::string& name) {
  static const std::regex form(R"(^ *//   ([^* ].*)$)"), further(R"(^ *//   ( .*)$)");
  std::vector<Snippet> snippets;
  Snippet snippet{name, 0, {}, {}};
  std::ifstream in(path);
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    std::smatch match;
    if (std::regex_match(line, match, form) ||
        (snippet.line > 0 && std::regex_match(line, match, further))) {
      if (snippet.line == 0) snippet.line = number;
      snippet.code += match.str(1) + "\n";
      continue;
    }
    if (is_code(snippet.code)) snippets.push_back(snippet);
    snippet = {name, 0, {}, {}};
  }
  return snippets;
}

// One whose parts see what is declared in those before them.
Snippet joined(const std::vector<Snippet>& snippets) {
  Snippet all = snippets.front();
  for (std::size_t i = 1; i < snippets.size(); ++i)
    all.code += "#line " + std::to_string(snippets[i].line) + " \"" + all.document + "\"\n" +
                snippets[i].code;
  return all;
}

// The context given to snippets of headers, by header.
std::map<std::string, std::string> given_of_headers() {
  std::map<std::string, std::string> given;
  std::ifstream in(root / "tests/house/header_snippets.txt");
  std::string header;
  for (std::string line; std::getline(in, line);)
    if (line.ends_with(".h"))
      given[header = line];
    else if (line.starts_with("  "))
      given[header] += line + "\n";
  return given;
}

std::string program_of(const std::vector<Snippet>& snippets) {
  std::ostringstream includes, rest;
  rest << "namespace tw = tilewright;\n";
  int number = 0;
  for (const Snippet& snippet : snippets) {
    auto [own_includes, code] = without_includes(snippet.code);
    includes << own_includes;
    bool is_function = defines_function(code);
    rest << "namespace snippet_" << ++number << " {\n"
         << "using namespace tilewright;\nusing namespace tilewright::dsl;\n";
    std::string body = snippet.given + "\n#line " + std::to_string(snippet.line) + " \"" +
                       snippet.document + "\"\n" + code;
    if (is_function)
      rest << body;
    else
      rest << "void shown(tw::Tensor x, std::string folder) {\n{\n" << body << "}\n}\n";
    rest << "}\n";
  }
  return "#include <tilewright/tilewright.h>\n#include <filesystem>\n#include <iostream>\n"
         "#include <stop_token>\n#include <thread>\n" +
         includes.str() + rest.str();
}

// Compiles without making anything, against installed headers.
class Snippets : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new ScratchFolder();
    Output install =
        output_of(std::string(TILEWRIGHT_CMAKE) + " -DTILEWRIGHT_SOURCE_DIR=" + root.string() +
                  " -DTILEWRIGHT_INCLUDE_DIR=" + (folder_->path() / "include").string() + " -P " +
                  (root / "cmake/install_headers.cmake").string());
    ASSERT_EQ(install.status, 0) << install.text;
  }
  static void TearDownTestSuite() { delete folder_; }

  static Output compiled(const std::string& program) {
    fs::path source = folder_->path() / "program.cpp";
    std::ofstream(source) << program;
    return output_of(std::string(TILEWRIGHT_CXX) + " -std=c++20 -fsyntax-only -w -I" +
                     (folder_->path() / "include").string() + " " + source.string());
  }
  static ScratchFolder* folder_;
};
ScratchFolder* Snippets::folder_ = nullptr;

TEST_F(Snippets, OfAllDocumentsCompile) {
  std::vector<Snippet> snippets = all_snippets();
  ASSERT_GE(snippets.size(), 4U);
  Output output = compiled(program_of(snippets));
  EXPECT_EQ(output.status, 0) << output.text;
}

TEST_F(Snippets, OfPublicHeadersCompile) {
  const std::map<std::string, std::string> given = given_of_headers();
  const fs::path include = folder_->path() / "include/tilewright";
  std::vector<Snippet> snippets;
  for (const auto& entry : fs::recursive_directory_iterator(include)) {
    const std::string name = fs::relative(entry.path(), include).generic_string();
    if (entry.path().extension() != ".h") continue;
    const std::vector<Snippet> parts = snippets_of_header(entry.path(), name);
    if (parts.empty()) continue;
    snippets.push_back(joined(parts));
    if (auto known = given.find(name); known != given.end()) snippets.back().given = known->second;
  }
  ASSERT_GE(snippets.size(), 20U);
  Output output = compiled(program_of(snippets));
  EXPECT_EQ(output.status, 0) << output.text;
}

TEST_F(Snippets, ThatAreWrongDoNot) {
  Output output =
      compiled(program_of({{"page.md", 7, "int given = 1;", "no_such_function(given);"}}));
  EXPECT_NE(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr("page.md:7:"));
}

// The compiler's message if a kernel is given a wrong argument: `message`, in a few lines.
void expect_refused(const Output& output, const std::string& message) {
  EXPECT_NE(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr(message));
  auto errors = std::ranges::count(output.text, '\n');
  EXPECT_LE(errors, 16) << output.text;
}

std::string kernel_program(const std::string& body) {
  return "#include <tilewright/dsl/language/kernel.h>\n"
         "#include <string>\n"
         "using namespace tilewright::dsl;\n"
         "void f() {\n" +
         body + "\n}\n";
}

TEST_F(Snippets, LaunchedOnWhatIsNoMemoryAreRefusedInFewLines) {
  const std::string kernel = "Kernel kernel(\"k\", [](Pointer x) { store(x + 0, 1.0); });\n";
  for (const char* argument : {"std::string(\"x\")", "std::vector<bool>(3)", "nullptr"})
    expect_refused(compiled(kernel_program(kernel + "kernel.launch(1, " + argument + ");")),
                   "a kernel's arguments are numbers, Tensors, and pointers, std::vector");
}

TEST_F(Snippets, WithFunctionsThatAreNoKernelsAreRefusedInFewLines) {
  auto refused = [&](const std::string& lambda, const std::string& message) {
    expect_refused(compiled(kernel_program("Kernel kernel(\"k\", " + lambda + ");")), message);
  };
  refused("[](auto x) { store(x + 0, 1.0); }",
          "a kernel's function names the types of its parameters");
  refused("[n = 0](Pointer x) mutable { store(x + n++, 1.0); }", "a mutable lambda cannot be");
  refused("[](Pointer x, int n) { store(x + n, 1.0); }",
          "a kernel's parameters are Pointer, Scalar or Constexpr");
  refused("[](Pointer x, Scalar n) { store(x + arange(0, n), 1.0); }",
          "the bounds of arange are numbers of C++ or Constexprs");
  refused("[](Pointer x) { return x; }", "a kernel's function returns nothing; results are stored");
}

}  // namespace
}  // namespace tilewright::snippets_test
