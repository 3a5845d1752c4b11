// Memory for the keys and values of many texts, in pages that they take as they grow and give back
// when they end, or when the windows of layers have passed them. Texts that begin alike share pages
// (Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention",
// 2023).
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "models/decoder/cache/key_value_cache.h"
#include "models/decoder/cache/layer_groups.h"

namespace tilewright {

// Not thread safe: the states of one pool are used by one thread at a time.
class PagePool {
 public:
  static constexpr std::int64_t page_rows = 64;
  // Pages that so many rows of a text take.
  static constexpr std::int64_t pages_of(std::int64_t rows) {
    return (rows + page_rows - 1) / page_rows;
  }

  // A page has rows of one group of layers, each of which has a slot: a cache of `pages` pages and
  // the CommonPages (KeyValueCache::allocate_pages). For models: others ask
  // LanguageModel::new_pages.
  PagePool(LayerGroups groups, std::vector<KeyValueCache> slots, std::int64_t pages);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  std::int64_t pages() const { return std::ssize(holders_) - CommonPages::count; }
  std::int64_t free_pages() const { return static_cast<std::int64_t>(free_.size()); }
  std::int64_t bytes_of_page() const;
  Device device() const { return slots_[0].values.device(); }
  void to(const Device& device);

  // A page that nobody has, of zeros. There must be one.
  std::int64_t take();
  void share(std::int64_t page) { ++holders_[static_cast<std::size_t>(page)]; }
  void give_back(std::int64_t page);
  bool is_shared(std::int64_t page) const { return holders_[static_cast<std::size_t>(page)] > 1; }
  void copy(std::int64_t to, std::int64_t from);  // all rows of a page

  const LayerGroups& groups() const { return groups_; }
  const KeyValueCache& slot(std::size_t slot) const { return slots_[slot]; }
  // The user of this pool's states (DecodingState::Use).
  std::atomic<const void*>& user() { return user_; }

 private:
  LayerGroups groups_;
  std::vector<KeyValueCache> slots_;
  std::vector<std::int64_t> holders_;  // of each page
  std::vector<std::int64_t> free_;     // the last one is taken first
  std::atomic<const void*> user_ = nullptr;
};

}  // namespace tilewright
