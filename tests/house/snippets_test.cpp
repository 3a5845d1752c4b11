// What the documents show compiles, against the headers as they are installed; and what should not
// compile is refused in a line that a person can read.
//
// Every ```cpp block of every .md file is taken. It stands in a function of its own, or, if it
// defines a function, in a namespace of its own, after
//
//   using namespace tilewright; using namespace tilewright::dsl; namespace tw = tilewright;
//
// and sees `x`, a Tensor, and `folder`, a std::string. What else it needs its document gives in a
// comment right before the block, which no reader is shown: <!-- given: std::int64_t m = 64; -->
#include <gmock/gmock.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright {
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

bool defines_function(const std::string& code) {
  static const std::regex form(
      R"((^|\n)(?!for|if|while|switch|else)[A-Za-z_][\w:<>,&* ]* [\w:]+\([^=;"[]*\)( const)? \{)");
  return std::regex_search(code, form);
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
  return "#include <tilewright/tilewright.h>\n#include <iostream>\n" + includes.str() + rest.str();
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

TEST_F(Snippets, ThatAreWrongDoNot) {
  Output output =
      compiled(program_of({{"page.md", 7, "int given = 1;", "no_such_function(given);"}}));
  EXPECT_NE(output.status, 0);
  EXPECT_THAT(output.text, HasSubstr("page.md:7:"));
}

// What a user is told who gives a kernel what it cannot take: `message`, in a few lines.
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
}  // namespace tilewright
