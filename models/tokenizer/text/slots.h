// The slots of a hash table whose entries are stored elsewhere, one after the other.
//
// An untrusted vocabulary may have four million entries. Nodes, as in std::unordered_map, would
// take a hundred bytes and several cache misses each; this takes sixteen bytes and mostly one cache
// miss, and entries are as small as their owner makes them.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace tilewright::tokenizer {

class Slots {
 public:
  // The number of an entry with that hash for which `is_it(number)` holds.
  template <typename IsIt>
  std::optional<std::uint32_t> find(std::uint64_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return std::nullopt;
    std::size_t at = hash & mask();
    for (std::size_t step = 1; slots_[at].number != none; at = (at + step++) & mask())
      if (slots_[at].hash == static_cast<std::uint32_t>(hash) && is_it(slots_[at].number))
        return slots_[at].number;
    return std::nullopt;
  }
  // Adds an entry that is not there yet. Returns false if hashes collide so often that finding
  // entries would take long, as when a stranger chose the entries for that.
  [[nodiscard]] bool add(std::uint64_t hash, std::uint32_t number) {
    if (4 * (count_ + 1) > 3 * slots_.size()) grow();
    place({static_cast<std::uint32_t>(hash), number});
    ++count_;
    return steps_ <= 8 * count_ + 4096;
  }

 private:
  static constexpr std::uint32_t none = 0xffffffff;
  struct Slot {
    std::uint32_t hash, number;  // the hash's lower half says the place, in tables below 2^32
  };
  std::size_t mask() const { return slots_.size() - 1; }  // a power of two less one
  void place(Slot slot) {
    std::size_t at = slot.hash & mask();
    for (std::size_t step = 1; slots_[at].number != none; at = (at + step++) & mask()) ++steps_;
    slots_[at] = slot;
  }
  void grow() {
    std::vector<Slot> before(slots_.empty() ? 64 : 2 * slots_.size(), Slot{0, none});
    before.swap(slots_);
    steps_ = 0;
    for (Slot slot : before)
      if (slot.number != none) place(slot);
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0, steps_ = 0;  // of `place`, beyond the first
};

}  // namespace tilewright::tokenizer
