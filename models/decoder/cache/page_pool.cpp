#include "models/decoder/cache/page_pool.h"

#include <utility>

#include "runtime/base/error.h"

namespace tilewright {

PagePool::PagePool(LayerGroups groups, std::vector<KeyValueCache> slots, std::int64_t pages)
    : groups_(std::move(groups)),
      slots_(std::move(slots)),
      holders_(static_cast<std::size_t>(pages + CommonPages::count), 0) {
  check(!slots_.empty() && slots_.size() == groups_.slots && slots_[0].has_pages(),
        "a pool of pages without caches of pages");
  for (std::int64_t page = std::ssize(holders_); page-- > CommonPages::count;)
    free_.push_back(page);
  for (KeyValueCache& slot : slots_) {
    for (std::int64_t page = 0; page < CommonPages::count; ++page) slot.clear_page(page);
    slot.spoil_page(CommonPages::missing);
  }
}

std::int64_t PagePool::bytes_of_page() const {
  std::int64_t bytes = 0;
  for (const KeyValueCache& slot : slots_)
    for (const Tensor* part : slot.tensors())
      bytes += part->count() * tilewright::size_bytes(part->dtype());
  return bytes / static_cast<std::int64_t>(holders_.size());
}

void PagePool::to(const Device& device) {
  for (KeyValueCache& slot : slots_)
    for (Tensor* part : slot.tensors()) part->move_to(device);
}

std::int64_t PagePool::take() {
  check(!free_.empty(), "no page is free");
  const std::int64_t page = free_.back();
  // Rows behind the last of a text have the weight 0, which an infinity of the text that had the
  // page would make NaN.
  for (KeyValueCache& slot : slots_) slot.clear_page(page);
  free_.pop_back();
  holders_[static_cast<std::size_t>(page)] = 1;
  return page;
}

void PagePool::give_back(std::int64_t page) {
  if (--holders_[static_cast<std::size_t>(page)] == 0) free_.push_back(page);
}

void PagePool::copy(std::int64_t to, std::int64_t from) {
  for (KeyValueCache& slot : slots_) slot.copy_page(to, from);
}

}  // namespace tilewright
