// A table that keeps the most recently used entries, up to a number of entries and of bytes.
//
// Plans, compiled kernels and loaded modules are found again by a key. Each is made in milliseconds
// or more and used in microseconds or less, and a process that meets new shapes for ever would make
// ever more of them. So a table of them drops the least recently used. Its values are shared: a
// running value is owned by its caller for that long, and only the end of the last owner destroys
// it.
//
// A hit must cost no more than one of a hash table, and run beside others under a shared lock. So
// entries stand in no list that a hit would change: each has the number of the insertion after
// which it was last found. That is written once after each insertion, and only compared by all
// other hits. An insertion looks for the oldest among all entries: some ten microseconds for
// thousands of them, where the inserted value took milliseconds to make.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/base/hash.h"
#include "runtime/kept/bounds.h"

namespace tilewright {

// Calls of `find` may run beside each other, and beside none of another function.
template <typename Value>
class BoundedTable {
 public:
  using Shared = std::shared_ptr<Value>;

  // Null: not in the table.
  Shared find(const Hash& key) const {
    auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    const Entry& entry = found->second;
    if (entry.used.load(std::memory_order_relaxed) != insertions_)
      entry.used.store(insertions_, std::memory_order_relaxed);
    return entry.value;
  }

  // Keeps a value under a key that the table does not have. Returns the dropped values, which the
  // caller releases when it holds no lock. The new value stays, however large it is.
  [[nodiscard]] std::vector<Shared> insert(const Hash& key, Shared value, std::int64_t bytes,
                                           const Bounds& bounds) {
    std::vector<Shared> given_up;
    while (!entries_.empty() && (size() >= bounds.count || bytes_ + bytes > bounds.bytes))
      given_up.push_back(take_oldest());
    ++insertions_;
    entries_.try_emplace(key, std::move(value), bytes, insertions_);
    bytes_ += bytes;
    return given_up;
  }

  std::int64_t size() const { return static_cast<std::int64_t>(entries_.size()); }
  std::int64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    Entry(Shared made, std::int64_t size_bytes, std::uint64_t number)
        : value(std::move(made)), bytes(size_bytes), used(number) {}
    Shared value;
    std::int64_t bytes;
    mutable std::atomic<std::uint64_t> used;  // the number of insertions when it was last found
  };

  Shared take_oldest() {
    auto used = [](const auto& entry) { return entry.second.used.load(std::memory_order_relaxed); };
    auto oldest = std::ranges::min_element(entries_, {}, used);
    Shared value = std::move(oldest->second.value);
    bytes_ -= oldest->second.bytes;
    entries_.erase(oldest);
    return value;
  }

  std::unordered_map<Hash, Entry> entries_;
  std::int64_t bytes_ = 0;
  std::uint64_t insertions_ = 0;
};

}  // namespace tilewright
