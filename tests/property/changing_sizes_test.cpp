// Random graphs that are compiled once for sizes that change compute what they mean at every size.
//
// Each graph is called at five sizes of its named axes, among them 0, 1, primes, powers of two and
// their neighbours. The ordinary run has 500 graphs; TILEWRIGHT_TEST_GRAPHS says how many, and
// the nightly run tries 20,000.
#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <set>

#include "graph/compile/compile.h"
#include "graph/ir/text.h"
#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "tests/property/expect_within.h"
#include "tests/property/graph_function.h"
#include "tests/property/graph_generator.h"
#include "tests/property/seeds.h"

namespace tilewright::graph::changing_sizes_test {
namespace {

// Five that differ: none or one, a prime, a power of two, a neighbour of one, and any of these.
std::vector<NamedSizes> random_sizes(std::uint64_t seed) {
  static constexpr std::int64_t ends[] = {0, 1};
  static constexpr std::int64_t primes[] = {2, 3, 5, 7, 13, 19, 37, 67, 97, 131, 257};
  static constexpr std::int64_t powers[] = {2, 4, 8, 16, 32, 64, 128, 256};
  static constexpr std::int64_t neighbours[] = {3, 9, 15, 17, 31, 33, 63, 65, 127, 129};
  static constexpr std::int64_t others[] = {0, 1, 1, 2, 3, 5, 8, 13, 16, 17};  // of m
  const std::span<const std::int64_t> lists[] = {ends, primes, powers, neighbours};
  Dice dice(seed ^ 0x73697a6573);
  std::vector<NamedSizes> result;
  while (result.size() < 5) {
    const auto list = result.size() < 4 ? lists[result.size()] : dice.pick(std::span(lists));
    NamedSizes sizes{.n = dice.pick(list), .m = dice.pick(std::span(others))};
    if (!std::ranges::count(result, sizes.n, &NamedSizes::n)) result.push_back(sizes);
  }
  std::ranges::rotate(result, result.begin() + dice.below(5));
  return result;
}

struct Programs {
  std::int64_t all = 0, shared = 0;  // shared: with an earlier plan of the same function
};

class SizedGraph {
 public:
  SizedGraph(std::uint64_t seed, const Device& device)
      : seed_(seed),
        device_(device),
        sizes_(random_sizes(seed)),
        graphs_(random_graph_at(seed, sizes_)),
        function_([this](const std::vector<Tensor>& in) { return call_graph(*now_, in); },
                  {.dynamic = Dynamic::always, .device = device}) {}

  void expect_meant_at(std::size_t i) {
    const RandomGraph& random = graphs_[i];
    now_ = &random.graph;
    std::vector<Tensor> inputs;
    for (std::size_t k = 0; k < random.inputs.size(); ++k)
      inputs.push_back(to_tensor(random.inputs[k], random.graph.input_strides.empty()
                                                       ? Strides{}
                                                       : random.graph.input_strides[k]));
    for (Tensor& input : inputs) input.move_to(device_);
    auto told = [&] {
      return concat("n = ", sizes_[i].n, ", m = ", sizes_[i].m, "\n", reproduction(seed_), "\n",
                    print(random.graph));
    };
    Evaluation actual;
    try {
      for (const Tensor& output : function_.call(inputs))
        actual.outputs.push_back(to_host_tensor(output));
    } catch (const std::exception& error) {
      FAIL() << error.what() << "\n" << told();
    }
    for (const Mutation& m : random.graph.mutations) {
      auto at = std::ranges::find(random.graph.inputs, m.input) - random.graph.inputs.begin();
      actual.mutated.push_back(to_host_tensor(inputs[static_cast<std::size_t>(at)]));
    }
    expect_within(bounded_evaluate(random.graph, random.inputs), actual, told);
  }

  std::size_t count() const { return graphs_.size(); }

  void add_to(Programs& programs) const {
    std::set<std::string> before;
    for (const PlanReport& plan : function_.report()) {
      std::set<std::string> keys;
      for (const RegionReport& region : plan.regions) keys.insert(region.key);
      for (const std::string& key : keys) programs.shared += before.contains(key);
      programs.all += std::ssize(keys);
      before.merge(keys);
    }
  }

 private:
  std::uint64_t seed_;
  Device device_;
  std::vector<NamedSizes> sizes_;
  std::vector<RandomGraph> graphs_;
  const Graph* now_ = nullptr;  // what the function computes at its next call
  CompiledFunction function_;
};

// How many programs of plans there were, and how many of these were another plan's.
Programs expect_meant(std::span<const std::uint64_t> seeds, const Device& device) {
  Programs programs;
  for (std::uint64_t seed : seeds) {
    SizedGraph graph(seed, device);
    for (std::size_t i = 0; i < graph.count(); ++i) {
      graph.expect_meant_at(i);
      if (testing::Test::HasFailure()) return programs;
    }
    graph.add_to(programs);
  }
  return programs;
}

TEST(ChangingSizes, RandomGraphsComputeWhatTheyMeanAtEach) {
  const std::vector<std::uint64_t> seeds =
      seeds_of_test(static_cast<std::uint64_t>(env::test_graphs().value_or(500)));
  const Programs programs = expect_meant(seeds, Device::cpu());
  std::cout << seeds.size() << " graphs: " << programs.shared << " of " << programs.all
            << " programs of plans were those of another size\n";
  if (seeds.size() > 1 && !HasFailure()) {
    EXPECT_GT(programs.shared, programs.all / 3);
  }
}

// A tenth of the graphs: the emulator takes its time.
void expect_meant_on_emulated(const char* gpu) {
  const auto graphs = static_cast<std::uint64_t>(env::test_graphs().value_or(500));
  expect_meant(seeds_of_test(graphs / 10), Device::emulated(gpu));
}
TEST(ChangingSizes, ForSm80AndEmulatedGraphsComputeWhatTheyMeanAtEach) {
  expect_meant_on_emulated("sm_80");
}
TEST(ChangingSizes, ForSm90aAndEmulatedGraphsComputeWhatTheyMeanAtEach) {
  expect_meant_on_emulated("sm_90a");
}

}  // namespace
}  // namespace tilewright::graph::changing_sizes_test
