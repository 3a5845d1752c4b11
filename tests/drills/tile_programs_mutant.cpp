#include "tests/drills/tile_programs_mutant.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <set>
#include <vector>

#include "dsl/ir/op.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/property/tile_generator.h"
#include "tests/scratch_folder.h"
#include "tests/source_folder.h"

namespace tilewright::drills {
namespace {

using Tokens = std::vector<std::string>;

const std::vector<std::string> dtypes = {"f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64",
                                         "i32", "i16", "i8",  "u64",  "u32",    "u8",     "bool"};
const std::vector<std::string> sizes = {"1",
                                        "2",
                                        "3",
                                        "5",
                                        "7",
                                        "16",
                                        "31",
                                        "64",
                                        "100",
                                        "127",
                                        "128",
                                        "129",
                                        "256",
                                        "1000",
                                        "1024",
                                        "4096",
                                        "65536",
                                        "1048576",
                                        "1073741824",
                                        "1099511627776",
                                        "4611686018427387904"};
const std::vector<std::string> numbers = {"0",
                                          "-1",
                                          "1",
                                          "2",
                                          "33",
                                          "255",
                                          "65537",
                                          "2147483647",
                                          "2147483648",
                                          "-2147483649",
                                          "4611686018427387904",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "1e400",
                                          "nan",
                                          "-inf",
                                          "1x1x1x1x1x1x1x1x1x1"};

// Products and reductions of the sizes that tensor cores and rings take.
std::string product_program(Chance& chance) {
  const std::vector<std::string> operands = {"f32", "f16", "bf16", "i8", "f8e4m3", "f64"};
  std::string in = chance.of(operands);
  std::string out = in == "i8" ? "i32" : in == "f64" ? "f64" : "f32";
  auto size = [&] { return std::to_string(8 << chance.below(6)); };
  std::string m = size(), n = size(), k = size(), a = m + "x" + k, b = k + "x" + n, c = m + "x" + n;
  return concat("func @product(%p: ptr<", in, ">, %q: ptr<", out,
                ">, %n: i64) {\n  %0 = constant 1 : i64\n  %1 = constant 0 : i64\n  %2 = constant ",
                k, " : i64\n  %3 = make_desc %p, %n, %n, %n, %0 : desc<", in,
                ", 2>\n  %4 = make_desc %q, %n, %n, %n, %0 : desc<", out, ", 2>\n  %5 = constant 0",
                " : ", out, "\n  %6 = splat %5, [", c, "] : ", out, "[", c,
                "]\n  %7 = loop %1 to %n step %2 index %i with (%s = %6) {\n    %8 = load_desc ",
                "%3, %1, %i, [", a, "] : ", in, "[", a, "]\n    %9 = load_desc %3, %i, %1, [", b,
                "] : ", in, "[", b, "]\n    %10 = dot %8, %9, %s : ", out, "[", c,
                "]\n    yield %10\n  } : ", out, "[", c, "]\n  %11 = reduce %7, max 1 : ", out, "[",
                m, "]\n  %12 = expand_dims %11, 1 : ", out, "[", m, "x1]\n  %13 = broadcast %12, [",
                c, "] : ", out, "[", c, "]\n  %14 = sub %7, %13 : ", out, "[", c,
                "]\n  store_desc %4, %14, %1, %1\n}\n");
}

std::string generated_program(std::uint64_t seed) {
  ir::Function function;
  function.name = "random";
  Grid grid;
  std::mt19937_64 random(seed);
  TileGenerator(function, grid, random).run();
  return ir::print(function);
}

const std::vector<std::string>& golden_programs() {
  static const std::vector<std::string> all = [] {
    std::set<std::string> texts;
    std::filesystem::path folder = source_folder() / "tests/golden";
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".tile") continue;
      std::string text = read_file(entry.path());
      std::size_t divider = text.find("----\n");
      texts.insert(text.substr(0, divider));
      if (divider != text.npos) texts.insert(text.substr(divider + 5));
    }
    return std::vector<std::string>(texts.begin(), texts.end());
  }();
  return all;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '.' || c == '%' || c == '@' || c == '-';
}
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Words, lists of sizes cut at each x, and all else by the character.
Tokens tokens_of(const std::string& text) {
  Tokens tokens;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at + 1;
    if (is_digit(text[at]))
      while (end < text.size() && is_digit(text[end])) ++end;
    else if (is_word(text[at]))
      while (end < text.size() && is_word(text[end])) ++end;
    tokens.push_back(text.substr(at, end - at));
    at = end;
  }
  return tokens;
}

bool is_number(const std::string& token) { return is_digit(token[0]); }
bool is_type(const std::string& token) { return std::ranges::find(dtypes, token) != dtypes.end(); }
bool is_op(const std::string& token) { return ir::parse_op(token).has_value(); }

// A place where a token of the kind stands; the end where there is none.
std::size_t place(const Tokens& tokens, Chance& chance, bool (*is)(const std::string&)) {
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (is(tokens[i])) places.push_back(i);
  return places.empty() ? tokens.size() : chance.of(places);
}

// The token there, or all that are equal to it, become another.
void replace(Tokens& tokens, std::size_t at, const std::string& by, bool everywhere) {
  if (at == tokens.size()) return;
  std::string old = tokens[at];
  if (everywhere)
    std::ranges::replace(tokens, old, by);
  else
    tokens[at] = by;
}

std::string any_op(Chance& chance) {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
#define TILEWRIGHT_TILE_OP(op, ...) names.emplace_back(ir::info(ir::Op::op##_).name);
#include "dsl/ir/ops.def"
#undef TILEWRIGHT_TILE_OP
    return names;
  }();
  return chance.of(all);
}

void change_lines(std::string& text, Chance& chance) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  std::size_t i = chance.below(lines.size()), k = chance.below(lines.size());
  switch (chance.below(4)) {
    case 0: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(i)); break;
    case 1: lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(i), lines[k]); break;
    case 2: std::swap(lines[i], lines[k]); break;
    default: {  // all behind the line is within many ifs; those above 200 are refused
      std::size_t depth = 1 + chance.below(250);
      std::string open = "  %deep = constant true : bool\n", close;
      for (std::size_t d = 0; d < depth; ++d) open += "if %deep {\n";
      for (std::size_t d = 0; d < depth; ++d) close += "yield\n} else {\nyield\n}\n";
      lines.insert(lines.begin() + 1, open);
      lines.insert(lines.end() - 1, close);
    }
  }
  text.clear();
  for (const std::string& line : lines) text += line;
}

void mutate(std::string& text, Chance& chance) {
  if (text.empty()) return;
  Tokens tokens = tokens_of(text);
  auto any = [&] { return chance.below(tokens.size()); };
  bool everywhere = chance.below(4) != 0;
  switch (chance.below(10)) {
    case 0:
    case 1:
    case 2: replace(tokens, place(tokens, chance, is_number), chance.of(sizes), everywhere); break;
    case 3: replace(tokens, place(tokens, chance, is_number), chance.of(numbers), false); break;
    case 4:
    case 5: replace(tokens, place(tokens, chance, is_type), chance.of(dtypes), everywhere); break;
    case 6: replace(tokens, place(tokens, chance, is_op), any_op(chance), false); break;
    case 7: std::swap(tokens[any()], tokens[any()]); break;
    case 8: {
      std::string other = chance.below(2) == 0 ? "" : tokens[any()];
      tokens[any()] = other;
      break;
    }
    default: return change_lines(text, chance);
  }
  text.clear();
  for (const std::string& token : tokens) text += token;
}

}  // namespace

std::string mutant_of_tile_program(std::uint64_t number) {
  Chance chance(number);
  std::uint64_t kind = chance.below(4);
  std::string text = kind == 0   ? generated_program(number)
                     : kind == 1 ? product_program(chance)
                                 : chance.of(golden_programs());
  for (std::uint64_t changes = 1 + chance.below(3); changes > 0; --changes) mutate(text, chance);
  return text;
}

}  // namespace tilewright::drills
