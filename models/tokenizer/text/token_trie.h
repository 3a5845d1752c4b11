// The tokens of a vocabulary by their bytes, for all that a text begins with.
//
// Nodes with one child and no token are joined with it, so that there are at most two for each
// token, however long tokens are: files are foreign. The children of a node lie next to each other,
// and so do the first bytes of these, among which a child is looked for.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::tokenizer {

class TokenTrie {
 public:
  TokenTrie() = default;
  // `text(i)` is token i of `count`. Time O(n log n) in the bytes of the tokens.
  using TextOf = std::function<std::string_view(std::uint32_t entry)>;
  TokenTrie(std::size_t count, const TextOf& text);

  // Calls `visit(size, entry)` for every token that `text` begins with, the shortest first.
  template <typename Visit>
  void for_each_prefix(std::string_view text, const Visit& visit) const {
    if (text.empty()) return;
    std::uint32_t at = of_first_[static_cast<unsigned char>(text[0])];
    std::size_t size = 0;
    while (at != none) {
      const Node& node = nodes_[at];
      const std::string_view rest = text.substr(size + 1);
      if (!rest.starts_with(label(node))) return;
      size += 1 + node.label_size;
      if (node.entry != none) visit(size, node.entry);
      if (size == text.size()) return;
      at = child(node, text[size]);
    }
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Node {
    std::uint32_t label = 0, label_size = 0;  // behind the first byte: where in `labels_`
    std::uint32_t children = 0, count = 0;    // in `nodes_`
    std::uint32_t entry = none;               // of the token that ends here
  };
  std::string_view label(const Node& node) const {
    return {labels_.data() + node.label, node.label_size};
  }
  std::uint32_t child(const Node& node, char first) const {
    if (node.count == 0) return none;
    const char* begin = firsts_.data() + node.children;
    const void* found = std::memchr(begin, first, node.count);
    if (found == nullptr) return none;
    return node.children + static_cast<std::uint32_t>(static_cast<const char*>(found) - begin);
  }

  std::vector<Node> nodes_;
  std::vector<char> firsts_;  // the first byte of each node
  std::string labels_;
  std::array<std::uint32_t, 256> of_first_ = {};  // of the root's children
};

}  // namespace tilewright::tokenizer
