#include "dsl/ir/text/text.h"

#include <gmock/gmock.h>

#include <cmath>
#include <ctime>
#include <limits>

#include "dsl/ir/builder.h"
#include "runtime/base/error.h"

namespace tilewright::ir::text_test {
namespace {

std::string error_of(const std::string& text) {
  try {
    parse(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

// One of every kind of immediate, type and structure.
const char* const everything = R"(func @every.thing(%x: ptr<f16>, %n: i64, %go: bool) {
  %3 = arange -4 to 12 : i32[16]
  %4 = program_id 2 : i64
  %5 = constant 16 : i64
  %6 = constant 1 : i64
  %7 = make_desc %x, %n, %5, %5, %6 : desc<f16, 2>
  %8 = load_desc %7, %4, %4, [16x8] no_allocate : f16[16x8]
  prefetch_desc %7, %4, %4, [16x8]
  %9 = permute %8, (1, 0) : f16[8x16]
  %10 = cast %9, f32 : f32[8x16]
  %11 = reduce %10, max 0 : f32[16]
  %12 = expand_dims %11, 1 : f32[16x1]
  %13 = broadcast %12, [16x8] : f32[16x8]
  %14 = reshape %13, [128] : f32[128]
  store_desc %7, %8, %4, %4, wt
  %15 = splat %x, [16] : ptr<f16>[16]
  %16 = offset %15, %3 : ptr<f16>[16]
  %17 = load %16, evict_last : f16[16]
  store %16, %17
  %30, %31 = loop %4 to %n step %6 index %18 with (%19 = %11, %20 = %4) {
    %21 = if %go {
      %22 = add %19, %19 : f32[16]
      yield %22
    } else {
      yield %19
    } : f32[16]
    yield %21, %18
  } : f32[16], i64
  if %go {
    yield
  } else {
    yield
  }
}
)";

TEST(Text, KeepsThePrecisionOfProducts) {
  std::string text = R"(func @f(%x: ptr<f32>) {
  %1 = constant 0 : f32
  %2 = splat %1, [8x8] : f32[8x8]
  %3 = dot %2, %2, %2 : f32[8x8]
  %4 = dot %2, %2, %2, tf32 : f32[8x8]
  %5 = dot %2, %2, %2, tf32x3 : f32[8x8]
}
)";
  EXPECT_EQ(print(parse(text)), text);
  Function exact = parse(text), rounded = exact;
  rounded.body.insts[2].immediate = Precision{InputPrecision::tf32};
  EXPECT_NE(content_hash(exact), content_hash(rounded));
}

TEST(Text, KeepsTheAlignmentOfPointers) {
  const std::string text = "func @f(%p: ptr<f32> align 4, %q: ptr<f32>) {\n}\n";
  Function function = parse(text);
  EXPECT_EQ(function.params[0].align_bytes, 4);
  EXPECT_EQ(function.params[1].align_bytes, 64);
  EXPECT_EQ(print(function), text);
  EXPECT_NE(content_hash(function), content_hash(parse("func @f(%p: ptr<f32>, %q: ptr<f32>) {}")));
  EXPECT_THAT(error_of("func @f(%p: ptr<f32> align 3) {}"),
              testing::HasSubstr("align 3 is not a power of two"));
}

TEST(Text, PrintingWhatWasReadNumbersValuesInOrderOfDefinition) {
  std::string text = print(parse(everything));
  EXPECT_THAT(text, testing::HasSubstr("    %22 = if %go {\n      %21 = add %19, %19"));
  EXPECT_EQ(print(parse(text)), text);
  EXPECT_EQ(content_hash(parse(text)), content_hash(parse(everything)));
}

TEST(Text, NamesOfParametersStay) {
  EXPECT_THAT(print(parse(everything)),
              testing::StartsWith("func @every.thing(%x: ptr<f16>, %n: "));
}

TEST(Text, NamesThatAreNoWordsSurvive) {
  Function f;
  f.name = "fused<\"a\\b\">\n";
  Builder(f).param("two words", Type::scalar(DType::f32));
  Builder(f).param("same", Type::scalar(DType::f32));
  Builder(f).param("same", Type::scalar(DType::f32));
  std::string text = print(f);
  Function g = parse(text);
  EXPECT_EQ(g.name, f.name);
  EXPECT_EQ(print(g), text);
}

TEST(Text, NamesThatBeginWithADigitAreNoWords) {
  Function f;
  f.name = "2d";
  Builder(f).param("1", Type::scalar(DType::f32));
  EXPECT_EQ(print(f), "func @\"2d\"(%0: f32) {\n}\n");
}

Scalar read_back(Scalar scalar) {
  Function f;
  f.name = "f";
  Builder(f).constant(scalar);
  return parse(print(f)).body.insts[0].get<Scalar>();
}

TEST(Text, ConstantsReadBackExactly) {
  using limits = std::numeric_limits<double>;
  for (DType dtype : all_dtypes())
    for (double x : {0.0, -0.0, 1.0, -1.0, 0.1, 1.0 / 3, 1e-7, 65504.0, 3.4028234663852886e38,
                     limits::max(), limits::denorm_min(), limits::infinity(), -limits::infinity(),
                     limits::quiet_NaN(), -limits::quiet_NaN(), limits::signaling_NaN()}) {
      if (!is_floating(dtype) && !(std::abs(x) < 2)) continue;
      Scalar scalar = Scalar::of(dtype, x);
      EXPECT_EQ(read_back(scalar), scalar) << dtype << " " << x;
    }
  for (DType dtype : {DType::i64, DType::u64, DType::i32, DType::u32, DType::i8})
    for (std::int64_t x : {INT64_MIN, INT64_MAX, std::int64_t{-1}, std::int64_t{200}})
      EXPECT_EQ(read_back(Scalar::of_integer(dtype, x)), Scalar::of_integer(dtype, x)) << dtype;
}

TEST(Text, ConstantsPrintShortly) {
  Function f = parse("func @f() { %0 = constant 0.1 : f32 %1 = constant 2.50 : f64 }");
  EXPECT_EQ(print(f), "func @f() {\n  %0 = constant 0.1 : f32\n  %1 = constant 2.5 : f64\n}\n");
}

TEST(Text, CommentsAndLayoutDoNotMatter) {
  EXPECT_EQ(print(parse("// a\nfunc@f(%a:f32){%1=add %a,%a:f32// b\n}")),
            "func @f(%a: f32) {\n  %1 = add %a, %a : f32\n}\n");
}

TEST(Text, NamesOfTheUserStandBehindNumbers) {
  const std::string source = "func @f(%a: f32) { %b = add %a, %a : f32 }";
  const std::string text = print(parse_all(source, true)[0]);
  EXPECT_EQ(print(parse(source)), "func @f(%a: f32) {\n  %1 = add %a, %a : f32\n}\n");
  EXPECT_EQ(text, "func @f(%a: f32) {\n  %1.b = add %a, %a : f32\n}\n");
  Function read = parse(text);
  EXPECT_EQ(name_of(read, read.body.insts[0].results[0]), "b");
  EXPECT_EQ(name_of(read, read.params[0].value), "");
  EXPECT_EQ(print(read), text);
}

TEST(Text, InstructionsAloneStandInTheOrderInWhichTheyBegin) {
  Function f = parse(
      "func @f(%n: i64) {\n  %1 = constant 1 : i64\n  %4 = loop %1 to %n step %1 index %2 with (%3 "
      "= "
      "%1) {\n    %5 = add %3, %2 : i64\n    yield %5\n  } : i64\n}");
  EXPECT_THAT(instruction_texts(f),
              ::testing::ElementsAre("%1 = constant 1 : i64",
                                     "%5 = loop %1 to %n step %1 index %2 with (%3 = %1) : i64",
                                     "%4 = add %3, %2 : i64", "yield %4"));
}

TEST(Text, AFileHoldsManyFunctionsWithNamesOfTheirOwn) {
  std::string text = print(parse("func @a(%x: f32) {}"));
  EXPECT_EQ(parse_all(text + text).size(), 2U);
  EXPECT_TRUE(parse_all(" // nothing\n").empty());
  EXPECT_THAT(error_of(text + text),
              testing::HasSubstr("line 3, column 1: expected the end of the text, found 'func'"));
}

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

// Two blanks a level would be ten times as much as all else.
TEST(Text, DeepBlocksArePrintedInSpaceByTheirLines) {
  std::string text = "func @f(%c: bool, %n: i64) {\n";
  for (int i = 0; i < 190; ++i) text += "if %c {\n";
  for (int i = 0; i < 1000; ++i) text += concat("%x", i, " = neg %n : i64\n");
  for (int i = 0; i < 190; ++i) text += "yield\n} else {\nyield\n}\n";
  std::string printed = print(parse(text + "}\n"));
  EXPECT_LT(printed.size(), 2000u * 100);
  EXPECT_EQ(print(parse(printed)), printed);
}

double parse_seconds(const std::string& text) {
  std::clock_t start = std::clock();
  parse(text);
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// Each block of 8,000 beside 8,000 names took 4 s where blocks had a table of names of their own.
TEST(Text, BlocksCostNothingForTheNamesAroundThem) {
  auto text = [](int count) {
    std::string all = "func @f(%c: bool, %z: i64) {\n";
    for (int i = 0; i < count; ++i) all += concat("%x", i, " = constant ", i, " : i64\n");
    for (int i = 0; i < count / 2; ++i) all += "if %c {\nyield\n} else {\nyield\n}\n";
    for (int i = 0; i < count / 2; ++i)
      all += "%r = loop %z to %z step %z index %i with (%a = %x0) {\nyield %a\n} : i64\n";
    std::string once;
    for (std::size_t at = 0, i = 0; at < all.size(); ++i) {
      std::size_t end = all.find('\n', at);
      std::string line = all.substr(at, end + 1 - at);
      if (line.starts_with("%r")) line = concat("%r", i, line.substr(2));
      once += line;
      at = end + 1;
    }
    return once + "}";
  };
  double few = 1e9;
  for (int round = 0; round < 3; ++round) few = std::min(few, parse_seconds(text(2000)));
  EXPECT_LT(parse_seconds(text(8000)), 10 * few + 0.1);
}

TEST(Text, NamesOfABlockAreFreeAfterItAndInitialValuesAreSeenFromOutside) {
  std::string text =
      "func @f(%c: bool, %n: i64) {\n"
      "  if %c { %a = neg %n : i64 yield } else { %a = neg %n : i64 yield }\n"
      "  %r = loop %n to %n step %n index %i with (%a = %n) { %b = neg %a : i64 yield %b } : i64\n"
      "  %b = neg %r : i64\n  %a = neg %b : i64\n}\n";
  EXPECT_EQ(error_of(text), "no error");
  for (const char* inits : {"%a = %i", "%a = %n, %b = %a"})
    EXPECT_THAT(error_of(concat("func @f(%n: i64) { %r = loop %n to %n step %n index %i with (",
                                inits, ") { yield %n } : i64 }")),
                testing::HasSubstr(" is not defined here"));
}

}  // namespace
}  // namespace tilewright::ir::text_test
