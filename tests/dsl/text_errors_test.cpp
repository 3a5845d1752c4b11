// Texts of programs that are refused, with the line and the column, and texts that are damaged.
#include <gmock/gmock.h>

#include "dsl/ir/builder.h"
#include "dsl/ir/text/text.h"
#include "tests/dsl/text_programs.h"

namespace tilewright::ir::text_errors_test {
namespace {

using namespace testing_text;

struct Mistake {
  const char *name, *text, *message;
};
void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

class ParseError : public testing::TestWithParam<Mistake> {};

TEST_P(ParseError, NamesLineAndColumn) {
  EXPECT_EQ(error_of(GetParam().text), std::string("[parse] ") + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Text, ParseError,
    testing::Values(
        Mistake{"empty", "", "line 1, column 1: expected 'func', found the end of the text"},
        Mistake{"unknown_op", "func @f(%a: f32) {\n  %b = frob %a : f32\n}",
                "line 2, column 8: 'frob' is not an operation"},
        Mistake{"undefined", "func @f() {\n  %b = neg %a : f32\n}",
                "line 2, column 12: %a is not defined here; define a value before its use, in this "
                "block or one around it"},
        Mistake{"defined_twice", "func @f(%a: f32) {\n  %a = neg %a : f32\n}",
                "line 2, column 3: %a is defined already"},
        Mistake{"declared_type", "func @f(%a: f32) {\n  %b = neg %a : f16\n}",
                "line 2, column 17: %b is declared f16; it is f32"},
        Mistake{"type_rule", "func @f(%a: f32, %b: i32) {\n  %c = add %a, %b : f32\n}",
                "line 2, column 8: [add] operands differ in type: f32 and i32; cast or broadcast "
                "one of them"},
        Mistake{"unknown_type", "func @f(%a: f33) {}",
                "line 1, column 13: 'f33' is not an element type"},
        Mistake{"bad_sizes", "func @f(%a: f32[4x]) {}",
                "line 1, column 17: '4x' is not a list of sizes, as in 4x8"},
        Mistake{"huge_sizes", "func @f(%a: f32[9999999999x9999999999]) {}",
                "line 1, column 17: a tile of '9999999999x9999999999' has more than 1099511627776 "
                "elements, the most there can be"},
        Mistake{"tile_param", "func @f(%a: f32[4]) {}",
                "line 1, column 1: [func] the parameter a is f32[4]; it must be a pointer or a "
                "scalar"},
        Mistake{"number_range", "func @f() { %a = constant 300 : i8 }",
                "line 1, column 27: '300' is not a number of i8"},
        Mistake{"half_range", "func @f() { %a = constant 1e9 : f16 }",
                "line 1, column 27: '1e9' is not a number of f16"},
        Mistake{"sign_behind_a_number", "func @f() { %a = constant 1-2 : i8 }",
                "line 1, column 28: expected ':' and the constant's type, found '-2'"},
        Mistake{"results", "func @f(%a: f32) { %b, %c = neg %a : f32 }",
                "line 1, column 29: neg gives 1 results; 2 are named"},
        Mistake{"no_immediate", "func @f(%a: f32) { %b = splat %a : f32[4] }",
                "line 1, column 34: expected ',' and the operands of the operation, found ':'"},
        Mistake{"yield_on_top", "func @f() { yield }",
                "line 1, column 13: a function's own body does not yield"},
        Mistake{"yield_inside", "func @f(%c: bool) { if %c { yield yield } else { yield } }",
                "line 1, column 29: a yield must be the last of its body"},
        Mistake{"no_yield", "func @f(%c: bool) { if %c { } else { yield } }",
                "line 1, column 29: a body must end in yield"},
        Mistake{"loop_value_after",
                "func @f(%n: i64) { loop %n to %n step %n index %i { yield } %a = neg %i : i64 }",
                "line 1, column 70: %i is not defined here; define a value before its use, in this "
                "block or one around it"},
        Mistake{"reduction", "func @f(%a: f32) { %b = reduce %a, mean 0 : f32 }",
                "line 1, column 36: 'mean' is not a kind of reduction"},
        Mistake{"character", "func @f() { ? }", "line 1, column 13: '?' begins nothing"},
        Mistake{"open_quote", "func @\"f() {}", "line 1, column 6: the quoted name does not end"}),
    [](const auto& test) { return test.param.name; });

TEST(Text, EveryTruncationOfATextIsAnErrorAndNothingWorse) {
  std::string text = print(parse(everything));
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_THAT(error_of(text.substr(0, length)), testing::HasSubstr("[parse] line "));
}

TEST(Text, EveryChangeOfOneCharacterIsReadOrRefused) {
  std::string text = print(parse(everything));
  for (std::size_t i = 0; i < text.size(); ++i)
    for (char c : {'0', '9', 'x', '%', '{', ' ', ','}) {
      std::string changed = text;
      changed[i] = c;
      std::string message = error_of(changed);
      if (message == "no error") {
        EXPECT_EQ(print(parse(print(parse(changed)))), print(parse(changed)));
      } else {
        EXPECT_THAT(message, testing::StartsWith("[parse] line ")) << changed;
      }
    }
}

TEST(Text, MessagesHaveNoByteThatATerminalWouldObey) {
  std::string text = print(parse(everything));
  for (std::size_t i = 0; i < text.size(); ++i)
    for (char c : {'\x1b', '\x07', '\x7f', '\x9b'}) {
      std::string changed = text;
      changed[i] = c;
      for (unsigned char byte : error_of(changed))
        ASSERT_TRUE(byte >= 0x20 && byte < 0x7f) << "byte " << int{byte} << ", at " << i;
    }
}

TEST(Text, DeepNestingIsAnErrorNotACrash) {
  std::string text = "func @f(%c: bool) {";
  for (int i = 0; i < 100000; ++i) text += " if %c {";
  EXPECT_THAT(error_of(text), testing::HasSubstr("blocks are nested too deeply"));
}

TEST(Text, MessagesQuoteTheBeginningOfALongToken) {
  std::string digits(5 << 20, '7'), start(80, '7');
  EXPECT_EQ(error_of("func @f() { %a = constant " + digits + " : i32 }"),
            "[parse] line 1, column 27: '" + start + "...' is not a number of i32");
  for (const std::string& text :
       {"func @f(%a: f32[" + digits + "]) {}", "func @f() { %a = x" + digits + " }",
        "func @f() { %a = neg %x" + digits + " : f32 }", "func @f() { @\"" + digits + "\" }",
        "func @f(%a: f32, %a" + digits + ": f32, %a" + digits + ": f32) {}"})
    EXPECT_LT(error_of(text).size(), 400u);
  EXPECT_EQ(error_of("func @" + std::string(1001, 'n') + "() {}"),
            "[parse] line 1, column 6: '@" + std::string(80, 'n') +
                "...' has 1001 bytes; a name has 1000 at the most");
  EXPECT_THAT(error_of("func @f() { @\"\\x1b[2J\" }"), testing::HasSubstr("'@?[2J'"));
}

TEST(Text, BytesOfMessagesThatAreNoLettersAreHexadecimal) {
  for (const char* byte : {"00", "10", "1f", "a0", "ff"}) {
    std::string text = std::string("func @f() {\n  print @\"a\\x") + byte + "b\"\n}\n";
    EXPECT_EQ(print(parse(text)), text);
  }
  for (const char* wrong : {"\\x1", "\\xg0", "\\x0g", "\\u00"})
    EXPECT_THAT(error_of(std::string("func @f() {\n  print @\"") + wrong + "\"\n}\n"),
                testing::HasSubstr("must be followed by x and two hexadecimal digits"));
}

}  // namespace
}  // namespace tilewright::ir::text_errors_test
