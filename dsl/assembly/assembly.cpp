#include "dsl/assembly/assembly.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

constexpr std::size_t most_code_bytes = 1 << 16;
constexpr int most_registers = 64, most_packed = 32;

std::vector<std::string_view> separated(std::string_view list, std::string_view by) {
  std::vector<std::string_view> parts;
  for (auto at = list.find(by); at != std::string_view::npos; at = list.find(by)) {
    parts.push_back(list.substr(0, at));
    list.remove_prefix(at + by.size());
  }
  parts.push_back(list);
  return parts;
}

std::optional<int> number_behind(std::string_view text, std::string_view word) {
  if (!text.starts_with(word)) return std::nullopt;
  text.remove_prefix(word.size());
  int number = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

bool is_letter(char c) { return std::string_view("hrlfd").find(c) != std::string_view::npos; }

std::string quote(std::string_view part) { return concat("\"", part, "\""); }

// Each constraint is "=r", "=&r" or "r", all results in front.
std::string problem_of_constraints(const Assembly& assembly) {
  bool operands_began = false;
  const auto parts = separated(assembly.constraints, ",");
  if (parts.size() > most_registers)
    return concat("there are ", parts.size(), " constraints; there may be ", most_registers);
  for (std::string_view part : parts) {
    std::string_view letter = part;
    const bool gives = letter.starts_with("=");
    if (gives) letter.remove_prefix(letter.starts_with("=&") ? 2 : 1);
    if (letter.size() != 1 || !is_letter(letter[0]))
      return concat("the constraint ", quote(part), " of ", quote(assembly.constraints),
                    " is unknown; each is h, r, l, f or d (16, 32 and 64 bits, f32, f64), of a "
                    "result with = or =& in front");
    if (gives && operands_began)
      return concat("the constraint ", quote(part), " of ", quote(assembly.constraints),
                    " stands behind an operand's; those of results come first");
    operands_began |= !gives;
  }
  return assembly.constraints.starts_with("=")
             ? ""
             : concat("the constraints ", quote(assembly.constraints),
                      " have no result; the first begins with =");
}

// Ends of the function, and comments that hide what follows the PTX, are not for it to write.
std::string problem_of_nesting(std::string_view code) {
  int depth = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code.substr(i, 2) == "/*") {
      i = code.find("*/", i + 2);
      if (i == std::string_view::npos) return "a comment /* does not end; end it by */";
      ++i;
    } else if (code.substr(i, 2) == "//") {
      i = std::min(code.find('\n', i), code.size());
    } else if (code[i] == '{') {
      ++depth;
    } else if (code[i] == '}' && --depth < 0) {
      return "a } has no { before it; braces must match";
    }
  }
  return depth == 0 ? "" : "a { has no } behind it; braces must match";
}

std::string problem_of_code(const Assembly& assembly) {
  const std::string& code = assembly.code;
  if (code.empty() || code.size() > most_code_bytes)
    return concat("the PTX has ", code.size(), " bytes; it has 1 to ", most_code_bytes);
  const auto registers = static_cast<int>(separated(assembly.constraints, ",").size());
  for (std::size_t i = 0; i < code.size(); ++i) {
    const auto byte = static_cast<unsigned char>(code[i]);
    if ((byte < 0x20 && code[i] != '\n' && code[i] != '\t') || byte > 0x7e)
      return concat("the PTX has the byte ", static_cast<int>(byte), " at place ", i,
                    "; it is printable ASCII, tabs and line ends");
    if (code[i] != '$') continue;
    if (code.substr(i, 2) == "$$") {
      ++i;
      continue;
    }
    const auto end = std::min(code.find_first_not_of("0123456789", i + 1), code.size());
    const auto number = number_behind(std::string_view(code).substr(i, end - i), "$");
    if (!number)
      return concat("the PTX has a $ without a number at place ", i,
                    "; write $0, $1, ... for registers and $$ for a dollar");
    if (*number >= registers)
      return concat("the PTX names $", *number, "; the constraints say that there are $0 to $",
                    registers - 1);
    i = end - 1;
  }
  return problem_of_nesting(code);
}

// The registers of one value, which begin with `letters[at]`.
std::string problem_of_registers(const Assembly& assembly, DType dtype, std::string_view letters,
                                 std::size_t at, std::string_view role) {
  const int each = elements_in_register(dtype, assembly.pack);
  const int bits = element_bits(dtype) * each;
  for (int i = 0; i < registers_of(dtype, assembly.pack); ++i, ++at) {
    if (at >= letters.size())
      return concat("the constraints ", quote(assembly.constraints), " have ", letters.size(),
                    " registers for ", role,
                    "s; more are needed: ", registers_of(dtype, assembly.pack), " for each ", dtype,
                    " where pack is ", assembly.pack);
    const char letter = letters[at];
    const bool floats = letter == 'f' || letter == 'd';
    if (register_bits(letter) < bits || (floats && register_bits(letter) != bits))
      return concat("the constraint ", letter, " is for ", each, " of ", dtype, ", of ", bits,
                    " bits; it must be ",
                    bits <= 16   ? "h, r or l"
                    : bits == 32 ? "r, l or f"
                                 : "l or d");
  }
  return "";
}

std::string problem_of_all(const Assembly& assembly, std::span<const DType> operands) {
  if (assembly.pack < 1 || assembly.pack > most_packed ||
      (assembly.pack & (assembly.pack - 1)) != 0)
    return concat("pack is ", assembly.pack, "; it must be 1, 2, 4, 8, 16 or 32");
  if (auto problem = problem_of_constraints(assembly); !problem.empty()) return problem;
  if (auto problem = problem_of_code(assembly); !problem.empty()) return problem;
  const std::string letters = letters_of(assembly).operands;
  std::size_t at = 0;
  for (DType dtype : operands) {
    if (auto problem = problem_of_registers(assembly, dtype, letters, at, "operand");
        !problem.empty())
      return problem;
    at += static_cast<std::size_t>(registers_of(dtype, assembly.pack));
  }
  if (at != letters.size())
    return concat("the constraints ", quote(assembly.constraints), " have ", letters.size(),
                  " registers for operands; there are ", at, " where pack is ", assembly.pack);
  return "";
}

}  // namespace

std::string text_of(const Assembly& assembly) {
  return concat(assembly.code, " | ", assembly.constraints, " | pack ", assembly.pack, ", from ",
                assembly.from, assembly.is_pure ? ", pure" : ", impure",
                assembly.is_meant ? ", meant" : ", unmeant");
}

Assembly assembly_of(std::string_view all) {
  const auto last = all.rfind(" | ");
  const auto first = last == std::string_view::npos || last == 0 ? std::string_view::npos
                                                                 : all.rfind(" | ", last - 1);
  auto expect = [](bool holds) {
    require(holds,
            "[inline_asm] the text is not of the form \"PTX | constraints | pack 1, from 0, "
            "pure, meant\", with impure or unmeant in place of these");
  };
  expect(first != std::string_view::npos);
  Assembly assembly{std::string(all.substr(0, first)),
                    std::string(all.substr(first + 3, last - first - 3))};
  const auto words = separated(all.substr(last + 3), ", ");
  expect(words.size() == 4);
  const auto pack = number_behind(words[0], "pack "), from = number_behind(words[1], "from ");
  assembly.is_pure = words[2] == "pure";
  assembly.is_meant = words[3] == "meant";
  expect(pack && from && (assembly.is_pure || words[2] == "impure") &&
         (assembly.is_meant || words[3] == "unmeant"));
  assembly.pack = *pack;
  assembly.from = *from;
  return assembly;
}

RegisterLetters letters_of(const Assembly& assembly) {
  RegisterLetters letters;
  for (std::string_view part : separated(assembly.constraints, ","))
    (part.starts_with("=") ? letters.results : letters.operands) += part.back();
  return letters;
}

int register_bits(char letter) {
  return letter == 'h' ? 16 : letter == 'l' || letter == 'd' ? 64 : 32;
}

int element_bits(DType dtype) { return std::max(bit_width(dtype), 8); }

int elements_in_register(DType dtype, int pack) {
  return std::min(std::max(32 / element_bits(dtype), 1), pack);
}

std::string problem_of(const Assembly& assembly, std::span<const DType> results,
                       std::span<const DType> operands) {
  if (auto problem = problem_of_all(assembly, operands); !problem.empty()) return problem;
  if (results.size() > 1 && !assembly.is_pure)
    return concat("there are ", results.size(),
                  " results of impure code, which can have one result only");
  const std::string letters = letters_of(assembly).results;
  std::size_t at = 0;
  for (DType dtype : results) {
    if (auto problem = problem_of_registers(assembly, dtype, letters, at, "result");
        !problem.empty())
      return problem;
    at += static_cast<std::size_t>(registers_of(dtype, assembly.pack));
  }
  if (at != letters.size())
    return concat("the constraints ", quote(assembly.constraints), " have ", letters.size(),
                  " registers for results; there are ", at, " where pack is ", assembly.pack);
  return "";
}

std::string problem_of(const Assembly& assembly, DType result, std::span<const DType> operands) {
  if (auto problem = problem_of_all(assembly, operands); !problem.empty()) return problem;
  if (assembly.from < 0)
    return concat("the result is from ", assembly.from, "; it is from 0 or more");
  return problem_of_registers(assembly, result, letters_of(assembly).results,
                              static_cast<std::size_t>(assembly.from), "result");
}

void require_meaning(const Assembly& assembly, const std::string& place,
                     const std::string& kernel) {
  require(assembly.is_meant, place, ": [inline_asm] kernel ", kernel,
          " has PTX and no meaning beside it, which is all that runs without a GPU; give "
          "inline_asm_elementwise a meaning");
}

}  // namespace tilewright::ir
