// A pool of device memory: large segments from a source, cut into blocks that are used again.
//
// Asking a device for memory takes long and stops its work, so a program does it only while it
// grows. A block goes back to the pool when its owner is done with it on the host, which may be
// before the device is: it is handed out again only to the same stream (an order of work), where
// its next use comes after its last one.
//
//   segments   2 MiB for blocks below 1 MiB, 32 MiB below 16 MiB, else as large as the block
//   blocks     multiples of 512 bytes; the smallest free one of the stream that fits is cut, and
//              neighbours that are free become one again
//
// Where the source has nothing left, segments that are wholly free go back to it and it is asked
// again. If that fails too, the error reports how much is in use, by which owners, and how much is
// free but fragmented.
//
// The pool knows no device: the source is an interface, and tests give it one of their own.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright {

class SegmentSource {
 public:
  virtual ~SegmentSource() = default;
  virtual void* allocate(std::int64_t bytes) = 0;  // null where there is too little
  virtual void free(void* segment) noexcept = 0;   // of work that may not be finished: waits for it
};

struct DevicePoolStatistics {
  std::int64_t used_bytes = 0, peak_used_bytes = 0;  // of blocks that are out
  std::int64_t segment_bytes = 0;                    // taken from the source
  std::int64_t segments_taken = 0;                   // ever
};

// Thread safe.
class DevicePool {
 public:
  explicit DevicePool(SegmentSource& source);
  ~DevicePool();
  DevicePool(const DevicePool&) = delete;
  DevicePool& operator=(const DevicePool&) = delete;

  // Null where even giving free segments back did not help. `owner` is named in shortage().
  void* take(std::int64_t bytes, const void* stream, std::string_view owner);
  void give_back(void* block) noexcept;
  // `from` has finished all its work and no longer exists: its blocks, free or not, become those of
  // `to`, and its wholly free segments go to the first that asks.
  void hand_over(const void* from, const void* to);
  void release_cached();  // wholly free segments go back to the source
  DevicePoolStatistics statistics() const;
  std::int64_t bytes_of(std::string_view owner) const;  // that are out
  // "3 GiB are in use (most by weights 2 GiB, arena 1 GiB), 12 MiB lie free in pieces"
  std::string shortage() const;

 private:
  struct Block;
  struct SmallestFirst {
    bool operator()(const Block* a, const Block* b) const;
  };
  using Free = std::set<Block*, SmallestFirst>;

  Block* cut_from_free(std::int64_t bytes, const void* stream);
  Block* new_segment(std::int64_t bytes, const void* stream);
  void release_free_segments();
  void cut(Block* block, std::int64_t bytes);
  Free& free_of(const Block& block);

  SegmentSource& source_;
  mutable std::mutex mutex_;
  std::map<std::pair<const void*, std::int64_t>, Free> free_;  // by stream and kind of segment
  std::map<const void*, std::unique_ptr<Block>> blocks_;       // by address
  DevicePoolStatistics statistics_;
};

// Names the owner of the memory that this thread takes meanwhile.
class MemoryOwner {
 public:
  explicit MemoryOwner(std::string_view name);  // must outlive the object
  ~MemoryOwner();
  MemoryOwner(const MemoryOwner&) = delete;
  MemoryOwner& operator=(const MemoryOwner&) = delete;
  static std::string_view current();

 private:
  std::string_view former_;
};

// "1.5 GiB", "12 KiB", "17 bytes"
std::string bytes_text(std::int64_t bytes);

}  // namespace tilewright
