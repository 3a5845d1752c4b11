// The textual form of the tile IR. parse(print(f)) means the same as f, and print(parse(text)) ==
// text for text that print made. A value that the user has named prints as its number and its name,
// "%7.scores", so that one name may stand for several values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tilewright::ir {

struct Function;

std::string print(const Function& function);
// Each instruction on a line of its own, in the order of for_each_inst, without its bodies.
std::vector<std::string> instruction_texts(const Function& function);
// Raises `Error` with line and column. The result is verified.
Function parse(std::string_view text);
// All functions of a file, in order. With `keep_names` all names of values in it are the user's, as
// if `named` had given them; else only those behind a number, as `print` has them.
std::vector<Function> parse_all(std::string_view text, bool keep_names = false);

}  // namespace tilewright::ir
