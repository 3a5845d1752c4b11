#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <unordered_map>
#include <utility>

#include "dsl/ir/text/lexer.h"
#include "dsl/ir/text/stage_text.h"
#include "dsl/ir/text/text.h"
#include "dsl/ir/text/visible_names.h"
#include "dsl/ir/type_rules.h"
#include "dsl/ir/verify.h"
#include "runtime/base/error.h"

namespace tilewright::ir {
namespace {

constexpr int max_nesting = 200;
constexpr std::size_t most_name_bytes = 1000;
constexpr std::int64_t max_elements = std::int64_t{1} << 40;

// Reads all of `text` as a number, or gives nothing.
template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Parser {
 public:
  explicit Parser(std::string_view text, bool keeps_names = false)
      : lexer_(text), keeps_names_(keeps_names) {}

  bool at_end() const { return lexer_.peek().kind == TokenKind::end; }

  Function function() {
    function_ = {};
    names_.clear();
    layouts_.clear();
    Token start = expect_word("func");
    function_.name = named(TokenKind::symbol, "the function's name, as in '@name'").text;
    expect_mark("(");
    while (!lexer_.peek().is(TokenKind::mark, ")")) {
      if (!function_.params.empty()) expect_mark(",");
      param();
    }
    expect_mark(")");
    function_.hints.clear();  // parameters have names of their own
    if (lexer_.peek().is(TokenKind::word, "cluster")) {
      lexer_.take();
      function_.cluster = integer<int>("a number of programs");
    }
    read_stage(lexer_, function_);
    function_.body = block(false);
    try {
      verify(function_);
    } catch (const Error& error) {
      raise_at(start, error.what());
    }
    return std::move(function_);
  }

  [[noreturn]] void fail_here(const std::string& wanted) const {
    raise_at(lexer_.peek(), "expected " + wanted + ", found " + lexer_.peek().describe());
  }

 private:
  Token expect(TokenKind kind, const std::string& what) {
    if (lexer_.peek().kind != kind) fail_here(what);
    return lexer_.take();
  }
  // A name, which later messages quote whole.
  Token named(TokenKind kind, const std::string& what) {
    Token token = expect(kind, what);
    if (token.text.size() > most_name_bytes)
      raise_at(token, concat(token.describe(), " has ", token.text.size(), " bytes; a name has ",
                             most_name_bytes, " at the most"));
    return token;
  }
  Token expect_word(const std::string& word) {
    if (!lexer_.peek().is(TokenKind::word, word)) fail_here("'" + word + "'");
    return lexer_.take();
  }
  void expect_mark(const std::string& mark) {
    if (!take_mark(mark)) fail_here("'" + mark + "'");
  }
  bool take_mark(const std::string& mark) {
    bool there = lexer_.peek().is(TokenKind::mark, mark);
    if (there) lexer_.take();
    return there;
  }
  bool at_value() const { return lexer_.peek().kind == TokenKind::value; }

  template <typename T>
  T integer(const std::string& what) {
    Token token = expect(TokenKind::number, what);
    auto value = number_in<T>(token.text);
    if (!value) raise_at(token, token.describe() + " is not " + what);
    return *value;
  }

  // The value that `parse` returns for a word, one of the names that it knows.
  template <typename Parse>
  auto one_of(const std::string& what, Parse parse) {
    Token token = expect(TokenKind::word, what);
    auto found = parse(token.text);
    if (!found) raise_at(token, token.describe() + " is not " + what);
    return *found;
  }

  // Values

  Token value_name() { return named(TokenKind::value, "a value, as in '%name'"); }

  Value define(const Token& token, Type type) {
    Value value = function_.new_value(std::move(type));
    if (!names_.add(token.text, value))
      raise_at(token, "%" + token.excerpt() + " is defined already");
    if (std::string name = given_name(token.text, keeps_names_); !name.empty())
      give_name(function_, value, std::move(name));
    return value;
  }

  // A value with a number below `end`: later ones are not seen yet.
  Value use(Value end = std::numeric_limits<Value>::max()) {
    Token token = value_name();
    std::optional<Value> value = names_.find(token.text);
    if (!value || *value >= end)
      raise_at(token, "%" + token.excerpt() +
                          " is not defined here; define a value before its use, in "
                          "this block or one around it");
    return *value;
  }

  std::vector<Type> types_of(const std::vector<Value>& values) const {
    std::vector<Type> types;
    for (Value value : values) types.push_back(function_.type(value));
    return types;
  }

  void param() {
    Token token = value_name();
    expect_mark(":");
    Value value = define(token, type());
    // A number is how a parameter without a usable name prints.
    bool named = !number_in<std::int64_t>(token.text);
    function_.params.push_back({named ? token.text : "", value});
    if (!lexer_.peek().is(TokenKind::word, "align")) return;
    Token align = lexer_.take();
    int& bytes = function_.params.back().align_bytes;
    bytes = integer<int>("a number of bytes");
    if (bytes < 1 || (bytes & (bytes - 1)) != 0)
      raise_at(align, "align " + std::to_string(bytes) + " is not a power of two");
  }

  // Types

  DType dtype() { return one_of("an element type", parse_dtype); }

  Shape shape() {
    expect_mark("[");
    Shape sizes;
    if (take_mark("]")) return sizes;
    Token token = expect(TokenKind::number, "sizes, as in 4x8");
    std::string_view rest = token.text;
    for (std::int64_t elements = 1;;) {
      auto cross = rest.find('x');
      auto size = number_in<std::int64_t>(rest.substr(0, cross));
      if (!size || *size < 1)
        raise_at(token, token.describe() + " is not a list of sizes, as in 4x8");
      if (*size > max_elements / elements)
        raise_at(token, concat("a tile of ", token.describe(), " has more than ", max_elements,
                               " elements, the most there can be"));
      elements *= *size;
      sizes.push_back(*size);
      if (cross == std::string_view::npos) break;
      rest.remove_prefix(cross + 1);
    }
    expect_mark("]");
    return sizes;
  }

  Type type() {
    bool pointer = lexer_.peek().is(TokenKind::word, "ptr");
    bool descriptor = lexer_.peek().is(TokenKind::word, "desc");
    if (pointer || descriptor) {
      lexer_.take();
      expect_mark("<");
    }
    Type result = Type::scalar(dtype());
    if (pointer) result.kind = TypeKind::pointer;
    if (descriptor) {
      expect_mark(",");
      result = Type::descriptor(result.dtype, integer<int>("a rank"));
    }
    if (pointer || descriptor) expect_mark(">");
    bool shaped = !descriptor && lexer_.peek().is(TokenKind::mark, "[");
    return shaped ? result.with_shape(shape()) : result;
  }

  // Layouts

  void layouts() {
    while (lexer_.peek().is(TokenKind::word, "layout")) {
      lexer_.take();
      Token name = named(TokenKind::symbol, "the layout's name, as in '@name'");
      expect_mark("=");
      if (!layouts_.emplace(name.text, read_bases(lexer_, shape())).second)
        raise_at(name, "@" + name.excerpt() + " is defined already");
    }
  }

  std::optional<dsl::layout::Layout> layout() {
    if (lexer_.peek().kind != TokenKind::symbol) return std::nullopt;
    Token name = lexer_.take();
    auto found = layouts_.find(name.text);
    if (found == layouts_.end())
      raise_at(name, "there is no layout @" + name.excerpt() + "; layouts are defined first");
    return found->second;
  }

  // Instructions

  Block block(bool yields, std::vector<Value> params = {}) {
    if (++depth_ > max_nesting) raise_at(lexer_.peek(), "blocks are nested too deeply");
    std::size_t outside = names_.count();
    Block result{std::move(params), {}};
    expect_mark("{");
    if (!yields) layouts();
    Token last = lexer_.peek();
    while (!lexer_.peek().is(TokenKind::mark, "}")) {
      if (!result.insts.empty() && info(result.insts.back().op).effect == Effect::ends)
        raise_at(last, "a yield must be the last of its body");
      last = lexer_.peek();
      result.insts.push_back(instruction());
    }
    bool ended = !result.insts.empty() && info(result.insts.back().op).effect == Effect::ends;
    if (ended != yields)
      raise_at(yields ? lexer_.peek() : last,
               yields ? "a body must end in yield" : "a function's own body does not yield");
    expect_mark("}");
    --depth_;
    names_.keep(outside);
    return result;
  }

  Inst instruction() {
    std::vector<Token> results;
    while (at_value()) {
      results.push_back(value_name());
      if (!take_mark(",")) break;
    }
    if (!results.empty()) expect_mark("=");
    Token name = expect(TokenKind::word, "an operation");
    auto op = parse_op(name.text);
    if (!op) raise_at(name, name.describe() + " is not an operation");
    Inst inst{*op, {}, {}, {}, {}, {}};
    inst.text_line = name.line;
    if (inst.op == Op::loop_)
      loop(inst);
    else if (inst.op == Op::if_)
      branch(inst);
    else if (info(inst.op).immediate == ImmediateKind::scalar)
      return constant(inst, name, results);
    else
      plain(inst);
    finish(inst, name, results);
    return inst;
  }

  // Operands, then the immediate.
  void plain(Inst& inst) {
    bool more = at_value();
    while (more && at_value()) {
      inst.operands.push_back(use());
      more = take_mark(",");
    }
    bool first = inst.operands.empty();
    inst.immediate = immediate(info(inst.op).immediate, first || more);
  }

  // `present`: there must be one, unless that kind may be left out.
  Immediate immediate(ImmediateKind kind, bool present) {
    if (kind == ImmediateKind::access && !present) return Access{};
    if (kind == ImmediateKind::precision && !present) return Precision{};
    if (kind != ImmediateKind::none && !present) fail_here("',' and the operands of the operation");
    switch (kind) {
      case ImmediateKind::none: return {};
      case ImmediateKind::scalar: break;
      case ImmediateKind::bounds: {
        auto start = integer<std::int64_t>("a bound");
        expect_word("to");
        return Bounds{start, integer<std::int64_t>("a bound")};
      }
      case ImmediateKind::axis: return Axis{integer<int>("an axis")};
      case ImmediateKind::extent: return Extent{shape()};
      case ImmediateKind::permutation: return permutation();
      case ImmediateKind::dtype: return dtype();
      case ImmediateKind::access: return Access{cache_policy()};
      case ImmediateKind::block_access: {
        Shape block = shape();
        bool has_policy = lexer_.peek().kind == TokenKind::word;
        return BlockAccess{block, has_policy ? cache_policy() : CachePolicy::normal};
      }
      case ImmediateKind::reduction:
        return Reduction{one_of("a kind of reduction", parse_reduce_kind), integer<int>("an axis")};
      case ImmediateKind::atomic: return atomic();
      case ImmediateKind::text:
        return Text{expect(TokenKind::symbol, "a text, as in '@\"x\"'").text};
      case ImmediateKind::precision:
        return Precision{one_of("a precision of operands", parse_input_precision)};
      case ImmediateKind::loop_end: break;
    }
    raise_internal_error("scalars and loops are read by themselves",
                         std::source_location::current());
  }

  Immediate permutation() {
    Permutation result;
    expect_mark("(");
    while (!lexer_.peek().is(TokenKind::mark, ")")) {
      if (!result.dims.empty()) expect_mark(",");
      result.dims.push_back(integer<int>("an axis"));
    }
    expect_mark(")");
    return result;
  }

  CachePolicy cache_policy() { return one_of("a cache policy", parse_cache_policy); }

  // The kind, and an order and a scope where these are not the usual ones.
  Immediate atomic() {
    Atomic result{one_of("a kind of atomic operation", parse_atomic_kind)};
    if (auto order = parse_memory_order(lexer_.peek().text)) {
      result.order = *order;
      lexer_.take();
    }
    if (lexer_.peek().kind == TokenKind::word)
      result.scope = one_of("an order or a scope of memory", parse_memory_scope);
    return result;
  }

  // The number stands before the type that says how to read it.
  Inst constant(Inst& inst, const Token& name, const std::vector<Token>& results) {
    Token number = lexer_.take();
    if (number.kind != TokenKind::number && number.kind != TokenKind::word)
      raise_at(number, "expected a number, found " + number.describe());
    std::optional<std::uint64_t> bits;
    if (number.text == "nan" && take_mark("(")) {
      bits = integer<std::uint64_t>("the bits of a NaN");
      expect_mark(")");
    }
    if (!lexer_.peek().is(TokenKind::mark, ":")) fail_here("':' and the constant's type");
    Lexer after = lexer_;
    lexer_.take();
    Scalar scalar = scalar_in(number, dtype());
    if (bits && is_floating(scalar.dtype)) scalar.floating = std::bit_cast<double>(*bits);
    lexer_ = after;
    inst.immediate = scalar;
    finish(inst, name, results);
    return std::move(inst);
  }

  static Scalar scalar_in(const Token& number, DType dtype) {
    std::optional<Scalar> scalar;
    if (is_boolean(dtype)) {
      if (number.text == "true" || number.text == "false")
        scalar = Scalar::of_integer(dtype, number.text == "true");
    } else if (!is_floating(dtype)) {
      auto value = number_in<std::int64_t>(number.text);
      if (value && Scalar::of_integer(dtype, *value).integer == *value)
        scalar = Scalar::of_integer(dtype, *value);
    } else if (dtype == DType::f64) {
      if (auto value = number_in<double>(number.text)) scalar = Scalar::of(dtype, *value);
    } else if (auto value = number_in<float>(number.text)) {
      scalar = Scalar::of(dtype, *value);
      if (std::isinf(scalar->floating) != std::isinf(*value)) scalar.reset();
    }
    if (!scalar) raise_at(number, concat(number.describe(), " is not a number of ", dtype));
    return *scalar;
  }

  void loop(Inst& inst) {
    inst.operands.push_back(use());
    expect_word("to");
    inst.operands.push_back(use());
    expect_word("step");
    inst.operands.push_back(use());
    expect_word("index");
    std::size_t outside = names_.count();
    Token index = value_name();
    std::vector<Value> params = {define(index, function_.type(inst.operands.front()))};
    const bool by_condition = lexer_.peek().is(TokenKind::word, "while");
    if (by_condition) lexer_.take();
    inst.immediate = LoopEnd{by_condition};
    if (lexer_.peek().is(TokenKind::word, "with")) {
      lexer_.take();
      expect_mark("(");
      do {
        Token param = value_name();
        expect_mark("=");
        Value init = use(params.front());  // initial values are seen from outside
        inst.operands.push_back(init);
        params.push_back(define(param, function_.type(init)));
      } while (take_mark(","));
      expect_mark(")");
    }
    inst.schedule = read_schedule(lexer_);
    inst.bodies.push_back(block(true, std::move(params)));
    names_.keep(outside);
  }

  void branch(Inst& inst) {
    inst.operands.push_back(use());
    inst.bodies.push_back(block(true));
    expect_word("else");
    inst.bodies.push_back(block(true));
  }

  // The result types: read, inferred, compared.
  void finish(Inst& inst, const Token& name, const std::vector<Token>& results) {
    std::vector<std::vector<Type>> yielded;
    for (const Block& body : inst.bodies) yielded.push_back(types_of(body.insts.back().operands));
    std::vector<Type> types;
    try {
      types = result_types(inst.op, types_of(inst.operands), inst.immediate, yielded);
    } catch (const Error& error) {
      raise_at(name, error.what());
    }
    if (types.size() != results.size())
      raise_at(name, concat(name.text, " gives ", types.size(), " results; ", results.size(),
                            " are named"));
    std::vector<std::optional<dsl::layout::Layout>> layouts;
    for (std::size_t i = 0; i < types.size(); ++i) {
      expect_mark(i == 0 ? ":" : ",");
      Token start = lexer_.peek();
      if (Type declared = type(); declared != types[i])
        raise_at(start, concat("%", results[i].excerpt(), " is declared ", declared, "; it is ",
                               types[i]));
      layouts.push_back(layout());
    }
    if (inst.op != Op::loop_) inst.schedule = read_schedule(lexer_);
    for (std::size_t i = 0; i < types.size(); ++i) {
      inst.results.push_back(define(results[i], types[i]));
      if (!layouts[i]) continue;
      function_.set_layout(inst.results[i], *layouts[i]);
      if (inst.op == Op::loop_) function_.set_layout(inst.bodies[0].params[1 + i], *layouts[i]);
    }
  }

  Lexer lexer_;
  bool keeps_names_;
  Function function_;
  VisibleNames names_;
  std::unordered_map<std::string, dsl::layout::Layout> layouts_;
  int depth_ = 0;
};

}  // namespace

Function parse(std::string_view text) {
  Parser parser(text);
  Function function = parser.function();
  if (!parser.at_end()) parser.fail_here("the end of the text");
  return function;
}

std::vector<Function> parse_all(std::string_view text, bool keep_names) {
  Parser parser(text, keep_names);
  std::vector<Function> functions;
  while (!parser.at_end()) functions.push_back(parser.function());
  return functions;
}

}  // namespace tilewright::ir
