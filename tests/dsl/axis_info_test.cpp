#include "dsl/analysis/axis_info.h"

#include <gtest/gtest.h>

#include <random>

#include "dsl/ir/builder.h"
#include "dsl/ir/text/text.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "tests/dsl/run_program.h"

namespace tilewright::dsl::axis_info_test {
namespace {

using ir::Op;
using ir::Value;

// The facts of the value that the last instruction of a program stores.
AxisInfo info_of_stored(const std::string& body) {
  ir::Function f = ir::parse(
      "func @f(%x: ptr<f32>, %h: ptr<f16>, %n: i32, %b: bool, %z: ptr<i32>) {\n"
      "  %p = program_id 0 : i64\n" +
      body + "}\n");
  const ir::Inst* last = nullptr;
  ir::for_each_inst(f.body, [&](const ir::Inst& inst) {
    if (inst.op == Op::store_ || inst.op == Op::load_) last = &inst;
  });
  Value value = last->op == Op::store_ ? last->operands[1] : last->operands[0];
  return axis_info(f)[value];
}

AxisInfo info(Shape contiguity, Shape constancy, Shape divisibility,
              std::optional<std::int64_t> constant = {}) {
  return {std::move(contiguity), std::move(constancy), std::move(divisibility), constant};
}

std::string text(const AxisInfo& i) {
  return concat("contiguity ", i.contiguity, " constancy ", i.constancy, " divisibility ",
                i.divisibility, i.constant ? concat(" constant ", *i.constant) : "");
}
void expect(const AxisInfo& actual, const AxisInfo& wanted) {
  EXPECT_EQ(text(actual), text(wanted));
}

constexpr auto store12 = "  %zs = splat %z, [12] : ptr<i32>[12]\n  store %zs, %v\n";

TEST(AxisInfo, AnArangeIsOneRunOfAnyLength) {
  expect(info_of_stored(std::string("  %v = arange 4 to 16 : i32[12]\n") + store12),
         info({12}, {1}, {4}));
}

TEST(AxisInfo, ASplatIsConstantAndAsDivisibleAsItsScalar) {
  expect(info_of_stored(std::string("  %c = constant 48 : i32\n  %m = mul %n, %c : i32\n"
                                    "  %v = splat %m, [12] : i32[12]\n") +
                        store12),
         info({1}, {12}, {16}));
}

TEST(AxisInfo, ABlockOfPointersIsARunAlignedAsItsStart) {
  expect(info_of_stored("  %c = constant 48 : i64\n  %m = mul %p, %c : i64\n"
                        "  %s = splat %m, [12] : i64[12]\n  %a = arange 0 to 12 : i32[12]\n"
                        "  %w = cast %a, i64 : i64[12]\n  %i = add %s, %w : i64[12]\n"
                        "  %q = splat %x, [12] : ptr<f32>[12]\n"
                        "  %o = offset %q, %i : ptr<f32>[12]\n  %l = load %o : f32[12]\n"),
         info({12}, {1}, {16}));
}

TEST(AxisInfo, APointerParameterIsAlignedToSixtyFourBytes) {
  expect(info_of_stored("  %l = load %h : f16\n"), info({1}, {1}, {32}));
}

TEST(AxisInfo, RowsTimesStrideAndColumnsGiveRunsAlongTheColumns) {
  expect(info_of_stored("  %r = arange 0 to 6 : i32[6]\n  %e = expand_dims %r, 1 : i32[6x1]\n"
                        "  %k = constant 8 : i32\n  %ks = splat %k, [6x1] : i32[6x1]\n"
                        "  %m = mul %e, %ks : i32[6x1]\n  %b1 = broadcast %m, [6x8] : i32[6x8]\n"
                        "  %c = arange 0 to 8 : i32[8]\n  %f = expand_dims %c, 0 : i32[1x8]\n"
                        "  %b2 = broadcast %f, [6x8] : i32[6x8]\n  %i = add %b1, %b2 : i32[6x8]\n"
                        "  %q = splat %x, [6x8] : ptr<f32>[6x8]\n"
                        "  %o = offset %q, %i : ptr<f32>[6x8]\n  %l = load %o : f32[6x8]\n"),
         info({1, 8}, {1, 1}, {1, 8}));
}

TEST(AxisInfo, DivisionMakesRunsConstantAndRemainderRepeatsThem) {
  std::string four =
      "  %a = arange 0 to 12 : i32[12]\n  %c = constant 4 : i32\n"
      "  %cs = splat %c, [12] : i32[12]\n";
  expect(info_of_stored(four + "  %v = div %a, %cs : i32[12]\n" + store12), info({1}, {4}, {1}));
  expect(info_of_stored(four + "  %v = rem %a, %cs : i32[12]\n" + store12), info({4}, {1}, {4}));
  expect(info_of_stored(four + "  %v = shl %a, %cs : i32[12]\n" + store12), info({1}, {1}, {16}));
}

TEST(AxisInfo, ARunTimesOneIsTheRun) {
  const std::string operands =
      "  %a = arange 4 to 16 : i32[12]\n  %c = constant 1 : i32\n"
      "  %cs = splat %c, [12] : i32[12]\n";
  for (const char* product : {"mul %a, %cs", "mul %cs, %a", "div %a, %cs"})
    expect(info_of_stored(operands + "  %v = " + product + " : i32[12]\n" + store12),
           info({12}, {1}, {4}));
}

TEST(AxisInfo, AMaskOfLowBitsIsARemainderAndAnotherADivisor) {
  auto masked_by = [](const std::string& mask) {
    return info_of_stored("  %a = arange 0 to 12 : i32[12]\n  %c = constant " + mask +
                          " : i32\n  %cs = splat %c, [12] : i32[12]\n"
                          "  %v = and %a, %cs : i32[12]\n" +
                          store12);
  };
  expect(masked_by("3"), info({4}, {1}, {4}));
  expect(masked_by("-8"), info({1}, {1}, {8}));
}

TEST(AxisInfo, DivisionOfWhatMayBeNegativeSaysNothing) {
  expect(info_of_stored(std::string("  %a = arange -4 to 8 : i32[12]\n  %c = constant 4 : i32\n"
                                    "  %cs = splat %c, [12] : i32[12]\n"
                                    "  %v = div %a, %cs : i32[12]\n") +
                        store12),
         info({1}, {1}, {1}));
}

TEST(AxisInfo, ConstantsAreEvaluated) {
  expect(info_of_stored("  %a = constant 6 : i32\n  %c = constant 7 : i32\n"
                        "  %v = mul %a, %c : i32\n  store %z, %v\n"),
         info({1}, {1}, {2}, 42));
}

TEST(AxisInfo, ALoopIndexIsDivisibleByStartAndStep) {
  expect(info_of_stored("  %l = constant 24 : i32\n  %s = constant 16 : i32\n"
                        "  loop %l to %n step %s index %v {\n    store %z, %v\n    yield\n  }\n"),
         info({1}, {1}, {8}));
}

TEST(AxisInfo, CarriedPointersKeepWhatEveryTurnKeeps) {
  expect(info_of_stored("  %zero = constant 0 : i32\n  %one = constant 1 : i32\n"
                        "  %eight = constant 8 : i32\n  %es = splat %eight, [12] : i32[12]\n"
                        "  %a = arange 0 to 12 : i32[12]\n"
                        "  %q = splat %x, [12] : ptr<f32>[12]\n"
                        "  %o = offset %q, %a : ptr<f32>[12]\n"
                        "  %r = loop %zero to %n step %one index %i with (%c = %o) {\n"
                        "    %d = offset %c, %es : ptr<f32>[12]\n    yield %d\n"
                        "  } : ptr<f32>[12]\n  %v = load %r : f32[12]\n"),
         info({12}, {1}, {8}));
}

TEST(AxisInfo, ABranchKeepsWhatBothSidesHave) {
  expect(info_of_stored(std::string("  %a = arange 0 to 12 : i32[12]\n"
                                    "  %c = arange 2 to 14 : i32[12]\n"
                                    "  %v = if %b {\n    yield %a\n  } else {\n    yield %c\n"
                                    "  } : i32[12]\n") +
                        store12),
         info({12}, {1}, {2}));
}

// Random integer tiles of one shape, all of them stored.
class IndexProgram {
 public:
  explicit IndexProgram(std::uint64_t seed) : random_(seed) {
    f_.name = "index";
    out_ = b_.param("out", ir::Type::pointer(DType::i64));
    Value n = b_.param("n", ir::Type::scalar(DType::i64));
    shape_ = {pick({1, 3, 4, 6, 8, 12}), pick({1, 4, 5, 8, 16})};
    Value multiple = b_.append(Op::mul_, {n, b_.index(pick({1, 8, 16, 48}))});
    tiles_ = {splat(n), splat(multiple), axis(0), axis(1)};
    for (int i = 0; i < 14; ++i) grow();
    for (std::size_t i = 0; i < tiles_.size(); ++i) store(i);
  }

  void check(const std::string& repeat) {
    auto count = static_cast<std::size_t>(element_count(shape_));
    std::vector<std::int64_t> out(count * tiles_.size());
    Argument arguments[2];
    arguments[0].pointer = out.data();
    arguments[1].integer = pick({0, 1, 5, 8, 1000});
    run_program(f_, {}, arguments);
    auto infos = axis_info(f_);
    for (std::size_t i = 0; i < tiles_.size(); ++i)
      for (int axis : {0, 1})
        check_axis(out.data() + i * count, infos[tiles_[i]], axis,
                   repeat + "value %" + std::to_string(tiles_[i]));
  }

 private:
  std::int64_t pick(std::vector<std::int64_t> from) { return from[random_() % from.size()]; }
  Value any() { return tiles_[random_() % tiles_.size()]; }
  Value splat(Value v) { return b_.append(Op::splat_, {v}, ir::Extent{shape_}); }

  Value axis(int axis) {
    std::int64_t start = pick({0, 0, 4, 16, 3, -8});
    Value v = b_.append(Op::arange_, {}, ir::Bounds{start, start + shape_[axis]});
    v = b_.append(Op::cast_, {v}, DType::i64);
    v = b_.append(Op::expand_dims_, {v}, ir::Axis{1 - axis});
    return b_.append(Op::broadcast_, {v}, ir::Extent{shape_});
  }

  void grow() {
    static const std::vector<Op> with_constant{Op::div_, Op::rem_, Op::mul_, Op::shl_,
                                               Op::shr_, Op::and_, Op::add_, Op::sub_};
    static const std::vector<Op> pairs{Op::add_, Op::sub_, Op::mul_, Op::min_,
                                       Op::max_, Op::or_,  Op::xor_, Op::and_};
    Value x = any();
    switch (random_() % 6) {
      case 0:
      case 1: {
        Op op = with_constant[random_() % with_constant.size()];
        bool shift = op == Op::shl_ || op == Op::shr_;
        std::int64_t by = shift ? pick({0, 1, 3}) : pick({1, 2, 3, 4, 8, 12, 16, 7, 15});
        tiles_.push_back(b_.append(op, {x, splat(b_.index(by))}));
        break;
      }
      case 2: {
        Op less = pick({0, 1}) != 0 ? Op::lt_ : Op::ge_;
        Value condition = b_.append(less, {x, any()});
        tiles_.push_back(b_.append(Op::cast_, {condition}, DType::i64));
        tiles_.push_back(b_.append(Op::select_, {condition, any(), any()}));
        break;
      }
      case 3: {
        Value narrow = b_.append(Op::cast_, {x}, pick({0, 1}) != 0 ? DType::i32 : DType::u8);
        tiles_.push_back(b_.append(Op::cast_, {narrow}, DType::i64));
        break;
      }
      default: tiles_.push_back(b_.append(pairs[random_() % pairs.size()], {x, any()}));
    }
  }

  void store(std::size_t i) {
    std::int64_t count = element_count(shape_), start = static_cast<std::int64_t>(i) * count;
    Value flat = b_.append(Op::reshape_, {tiles_[i]}, ir::Extent{{count}});
    Value at = b_.append(Op::arange_, {}, ir::Bounds{start, start + count});
    Value base = b_.append(Op::splat_, {out_}, ir::Extent{{count}});
    b_.append(Op::store_, {b_.append(Op::offset_, {base, at}), flat}, ir::Access{});
  }

  void check_axis(const std::int64_t* tile, const AxisInfo& info, int axis,
                  const std::string& what) {
    std::int64_t size = shape_[axis], stride = axis == 0 ? shape_[1] : 1;
    std::int64_t lines = shape_[1 - axis], line_stride = axis == 0 ? 1 : shape_[1];
    for (std::int64_t line = 0; line < lines; ++line)
      for (std::int64_t i = 0; i < size; ++i) {
        std::int64_t value = tile[line * line_stride + i * stride];
        std::int64_t before = i == 0 ? 0 : tile[line * line_stride + (i - 1) * stride];
        if (i % info.contiguity[axis] == 0) {
          ASSERT_EQ(value % info.divisibility[axis], 0) << what << " axis " << axis << " at " << i;
        } else {
          ASSERT_EQ(value, before + 1) << what << " axis " << axis << " at " << i;
        }
        if (i % info.constancy[axis] != 0) {
          ASSERT_EQ(value, before) << what << " axis " << axis << " at " << i;
        }
        if (info.constant) {
          ASSERT_EQ(value, *info.constant) << what;
        }
      }
  }

  std::mt19937_64 random_;
  ir::Function f_;
  ir::Builder b_{f_};
  Value out_ = 0;
  Shape shape_;
  std::vector<Value> tiles_;
};

TEST(AxisInfo, ClaimsHoldOfRandomIndexPrograms) {
  auto only = env::seed();
  std::uint64_t first = static_cast<std::uint64_t>(only.value_or(0));
  for (std::uint64_t seed = first; seed < first + (only ? 1 : 3000); ++seed) {
    IndexProgram(seed).check("repeat: TILEWRIGHT_SEED=" + std::to_string(seed) +
                             " dsl_tests --gtest_filter=AxisInfo.ClaimsHold*\n");
    if (testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tilewright::dsl::axis_info_test
