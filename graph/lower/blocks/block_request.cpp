#include "graph/lower/blocks/block_request.h"

#include <algorithm>
#include <ranges>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

constexpr std::int64_t largest = 1 << 30;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

constexpr TriedSizes doubling(std::int64_t from, std::int64_t to) {
  return {.from = from, .to = to};
}
template <typename... Sizes>
constexpr TriedSizes values(Sizes... sizes) {
  return {.listed = {sizes...}, .count = sizeof...(sizes)};
}

using enum TunedWhere;

constexpr BlockSize table[] = {
#define TILEWRIGHT_BLOCK_SIZE(member, name, least, most, told_above, tuned, where, tried, meaning) \
  {name, &BlockSizes::member, least, most, told_above, tuned, where, tried, meaning},
#include "graph/lower/blocks/block_sizes.def"
#undef TILEWRIGHT_BLOCK_SIZE
};

}  // namespace

bool BlockSize::is_tuned_by(std::string_view lowering) const {
  return std::ranges::any_of(tuned | std::views::split(' '), [&](auto word) {
    return std::string_view(word.begin(), word.end()) == lowering;
  });
}

std::span<const BlockSize> all_block_sizes() { return table; }

const BlockSize* block_size_named(std::string_view name) {
  const BlockSize* found = std::ranges::find(table, name, &BlockSize::name);
  return found == std::ranges::end(table) ? nullptr : found;
}

std::string text_of(const BlockSizes& sizes) {
  std::string text;
  for (const BlockSize& one : table)
    if (sizes.*one.size != 0)
      text += concat(text.empty() ? "" : " ", one.name, "=", sizes.*one.size);
  return text.empty() ? "nothing" : text;
}

BlockSizes most_block_sizes() {
  BlockSizes sizes;
  for (const BlockSize& one : table) sizes.*one.size = one.most;
  return sizes;
}

std::string why_impossible(const BlockSize& size, std::int64_t value) {
  if (value < size.least) return concat("is below ", size.least);
  if (value > size.most) return concat("is above ", size.most);
  return {};
}

void require_possible(const BlockSizes& sizes) {
  for (const BlockSize& one : table) {
    std::string impossible = why_impossible(one, sizes.*one.size);
    require(impossible.empty(), "[plan] the block size ", one.name, "=", sizes.*one.size, " ",
            impossible);
  }
}

}  // namespace tilewright::graph
