#include "models/tokenizer/text/token_trie.h"

#include <algorithm>
#include <numeric>

namespace tilewright::tokenizer {
namespace {

// Sorted tokens that share their first `size` bytes.
struct Span {
  std::uint32_t begin, end, size;
};

std::size_t common_size(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

TokenTrie::TokenTrie(std::size_t count, const TextOf& text_of) {
  std::vector<std::uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, text_of);
  auto text = [&](std::uint32_t i) { return text_of(order[i]); };
  of_first_.fill(none);
  nodes_.emplace_back();
  firsts_.push_back(0);
  std::vector<Span> spans = {{0, static_cast<std::uint32_t>(order.size()), 0}};
  for (std::size_t at = 0; at < nodes_.size(); ++at) {
    auto [begin, end, size] = spans[at];
    if (begin < end && text(begin).size() == size) nodes_[at].entry = order[begin++];
    nodes_[at].children = static_cast<std::uint32_t>(nodes_.size());
    while (begin < end) {
      const char first = text(begin)[size];
      std::uint32_t next = begin + 1;
      while (next < end && text(next)[size] == first) ++next;
      const std::string_view token = text(begin);
      const std::size_t shared = common_size(token, text(next - 1));
      Node child;
      child.label = static_cast<std::uint32_t>(labels_.size());
      child.label_size = static_cast<std::uint32_t>(shared - size - 1);
      labels_ += token.substr(size + 1, child.label_size);
      if (at == 0)
        of_first_[static_cast<unsigned char>(first)] = static_cast<std::uint32_t>(nodes_.size());
      nodes_.push_back(child);
      firsts_.push_back(first);
      spans.push_back({begin, next, static_cast<std::uint32_t>(shared)});
      begin = next;
    }
    nodes_[at].count = static_cast<std::uint32_t>(nodes_.size()) - nodes_[at].children;
  }
}

}  // namespace tilewright::tokenizer
