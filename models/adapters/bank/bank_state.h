// The names, slots and layers of a bank, which its adapters and the choices of texts share behind
// one lock.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "models/adapters/bank/layer_bank.h"
#include "models/adapters/bank/text_slots.h"
#include "models/layers/module.h"

namespace tilewright {

namespace adapters {

inline constexpr std::string_view bank_operation = "adapters";

struct BankState {
  struct Entry {
    std::int64_t slot = 0;
    std::vector<std::string> parts;  // of a stack
  };

  // Waiting threads take turns, so that neither side keeps the other from the bank for good.
  std::shared_lock<std::shared_mutex> reading() const {
    const std::lock_guard turn(turns);
    return std::shared_lock(lock);
  }
  std::unique_lock<std::shared_mutex> writing() const {
    const std::lock_guard turn(turns);
    return std::unique_lock(lock);
  }
  // Raises `Error` that lists the names that are there.
  const Entry& entry(std::string_view name) const;
  // A slot that is free; raises `Error` where there is none.
  std::int64_t free_slot() const;
  // Raises `Error` for a name that is empty or not new.
  void require_new(std::string_view name) const;
  // Raises `Error` that an entry is a stack, which cannot be `what`.
  void require_no_stack(std::string_view name, std::string_view what) const;
  // Raises `Error` for an entry that is a part of a stack.
  void require_in_no_stack(std::string_view name) const;
  // All texts that have slot `from` have slot `to`. The lock is held.
  void move_texts(std::int64_t from, std::int64_t to);
  // By layer; a slot that is empty. Where a layer cannot hold its own, the slot is empty again.
  void hold(std::int64_t slot, const std::vector<LayerUpdate>& updates);
  void release(std::int64_t slot);
  void note_change(std::int64_t slot) { contents[static_cast<std::size_t>(slot)] = ++changes; }

  mutable std::shared_mutex lock;
  mutable std::mutex turns;
  std::map<std::string, Entry, std::less<>> entries;
  std::vector<std::shared_ptr<LayerBank>> layers;
  std::map<const Linear*, std::size_t> numbers;  // of layers
  std::vector<std::uint64_t> contents;           // by slot: the change that wrote it
  std::uint64_t changes = 0;
  std::set<TextSlots*> texts;
};

}  // namespace adapters
}  // namespace tilewright
