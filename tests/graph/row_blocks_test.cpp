// How long rows are cut among the programs of the host.
#include <gtest/gtest.h>

#include <regex>

#include "graph/compile.h"
#include "graph/tensor.h"

namespace tilewright {
namespace {

// The last block of a row is moved back to end with it: were blocks cut from the left until nothing
// is left, it would compute most of the one before again.
TEST(RowBlocks, AreEqualSoThatLittleIsComputedTwice) {
  for (std::int64_t width : {17'000, 33'000, 50'257, 70'001}) {
    CompiledFunction scaled(
        [](const std::vector<Tensor>& a) { return std::vector<Tensor>{a[0] * a[1]}; },
        {.fullgraph = true, .device = Device::cpu()});
    Tensor x = full({16, width}, 3), by = full({width}, 0.5);
    Tensor y = scaled.call({x, by}).front();
    EXPECT_EQ(sum(y, {0, 1}).item<float>(), 24.0F * static_cast<float>(width));
    const std::string text = scaled.dump();
    std::smatch match;
    ASSERT_TRUE(std::regex_search(text, match, std::regex(R"(load_desc[^\n]*\[\d+x(\d+)\] :)")))
        << text;
    const std::int64_t columns = std::stoll(match[1]), blocks = (width + columns - 1) / columns;
    EXPECT_LT(blocks * columns - width, blocks * 64) << columns << " of " << width;
  }
}

}  // namespace
}  // namespace tilewright
