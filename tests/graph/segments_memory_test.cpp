// Memory in functions whose graph breaks: arguments that share it, addresses, views and copies.
#include <gtest/gtest.h>

#include "graph/compile/compile.h"
#include "tests/graph/broken_graphs.h"
#include "tests/tensors.h"

namespace tilewright::segments_memory_test {
namespace {

using namespace testing_segments;

TEST(Segments, WriteArgumentsThatShareMemory) {
  auto writes = [](const Tensor& a, const Tensor& b) {
    bool is_large = sum(a).item<float>() > 0;
    Tensor target = a, before = b * 1;
    target.copy_from(a * 2 + (is_large ? 1 : 0));
    return b + before;
  };
  Compiled fast = compile(writes, quiet());
  for (int call = 0; call < 3; ++call) {
    Tensor x = full({4}, 1).clone(), y = full({4}, 1).clone();
    expect_near(fast(x, x), writes(y, y));
    expect_near(x, y);
  }
}

TEST(Segments, SeeWhatIsWrittenThroughAnAddress) {
  auto function = [](const Tensor& x) {
    Tensor y = x * 2;
    auto* elements = static_cast<float*>(y.data());
    Tensor before = y + 1;
    elements[0] = 100;
    Tensor after = y + 1;
    y.copy_from(y * 0.5);
    float first = elements[0];
    return cat({before, after, y * first}, 0);
  };
  Compiled fast = compile(function, quiet());
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({4})), function(ramp({4})));
}

// Nothing is recorded that the function could write: one graph reads it at the end.
TEST(Segments, AreNotNeededForMemoryWhoseAddressIsKnown) {
  Tensor state = ramp({4}).clone();
  auto function = [&](const Tensor& x) {
    const bool is_there = state.data() != nullptr;
    return x * 2 + state * (is_there ? 1 : 0);
  };
  Compiled fast = compile(function, {.tell_breaks = false});
  expect_near(fast(ramp({4})), function(ramp({4})));
  EXPECT_EQ(fast.report()[0].graph_break, "");
}

TEST(Segments, KeepViewsOfWhatTheyCompute) {
  auto function = [](const Tensor& x) {
    Tensor y = x + 1, row = y.select(0, 1), turned = y.transpose(0, 1);
    float first = row.to_vector<float>()[0];
    y.copy_from(y * 2 + first);
    return cat({row, turned.reshape({4}), turned.contiguous().reshape({4})}, 0);
  };
  Compiled fast = compile(function, quiet());
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({2, 2})), function(ramp({2, 2})));
}

TEST(Segments, GiveCopiesMemoryOfTheirOwn) {
  auto function = [](const Tensor& x) {
    Tensor same = x.clone(), twice = x * 2, again = twice.clone(), equal = x * 2;
    sum(x).item<float>();
    same.copy_from(same + 1);
    again.copy_from(again + 10);
    equal.copy_from(equal + 100);
    return cat({x, same, twice, again, equal}, 0);
  };
  Compiled fast = compile(function, quiet());
  for (int call = 0; call < 3; ++call) expect_near(fast(ramp({3})), function(ramp({3})));
}

}  // namespace
}  // namespace tilewright::segments_memory_test
