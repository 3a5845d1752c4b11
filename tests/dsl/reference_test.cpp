#include "dsl/ir/text/reference.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "dsl/ir/op.h"
#include "runtime/base/env.h"
#include "tests/source_folder.h"

namespace tilewright::ir::reference_test {
namespace {

const std::string readme = source_folder() / "dsl/README.md";
constexpr std::string_view begin_mark = "<!-- operations: begin -->\n";
constexpr std::string_view end_mark = "<!-- operations: end -->\n";

TEST(Reference, TheTableInTheReadmeIsTheOneThatOpsDefGives) {
  std::ostringstream in;
  in << std::ifstream(readme).rdbuf();
  std::string text = in.str();
  auto begin = text.find(begin_mark) + begin_mark.size(), end = text.find(end_mark);
  ASSERT_NE(end, std::string::npos) << readme;
  if (env::update_golden()) {
    text.replace(begin, end - begin, op_reference());
    std::ofstream(readme) << text;
    return;
  }
  EXPECT_EQ(text.substr(begin, end - begin), op_reference())
      << "TILEWRIGHT_UPDATE_GOLDEN=1 rewrites it";
}

TEST(Reference, EveryOperationHasARowOfNineCells) {
  std::istringstream lines(op_reference());
  std::string line;
  std::size_t rows = 0;
  for (; std::getline(lines, line); ++rows)
    EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 10) << line;
  EXPECT_EQ(rows, all_ops().size() + 2);
  EXPECT_THAT(op_reference(), testing::HasSubstr("| `load` | memory | 1 to 3 | access | 0 | load | "
                                                 "reads | 1 | |\n"));
  EXPECT_THAT(op_reference(), testing::HasSubstr("| commutative, integer_only |\n"));
}

}  // namespace
}  // namespace tilewright::ir::reference_test
