#include "models/generate/drafts.h"

#include <algorithm>

namespace tilewright {

std::vector<TokenId> looked_up(std::span<const TokenId> text, const DraftOptions& options) {
  const auto size = std::ssize(text);
  for (std::int64_t count = std::min(options.longest, size - 1); count >= options.shortest;
       --count) {
    const auto last = text.last(static_cast<std::size_t>(count));
    for (std::int64_t at = size - count - 1; at >= 0; --at) {
      if (!std::ranges::equal(text.subspan(static_cast<std::size_t>(at), last.size()), last))
        continue;
      const auto after = text.subspan(static_cast<std::size_t>(at + count));
      const auto taken = after.first(
          static_cast<std::size_t>(std::min<std::int64_t>(std::ssize(after), options.tokens)));
      return {taken.begin(), taken.end()};
    }
  }
  return {};
}

}  // namespace tilewright
