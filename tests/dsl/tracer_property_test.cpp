// Random nests of loops, ifs and assignments mean the same traced and interpreted as they mean as
// plain C++.
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <random>

#include "dsl/ir/text/text.h"
#include "dsl/language/tracer.h"
#include "tests/dsl/run_program.h"

namespace tilewright::dsl::tracer_property_test {
namespace {

constexpr int variable_count = 4;

// A statement over the variables v0..v3 and the innermost loop's index.
struct Statement {
  enum Kind { add, exchange, copy_index, local, loop, branch } kind;
  int a, b, c;
  std::vector<Statement> first, second;
};

std::vector<Statement> random_body(std::mt19937& random, int depth) {
  auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  std::vector<Statement> body;
  for (int i = 1 + below(4); i > 0; --i) {
    auto kind = static_cast<Statement::Kind>(below(depth > 0 ? 6 : 4));
    Statement s{kind, below(variable_count), below(variable_count), below(variable_count), {}, {}};
    if (kind == Statement::loop || kind == Statement::branch)
      s.first = random_body(random, depth - 1);
    if (kind == Statement::branch && below(2) == 0) s.second = random_body(random, depth - 1);
    body.push_back(std::move(s));
  }
  return body;
}

// The statements on plain numbers, and below on variables of a trace.
struct Numbers {
  std::array<std::int64_t, variable_count> v;

  void run(const std::vector<Statement>& body, std::int64_t index) {
    for (const Statement& s : body) {
      auto& a = v[static_cast<std::size_t>(s.a)];
      auto b = v[static_cast<std::size_t>(s.b)], c = v[static_cast<std::size_t>(s.c)];
      switch (s.kind) {
        case Statement::add: a = (b + 3 * c) % 1009; break;
        case Statement::exchange: std::swap(a, v[static_cast<std::size_t>(s.b)]); break;
        case Statement::copy_index: a = index; break;
        case Statement::local: a = (b - c) * 2 % 1009; break;
        case Statement::loop:
          for (std::int64_t i = 0; i < (s.b + s.c) % 4; ++i) run(s.first, i);
          break;
        case Statement::branch: run(b < c ? s.first : s.second, index); break;
      }
    }
  }
};

struct Traced {
  std::vector<std::unique_ptr<Var>> v;

  void run(const std::vector<Statement>& body, const Tile& index) {
    for (const Statement& s : body) {
      Var &a = *v[static_cast<std::size_t>(s.a)], &other = *v[static_cast<std::size_t>(s.b)];
      Tile b = other, c = *v[static_cast<std::size_t>(s.c)];
      switch (s.kind) {
        case Statement::add: a = (b + 3 * c) % 1009; break;
        case Statement::exchange: {
          Tile old = a;
          a = b;
          other = old;
          break;
        }
        case Statement::copy_index: a = index; break;
        case Statement::local: {
          Var difference = b;
          difference -= c;
          difference *= 2;
          a = difference % 1009;
          break;
        }
        case Statement::loop:
          for (Tile i : range(0, (s.b + s.c) % 4)) run(s.first, i);
          break;
        case Statement::branch:
          if_(
              b < c, [&] { run(s.first, index); }, [&] { run(s.second, index); });
          break;
      }
    }
  }
};

ir::Function traced(const std::vector<Statement>& body) {
  Tracer tracer("random");
  Tile out = tracer.pointer_param("out", i64), zero = tracer.scalar_param("zero", i64);
  Traced state;
  for (int i = 0; i < variable_count; ++i) state.v.push_back(std::make_unique<Var>(zero + i));
  state.run(body, zero);
  for (int i = 0; i < variable_count; ++i) store(out + i, *state.v[static_cast<std::size_t>(i)]);
  state.v.clear();
  return tracer.finish();
}

std::array<std::int64_t, variable_count> interpreted(const ir::Function& function) {
  std::array<std::int64_t, variable_count> out{};
  Argument arguments[2];
  arguments[0].pointer = out.data();
  arguments[1].integer = 0;
  run_program(function, Grid(1), arguments);
  return out;
}

void check_program(unsigned seed) {
  SCOPED_TRACE("repeat with TILEWRIGHT_SEED=" + std::to_string(seed) +
               " dsl_tests --gtest_filter=TracerProperty.*");
  std::mt19937 random(seed);
  std::vector<Statement> body = random_body(random, 3);
  Numbers expected{{0, 1, 2, 3}};
  expected.run(body, 0);
  ir::Function function = traced(body);
  std::string text = ir::print(function);
  EXPECT_EQ(interpreted(function), expected.v) << text;
  ir::Function read = ir::parse(text);
  EXPECT_EQ(ir::print(read), text);
  EXPECT_EQ(content_hash(read), content_hash(function));
}

TEST(TracerProperty, RandomControlFlowMeansWhatItMeansInCpp) {
  if (const char* seed = std::getenv("TILEWRIGHT_SEED"))
    return check_program(static_cast<unsigned>(std::strtoul(seed, nullptr, 10)));
  for (unsigned seed = 1; seed <= 400 && !HasFailure(); ++seed) check_program(seed);
}

}  // namespace
}  // namespace tilewright::dsl::tracer_property_test
