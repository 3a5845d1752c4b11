// Arguments and results that are made of tensors.
#include "graph/compile/calls/structure.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "graph/compile/compile.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/tensors.h"

namespace tilewright::structure_test {
namespace {

enum class Side : std::uint8_t { left, right };

struct Batch {
  Tensor ids;
  std::optional<Tensor> mask;
};
struct Cache {
  std::vector<std::pair<Tensor, Tensor>> layers;
  std::int64_t length = 0;
};
struct Output {
  Tensor logits;
  std::map<std::string, Tensor> hidden;
  Cache cache;
};

// Private members are visited on request.
class Pair {
 public:
  Pair(const Tensor& a, const Tensor& b) : a_(a), b_{b} {}
  Tensor total() const { return a_ + b_.at(0); }

 private:
  template <typename Visit>
  friend void for_each_tensor(Pair& pair, Visit&& visit) {
    visit(pair.a_);
    visit(pair.b_);
  }
  Tensor a_;
  std::vector<Tensor> b_;
};

struct Sixteen {
  Tensor a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p;
};
struct Seventeen {
  Tensor a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q;
};
struct Unknown {
  Tensor x;
  std::unique_ptr<int> number;
};
struct Pointed {
  Tensor* x;
};
struct Masked : Batch {
  Tensor weight;
};
struct Tag {};
struct Tagged : Tag {
  Tensor x;
};
// With a base, and a function that goes through all of it.
struct Visited : Batch {
  Tensor weight;
  template <typename Visit>
  friend void for_each_tensor(Visited& visited, Visit&& visit) {
    visit(static_cast<Batch&>(visited));
    visit(visited.weight);
  }
};

using detail::Holds;
static_assert(detail::holds<Tensor>() == Holds::tensors);
static_assert(detail::holds<Batch>() == Holds::tensors);
static_assert(detail::holds<Output>() == Holds::tensors);
static_assert(detail::holds<Pair>() == Holds::tensors);
static_assert(detail::holds<Sixteen>() == Holds::tensors);
static_assert(detail::holds<std::map<int, std::vector<std::optional<Tensor>>>>() == Holds::tensors);
static_assert(detail::holds<std::tuple<int, std::array<Tensor, 3>>>() == Holds::tensors);
static_assert(detail::holds<std::pair<Side, std::string>>() == Holds::host_values);
static_assert(detail::holds<std::vector<float>>() == Holds::host_values);
static_assert(detail::holds<Seventeen>() == Holds::unknown);
static_assert(detail::holds<Unknown>() == Holds::unknown);
static_assert(detail::holds<Pointed>() == Holds::unknown);
static_assert(detail::holds<Masked>() == Holds::unknown);
static_assert(detail::holds<Tagged>() == Holds::unknown);
static_assert(detail::holds<std::vector<Masked>>() == Holds::unknown);
static_assert(detail::holds<Visited>() == Holds::tensors);
// The function of its base would leave out its own members: an error of the compiler (kind_of).
struct Widened : Visited {
  Tensor bias;
};
static_assert(detail::HasVisit<Widened> && !detail::HasOwnVisit<Widened>);
static_assert(detail::HasOwnVisit<Visited> && detail::HasOwnVisit<Pair>);
struct VisitedAsAny {
  Tensor x;
};
template <typename Any, typename Visit>
void for_each_tensor(Any& any, Visit&& visit) {
  visit(any.x);
}
static_assert(detail::HasOwnVisit<VisitedAsAny>);
static_assert(detail::holds<std::vector<bool>>() == Holds::unknown);
static_assert(detail::holds<std::map<double*, Tensor>>() == Holds::unknown);

template <typename F>
constexpr bool is_accepted = detail::gives_tensors<F>();
static_assert(is_accepted<Tensor (*)(const Tensor&, int)>);
static_assert(is_accepted<std::optional<Tensor> (*)(Batch, const Cache&)>);
static_assert(is_accepted<Output (*)(const std::vector<Tensor>&, Side)>);
static_assert(is_accepted<Output (*)()>);
static_assert(!is_accepted<Tensor (*)(Batch&)>);  // what is assigned to it would be lost
static_assert(!is_accepted<Tensor (*)(const Unknown&)>);
static_assert(!is_accepted<Tensor (*)(Tensor*)>);
static_assert(!is_accepted<void (*)(const Batch&)>);
static_assert(!is_accepted<int (*)(const Tensor&)>);
static_assert(!is_accepted<Unknown (*)(const Tensor&)>);

constexpr Mode modes[] = {Mode::default_, Mode::reduce_overhead};

Output decode(const Batch& batch, const Cache& cache, float scale) {
  Tensor x = batch.mask ? batch.ids * *batch.mask : batch.ids;
  Output out{{}, {{"input", x}}, {}};
  for (const auto& [keys, values] : cache.layers) {
    Tensor grown = keys + x;
    out.cache.layers.emplace_back(grown, values);  // one is computed, one passed on
    x = x + grown * values * scale;
  }
  out.cache.length = cache.length + 1;
  out.hidden["last"] = x;
  out.logits = sum(x, {-1});
  return out;
}

void expect_same(const Output& a, const Output& b) {
  expect_near(a.logits, b.logits);
  ASSERT_EQ(a.hidden.size(), b.hidden.size());
  for (const auto& [name, tensor] : a.hidden) expect_near(tensor, b.hidden.at(name));
  ASSERT_EQ(a.cache.layers.size(), b.cache.layers.size());
  for (std::size_t i = 0; i < a.cache.layers.size(); ++i) {
    expect_near(a.cache.layers[i].first, b.cache.layers[i].first);
    expect_near(a.cache.layers[i].second, b.cache.layers[i].second);
  }
  EXPECT_EQ(a.cache.length, b.cache.length);
}

Cache cache_of(int layers) {
  Cache cache;
  for (int i = 0; i < layers; ++i)
    cache.layers.emplace_back(ramp({2, 4}) + i, ramp({2, 4}, 0.02F) - i);
  return cache;
}

TEST(Structures, AreTakenAndGivenAsTheFunctionWritesThem) {
  for (Mode mode : modes)
    for (Backend backend : {Backend::eager, Backend::tilewright}) {
      auto fast = compile(decode, {.mode = mode, .backend = backend});
      for (int call = 0; call < 2; ++call)
        for (int layers : {2, 0, 3}) {
          Batch batch{ramp({2, 4}) + call, ramp({2, 4})};
          Cache cache = cache_of(layers);
          expect_same(fast(batch, cache, 0.5F), decode(batch, cache, 0.5F));
          expect_same(fast({batch.ids, {}}, cache, 0.5F), decode({batch.ids, {}}, cache, 0.5F));
        }
      EXPECT_EQ(fast.report().size(), backend == Backend::tilewright ? 6U : 0U);
    }
}

// The first call after `first`'s; gives why it was compiled.
template <typename Face, typename Call>
Recompilation why(const Face& fast, Call call) {
  std::size_t before = fast.recompilations().size();
  call();
  EXPECT_EQ(fast.recompilations().size(), before + 1);
  return fast.recompilations().back();
}

TEST(Structures, SayWhatIsAnotherForm) {
  auto fast = compile(
      decode,
      {.max_signatures = 20, .device = Device::cpu(), .argument_names = {"batch", "cache"}});
  Batch masked{ramp({2, 4}), ramp({2, 4})}, plain{ramp({2, 4}), {}};
  fast(masked, cache_of(2), 0.5F);
  Recompilation size = why(fast, [&] { fast(masked, cache_of(3), 0.5F); });
  EXPECT_EQ(size.sentence(), "argument 1 'cache'.0: it has 3 elements, compiled for 2");
  EXPECT_EQ(size.differences.at(0).reason, RecompileReason::structure);
  EXPECT_EQ(size.differences.at(0).argument, 1);
  EXPECT_EQ(why(fast, [&] { fast(plain, cache_of(2), 0.5F); }).sentence(),
            "argument 0 'batch'.1: it is absent, compiled for present");
  Recompilation value = why(fast, [&] { fast(plain, cache_of(2), 0.25F); });
  EXPECT_EQ(value.sentence(), "argument 2 is 0.25, compiled for 0.5");
  EXPECT_EQ(value.differences.at(0).reason, RecompileReason::value);
  Cache longer = cache_of(2);
  longer.length = 7;
  EXPECT_EQ(why(fast, [&] { fast(plain, longer, 0.25F); }).sentence(),
            "argument 1 'cache'.1 is 7, compiled for 0");
  longer.layers[1].second = ramp({1, 4});
  EXPECT_EQ(why(fast, [&] { fast(plain, longer, 0.25F); }).sentence(),
            "argument 1 'cache'.0[1].1: axis 0 is 1, compiled for 2");
  Cache undefined = longer;
  undefined.layers[0].first = {};
  expect_contains(error_of([&] { fast(plain, undefined, 0.25F); }),
                  "[add] the tensor is undefined");
  expect_contains(fast.explain(), "guards:\n  argument 0 'batch'.1: it is present\n");
}

TEST(Structures, TellIntegersOf128BitsApart) {
  using Wide = __int128;
  int runs = 0;
  auto fast = compile([&](const Tensor& x, Wide value) {
    ++runs;
    return x + static_cast<double>(value);
  });
  const Wide high = Wide{1} << 64;
  expect_near(fast(ramp({4}), Wide{0}), ramp({4}));
  expect_near(fast(ramp({4}), high), ramp({4}) + static_cast<double>(high));
  expect_near(fast(ramp({4}), -high), ramp({4}) - static_cast<double>(high));
  EXPECT_EQ(runs, 3);
}

TEST(Structures, KnowMapsByTheirKeys) {
  auto total = [](const std::map<std::string, Tensor>& parts, Side side) {
    Tensor sum = zeros({4});
    for (const auto& [name, part] : parts) sum = sum + part * (name == "twice" ? 2 : 1);
    return side == Side::left ? sum : -sum;
  };
  auto fast = compile(total);
  Tensor x = ramp({4});
  expect_near(fast({{"a", x}, {"b", x}}, Side::left), x * 2);
  expect_near(fast({{"a", x}, {"twice", x}}, Side::left), x * 3);
  EXPECT_EQ(fast.recompilations().at(0).sentence(),
            "argument 0: its keys are 'a', 'twice', compiled for 'a', 'b'");
  expect_near(fast({{"a", x}, {"twice", x}}, Side::right), x * -3);
  EXPECT_EQ(fast.recompilations().at(1).sentence(), "argument 1 is 1, compiled for 0");
  expect_near(fast({{"a", x}, {"b", x * 2}}, Side::left), x * 3);
  EXPECT_EQ(fast.report().size(), 3U);
}

// Names, too, of tensors that are plain arguments.
TEST(Structures, HaveTheNamesOfTheirArguments) {
  Compiled fast = compile([](const Tensor& x, const Tensor& y) { return x + y; },
                          {.device = Device::cpu(), .argument_names = {"x", "y"}});
  fast(ramp({4}), ramp({4}));
  fast(ramp({4}), ramp({1}));
  EXPECT_EQ(fast.recompilations().at(0).sentence(), "argument 1 'y': axis 0 is 1, compiled for 4");
  expect_contains(error_of([&] { fast(ramp({4}), Tensor()); }),
                  "[compile] argument 1 'y' is undefined");
}

TEST(Structures, MayBeClassesThatSayWhatTheyHold) {
  auto fast = compile([](const Pair& pair) { return Pair(pair.total(), pair.total() * 2); });
  Pair pair(ramp({4}), ramp({4}) * 2);
  for (int call = 0; call < 2; ++call) expect_near(fast(pair).total(), pair.total() * 3);

  auto weighted = compile([](const Visited& v) { return v.ids * v.weight; });
  for (int call = 0; call < 2; ++call)
    expect_near(weighted(Visited{{ramp({4}) + call, {}}, ramp({4})}),
                (ramp({4}) + call) * ramp({4}));
  EXPECT_EQ(weighted.report().size(), 1U);
}

TEST(Structures, MayBeLeftOutWhereTheFunctionHasDefaults) {
  struct Attention {
    Tensor weight = ramp({4, 4});
    Tensor forward(const Tensor& x, const std::optional<Tensor>& mask = {}, int heads = 2) const {
      Tensor y = linear(x, weight) * heads;
      return mask ? y + *mask : y;
    }
    std::pair<Tensor, int> project(const std::vector<Tensor>& all, bool flips) const {
      return {linear(all.at(0), flips ? weight.transpose(0, 1) : weight), flips ? 1 : 0};
    }
  } module;
  auto fast = compile(module);
  Tensor x = ramp({2, 4});
  expect_near(fast(x), module.forward(x));
  expect_near(fast(x, x), module.forward(x, x));
  expect_near(fast(x, std::nullopt, 3), module.forward(x, {}, 3));
  expect_contains(error_of([&] { fast(); }),
                  "takes 1 or 2 or 3 arguments and the call has 0; pass one for each");
  expect_contains(error_of([&] { fast.call({x}); }), "call the compiled object itself");
  module.weight = ramp({4, 4}, 0.03F);
  expect_near(fast(x, x), module.forward(x, x));

  auto project = compile(module, &Attention::project);
  for (bool flips : {false, true}) {
    auto [projected, flipped] = project({x}, flips);
    expect_near(projected, module.project({x}, flips).first);
    EXPECT_EQ(flipped, flips ? 1 : 0);
  }
}

// A function object that changes itself, and one that reads what it was given by value.
TEST(Structures, AreTakenByEveryKindOfFunction) {
  struct Scale {
    Tensor factor = ramp({4});
    std::vector<Tensor> operator()(std::vector<Tensor> each, bool twice) const {
      for (Tensor& x : each) x = x * factor * (twice ? 2 : 1);
      return each;
    }
  };
  auto scaled = compile(Scale{});
  Tensor x = ramp({4});
  std::vector<Tensor> three = scaled({x, x + 1, x + 2}, true);
  ASSERT_EQ(three.size(), 3U);
  expect_near(three[2], (x + 2) * x * 2);
  int runs = 0;
  auto counted = compile([runs](std::optional<Tensor> x) mutable {
    ++runs;
    return std::tuple(x ? *x * 2 : ones({2}), x, runs);
  });
  auto [doubled, same, count] = counted(x);
  expect_near(doubled, x * 2);
  expect_near(same.value(), x);
  EXPECT_EQ(std::get<2>(counted(x * 2)), 1);
  EXPECT_FALSE(std::get<1>(counted(std::nullopt)).has_value());
}

// A write in place changes the caller's tensor; an assignment changes the function's own copy.
TEST(Structures, TensorsInThemMayBeWritten) {
  for (Mode mode : modes) {
    auto push = compile(
        [](Cache cache, const Tensor& x) {
          cache.layers.at(0).first.copy_from(cache.layers.at(0).first + x);
          cache.layers.at(0).second = x * 9;
          return cache.layers.at(0).second;
        },
        {.mode = mode});
    Cache cache = cache_of(1);
    Tensor first = cache.layers[0].first.clone(), second = cache.layers[0].second.clone();
    for (int call = 1; call < 4; ++call) {
      expect_near(push(cache, ramp({2, 4})), ramp({2, 4}) * 9);
      expect_near(cache.layers[0].first, first + ramp({2, 4}) * call);
      expect_near(cache.layers[0].second, second);
    }
    EXPECT_EQ(push.report().size(), 1U);
    EXPECT_EQ(push.report()[0].captures, 1);
  }
}

// Arguments come and go without the function being captured again.
TEST(Structures, OfACallAreNotWhatTheFunctionReads) {
  Tensor weight = ramp({4});
  auto fast = compile([&](const Batch& batch) {
    return std::pair(batch.ids * weight, Batch{batch.mask.value(), weight});
  });
  for (int call = 0; call < 4; ++call) {
    Batch batch{ramp({4}) + call, ramp({4}) - call};
    auto [product, passed] = fast(batch);
    expect_near(product, batch.ids * weight);
    expect_near(passed.ids, *batch.mask);
    expect_near(passed.mask.value(), weight);
  }
  EXPECT_EQ(fast.report()[0].captures, 1);
  weight = ramp({4}) * 3;
  expect_near(fast(Batch{ramp({4}), ramp({4})}).second.mask.value(), weight);
  fast(Batch{ramp({4}), ramp({4})});
  EXPECT_EQ(fast.report()[0].captures, 2);
}

TEST(Structures, AreTakenInsideOtherCompiledFunctions) {
  auto inner = compile(decode);
  Tensor weight = ramp({2, 4});
  auto outer = compile([&](const Tensor& x) {
    return inner({x, weight}, Cache{{{x, weight}}}, 2.0F);
  });
  for (int call = 0; call < 3; ++call)
    expect_same(outer(ramp({2, 4})),
                decode({ramp({2, 4}), weight}, Cache{{{ramp({2, 4}), weight}}}, 2.0F));
  EXPECT_EQ(outer.report()[0].captures, 1);
  EXPECT_TRUE(inner.report().empty());
}

TEST(Structures, KeepTheirFormWhereTheGraphBreaks) {
  auto fast = compile([](const std::vector<Tensor>& parts, bool all) {
    std::map<std::string, Tensor> positive;
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (all || sum(parts[i]).item<float>() > 0) positive[std::to_string(i)] = parts[i] * 2;
    return positive;
  });
  Tensor x = full({4}, 1);
  testing::internal::CaptureStderr();
  EXPECT_EQ(fast({x, -x, x}, false).size(), 2U);
  EXPECT_EQ(fast({-x, -x, x}, false).begin()->first, "2");
  testing::internal::GetCapturedStderr();
  EXPECT_EQ(fast({x, -x, x}, true).size(), 3U);
}

TEST(Structures, VerifyingACaptureSeesNumbersAmongTheResults) {
  int number = 1;
  auto fast =
      compile([&](const Tensor& x) { return std::pair(x * 2, number); }, {.verify_capture = 1});
  fast(ramp({4}));
  number = 2;
  expect_contains(error_of([&] { fast(ramp({4})); }),
                  "returns other numbers, keys or sizes besides its tensors");
}

TEST(Structures, MoveToADevice) {
  auto fast = compile(decode, {.device = Device::cpu()});
  Batch batch{ramp({2, 4}), {}};
  fast(batch, cache_of(1), 1.0F);
  fast.to(Device::emulated("sm_80"));
  expect_same(fast(batch, cache_of(1), 1.0F), decode(batch, cache_of(1), 1.0F));
}

TEST(StructureCalls, SayWhichTensorIsThereNow) {
  auto fast = compile([](const std::pair<Tensor, Tensor>& x) {
    return x.second.defined() ? x.first + x.second : x.first * 2;
  });
  fast(std::pair(ramp({2}), Tensor()));
  expect_near(fast(std::pair(ramp({2}), ramp({2}))), ramp({2}) * 2);
  EXPECT_EQ(fast.recompilations().at(0).sentence(),
            "argument 0.1: it is defined, compiled for undefined");
}

TEST(StructureCalls, AreNoListOfTensors) {
  auto fast = compile([](const std::pair<Tensor, Tensor>& x) { return x.first + x.second; });
  expect_contains(error_of([&] {
                    fast.call({ramp({2}), ramp({2})});
                  }),
                  "[compile] the function takes structures of tensors and not a list of them; call "
                  "the compiled object itself, as the function is called");
}

}  // namespace
}  // namespace tilewright::structure_test
