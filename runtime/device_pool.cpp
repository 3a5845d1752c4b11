#include "runtime/device_pool.h"

#include <algorithm>

#include "runtime/base/text/number_text.h"

namespace tilewright {
namespace {

constexpr std::int64_t mib = 1 << 20;
constexpr std::int64_t grain = 512;
constexpr std::size_t owners_named = 10;
// The stream of segments that are free for all.
constexpr char free_for_all = 0;
constexpr const void* nobody = &free_for_all;

thread_local std::string_view owner_of_thread;

std::int64_t round_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

// The size of segments that a block is cut from; 0: it has a segment for itself.
std::int64_t segment_of(std::int64_t bytes) {
  if (bytes < mib) return 2 * mib;
  return bytes < 16 * mib ? 32 * mib : 0;
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1024 && unit < 4; ++unit) value /= 1024;
  return fixed_text(value, value < 10 && unit > 0 ? 1 : 0) + " " + units[unit];
}

struct DevicePool::Block {
  char* address;
  std::int64_t bytes;
  const void* stream;
  std::int64_t kind;  // size of the segment's kind
  bool is_free = true;
  Block *before = nullptr, *after = nullptr;  // neighbours in the segment
  std::string owner = {};
};

bool DevicePool::SmallestFirst::operator()(const Block* a, const Block* b) const {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->address < b->address;
}

DevicePool::Free& DevicePool::free_of(const Block& block) {
  return free_[{block.stream, block.kind}];
}

void* DevicePool::take(std::int64_t bytes, const void* stream, std::string_view owner) {
  std::lock_guard lock(mutex_);
  bytes = round_up(std::max<std::int64_t>(bytes, 1), grain);
  Block* block = cut_from_free(bytes, stream);
  if (block == nullptr) block = new_segment(bytes, stream);
  if (block == nullptr) {
    release_free_segments();
    block = new_segment(bytes, stream);
  }
  if (block == nullptr) return nullptr;
  block->is_free = false;
  block->owner = owner;
  statistics_.used_bytes += block->bytes;
  statistics_.peak_used_bytes = std::max(statistics_.peak_used_bytes, statistics_.used_bytes);
  return block->address;
}

DevicePool::Block* DevicePool::cut_from_free(std::int64_t bytes, const void* stream) {
  for (const void* of : {stream, nobody}) {
    auto found = free_.find({of, segment_of(bytes)});
    if (found == free_.end()) continue;
    Block wanted{nullptr, bytes, of, 0, true};
    auto fits = found->second.lower_bound(&wanted);
    // A segment of a large block is used again only for a block that nearly fills it.
    if (fits == found->second.end() ||
        (segment_of(bytes) == 0 && (*fits)->bytes > bytes + bytes / 4 + 2 * mib))
      continue;
    Block* block = *fits;
    found->second.erase(fits);
    block->stream = stream;
    if (segment_of(bytes) != 0) cut(block, bytes);
    return block;
  }
  return nullptr;
}

// The rest of a block becomes a free one.
void DevicePool::cut(Block* block, std::int64_t bytes) {
  if (block->bytes == bytes) return;
  auto rest = std::make_unique<Block>(
      Block{block->address + bytes, block->bytes - bytes, block->stream, block->kind});
  rest->before = block;
  rest->after = block->after;
  if (rest->after != nullptr) rest->after->before = rest.get();
  block->after = rest.get();
  block->bytes = bytes;
  free_of(*rest).insert(rest.get());
  blocks_.emplace(rest->address, std::move(rest));
}

DevicePool::Block* DevicePool::new_segment(std::int64_t bytes, const void* stream) {
  std::int64_t kind = segment_of(bytes);
  std::int64_t size = kind == 0 ? round_up(bytes, 2 * mib) : kind;
  auto block = std::make_unique<Block>(Block{nullptr, size, stream, kind});
  block->address = static_cast<char*>(source_.allocate(size));
  if (block->address == nullptr) return nullptr;
  statistics_.segment_bytes += size;
  ++statistics_.segments_taken;
  Block* result = block.get();
  blocks_.emplace(result->address, std::move(block));
  if (kind != 0) cut(result, bytes);
  return result;
}

void DevicePool::give_back(void* address) noexcept {
  std::lock_guard lock(mutex_);
  auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second->is_free) return;
  Block* block = found->second.get();
  statistics_.used_bytes -= block->bytes;
  block->is_free = true;
  block->owner.clear();
  // Takes the block after `first` into it.
  auto join = [&](Block* first) {
    Block* second = first->after;
    first->bytes += second->bytes;
    first->after = second->after;
    if (first->after != nullptr) first->after->before = first;
    blocks_.erase(second->address);
  };
  if (block->after != nullptr && block->after->is_free) {
    free_of(*block).erase(block->after);
    join(block);
  }
  if (block->before != nullptr && block->before->is_free) {
    block = block->before;
    free_of(*block).erase(block);
    join(block);
  }
  free_of(*block).insert(block);
}

void DevicePool::release_free_segments() {
  for (auto& [key, free] : free_)
    for (auto it = free.begin(); it != free.end();) {
      Block* block = *it;
      if (block->before != nullptr || block->after != nullptr) {
        ++it;
        continue;
      }
      it = free.erase(it);
      statistics_.segment_bytes -= block->bytes;
      source_.free(block->address);
      blocks_.erase(block->address);
    }
}

void DevicePool::hand_over(const void* from, const void* to) {
  std::lock_guard lock(mutex_);
  for (auto& [address, block] : blocks_) {
    if (block->stream != from) continue;
    bool is_segment = block->before == nullptr && block->after == nullptr;
    block->stream = block->is_free && is_segment ? nobody : to;
    if (block->is_free) free_of(*block).insert(block.get());
  }
  std::erase_if(free_, [from](const auto& entry) { return entry.first.first == from; });
}

void DevicePool::release_cached() {
  std::lock_guard lock(mutex_);
  release_free_segments();
}

DevicePool::DevicePool(SegmentSource& source) : source_(source) {}
DevicePool::~DevicePool() { release_free_segments(); }

DevicePoolStatistics DevicePool::statistics() const {
  std::lock_guard lock(mutex_);
  return statistics_;
}

std::int64_t DevicePool::bytes_of(std::string_view owner) const {
  std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const auto& [address, block] : blocks_)
    if (!block->is_free && block->owner == owner) bytes += block->bytes;
  return bytes;
}

std::string DevicePool::shortage() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, std::int64_t> by_owner;
  std::int64_t free = 0;
  for (const auto& [address, block] : blocks_)
    (block->is_free ? free : by_owner[block->owner.empty() ? "tensors" : block->owner]) +=
        block->bytes;
  std::vector<std::pair<std::int64_t, std::string>> owners;
  for (const auto& [name, bytes] : by_owner) owners.emplace_back(bytes, name);
  std::ranges::sort(owners, std::greater());
  std::string text = bytes_text(statistics_.used_bytes) + " are in use";
  for (std::size_t i = 0; i < std::min(owners.size(), owners_named); ++i)
    text += (i == 0 ? " (by " : ", ") + owners[i].second + " " + bytes_text(owners[i].first);
  if (!owners.empty()) text += ")";
  return text + ", " + bytes_text(free) + " lie free in pieces";
}

MemoryOwner::MemoryOwner(std::string_view name) : former_(owner_of_thread) {
  owner_of_thread = name;
}
MemoryOwner::~MemoryOwner() { owner_of_thread = former_; }
std::string_view MemoryOwner::current() { return owner_of_thread; }

}  // namespace tilewright
