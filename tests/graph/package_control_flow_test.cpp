// Loops and branches in packages: bodies are executables of the package.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "graph/compile/packages/package.h"
#include "graph/functions/control/control_flow.h"
#include "runtime/package/contents_bytes.h"
#include "runtime/package/verify.h"
#include "tests/errors.h"
#include "tests/every_device.h"
#include "tests/scratch_folder.h"
#include "tests/tensors.h"

namespace tilewright::package_control_flow_test {
namespace {

class PackagedLoops : public testing::Test {
 protected:
  void SetUp() override { TILEWRIGHT_ON_THE_HOST_ONLY("packages"); }

  // The package gives the bits of the compiled function, for each list of arguments.
  template <typename Function>
  void expect_same(const Function& function, const std::vector<Tensors>& calls,
                   bool freezing = false) {
    auto fast = compile([&](const std::vector<Tensor>& arguments) { return function(arguments); },
                        {.fullgraph = true, .freezing = freezing});
    for (const Tensors& arguments : calls) fast(arguments);
    fast.save_package(file());
    const Package package = load_package(file());
    for (const Tensors& arguments : calls) {
      const Tensors got = package.run(arguments), expected = fast(arguments);
      ASSERT_EQ(got.size(), expected.size());
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>()) << i;
    }
  }
  std::string file() const { return (folder_.path() / "model.twp").string(); }

 private:
  ScratchFolder folder_;
};

TEST_F(PackagedLoops, TakeTheBranchOfTheCall) {
  const Tensor weight = ramp({8, 8});
  auto function = [&](const Tensors& a) {
    return cond(
        a[0].sum() > 0, [&](const Tensors& x) { return Tensors{matmul(x[0], weight)}; },
        [](const Tensors& x) { return Tensors{x[0]}; }, {a[0]});
  };
  expect_same(function, {{ones({4, 8})}, {ones({4, 8}) * -1}});
}

TEST_F(PackagedLoops, MakeAsManyTurnsAsTheDataSays) {
  auto function = [](const Tensors& a) {
    return while_loop([](const Tensors& x) { return x[0].sum() < 100; },
                      [](const Tensors& x) {
                        return Tensors{x[0] * 1.5 + 1, x[1] + 1};
                      },
                      {a[0], zeros({1})});
  };
  expect_same(function, {{ones({5})}, {ones({5}) * 90}, {ones({5}) * 0.01}});
}

TEST_F(PackagedLoops, ScanWithWeightsOfTheBody) {
  const Tensor w = ramp({24, 16}), u = ramp({16, 16}, 0.02F);
  auto function = [&](const Tensors& a) {
    auto [carried, given] = scan(
        [&](const Tensors& state, const Tensors& x) {
          const Tensor next = tanh(matmul(x[0], w) + matmul(state[0], u));
          return Turn{{next}, {next * 2}};
        },
        {zeros({32, 16})}, {a[0]}, {.reverse = true});
    return Tensors{carried[0], given[0]};
  };
  for (bool freezing : {false, true}) expect_same(function, {{ramp({7, 32, 24})}}, freezing);
}

TEST_F(PackagedLoops, UpdateAnArgumentInPlace) {
  auto fast = compile(
      [](const Tensors& a) {
        auto [last, all] = scan(
            [](const Tensors& state, const Tensors& x) {
              return Turn{{state[0] * 0.5 + x[0]}, {state[0]}};
            },
            {a[0]}, {a[1]});
        Tensor(a[0]).copy_from(last[0]);
        return Tensors{all[0], last[0] * 2};
      },
      {.fullgraph = true});
  const Tensor state = ramp({6, 16}), rows = ramp({5, 6, 16}, 0.02F);
  const Tensors expected_of = {state.clone(), rows}, got_of = {state.clone(), rows};
  const Tensors expected = fast(expected_of);
  fast.save_package(file());
  const Tensors got = load_package(file()).run(got_of);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(got[i].to_vector<float>(), expected[i].to_vector<float>()) << i;
  EXPECT_EQ(got_of[0].to_vector<float>(), expected_of[0].to_vector<float>());
  EXPECT_NE(got_of[0].to_vector<float>(), state.to_vector<float>());
}

TEST_F(PackagedLoops, LieInEachOther) {
  auto function = [](const Tensors& a) {
    auto inner = [](const Tensors& x) {
      return while_loop([](const Tensors& y) { return y[0].sum() < 50; },
                        [](const Tensors& y) { return Tensors{y[0] + 3}; }, {x[0]});
    };
    return scan(
               [&](const Tensors& state, const Tensors& x) {
                 const Tensors next =
                     cond(x[0].sum() > 1, inner, [](const Tensors& y) { return Tensors{y[0] / 2}; },
                          {state[0] + x[0]});
                 return Turn{next, {}};
               },
               {a[0]}, {a[1]})
        .first;
  };
  expect_same(function, {{ones({4}), counted({5, 4}) * 0.1}});
}

TEST_F(PackagedLoops, ThatWereDamagedBreakARule) {
  auto fast = compile([](const Tensor& x) {
    return while_loop([](const Tensors& y) { return y[0].sum() < 50; },
                      [](const Tensors& y) { return Tensors{y[0] + 3}; }, {x})[0];
  });
  save_package(file(), fast, ones({4}));
  const PackageContents whole = read_package(file()).front();
  ASSERT_EQ(whole.control_flow.size(), 1U);
  auto broken = [&](const std::string& text,
                    const std::function<void(PackageControlFlow&)>& change) {
    PackageContents other = whole;
    change(other.control_flow[0]);
    expect_contains(error_of([&] { verify(other); }), text);
  };
  const auto last = static_cast<std::uint32_t>(whole.executables.size() - 1);
  broken("which must come before it", [&](auto& c) { c.bodies[0] = last; });
  broken("must have 2", [](auto& c) { c.bodies.pop_back(); });
  broken("it carries 9 values", [](auto& c) { c.control.carried = 9; });
  broken("a body has 2 inputs, and must have 1", [](auto& c) { c.control.bodies[1].inputs = 2; });
  broken("bytes, and its buffer",
         [](auto& c) { c.control.bodies[1].results[0].shape = {1 << 20}; });
  broken("bytes, and its place", [](auto& c) { c.control.operands[0].bytes = 4; });
  broken("argument 77 is named", [](auto& c) { c.control.results[0].argument = 77; });
  broken("a value has 16 bytes from -8 on", [](auto& c) { c.control.operands[0].offset = -8; });
}

}  // namespace
}  // namespace tilewright::package_control_flow_test
