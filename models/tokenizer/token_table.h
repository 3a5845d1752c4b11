// Tokens and their ids, and the merges of byte-pair encoding, in a few blocks of memory each: a
// file of 64 MB may hold four million of them, and is not to take a gigabyte.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "models/tokenizer/pre_tokenizer.h"
#include "models/tokenizer/text/slots.h"

namespace tilewright::tokenizer {

// Texts one after the other, by the order they came in.
class Texts {
 public:
  std::size_t size() const { return ends_.size(); }
  std::string_view operator[](std::size_t i) const {
    std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {bytes_.data() + begin, ends_[i] - begin};
  }
  void push_back(std::string_view text) {
    bytes_.insert(bytes_.end(), text.begin(), text.end());
    ends_.push_back(static_cast<std::uint32_t>(bytes_.size()));
  }

 private:
  std::vector<char> bytes_;  // files have less than 2^32
  std::vector<std::uint32_t> ends_;
};

// The outcome of adding an entry. `hostile`: entries were chosen so that finding them takes long.
enum class Adding : std::uint8_t { done, twice, hostile };

class TokenTable {
 public:
  std::size_t size() const { return ids_.size(); }
  std::string_view text(std::size_t entry) const { return texts_[entry]; }
  Id id(std::size_t entry) const { return ids_[entry]; }
  std::optional<Id> find(std::string_view token) const {
    auto entry = entry_of(token);
    return entry ? std::optional(ids_[*entry]) : std::nullopt;
  }
  [[nodiscard]] Adding add(std::string_view token, Id id) {
    if (entry_of(token)) return Adding::twice;
    bool is_fast = slots_.add(hash(token), static_cast<std::uint32_t>(size()));
    texts_.push_back(token);
    ids_.push_back(id);
    return is_fast ? Adding::done : Adding::hostile;
  }

 private:
  static std::uint64_t hash(std::string_view token) { return std::hash<std::string_view>()(token); }
  std::optional<std::uint32_t> entry_of(std::string_view token) const {
    return slots_.find(hash(token), [&](std::uint32_t entry) { return texts_[entry] == token; });
  }

  Texts texts_;
  std::vector<Id> ids_;
  Slots slots_;
};

struct Merge {
  std::uint32_t rank;  // the lowest is applied first
  Id result;
};

// Which pairs of tokens are merged; their ranks are in the order they came in.
class Merges {
 public:
  std::size_t size() const { return entries_.size(); }
  std::optional<Merge> find(Id left, Id right) const {
    auto rank = slots_.find(hash(left, right), [&](std::uint32_t entry) {
      return entries_[entry].left == left && entries_[entry].right == right;
    });
    if (!rank) return std::nullopt;
    return Merge{*rank, entries_[*rank].result};
  }
  [[nodiscard]] Adding add(Id left, Id right, Id result) {
    if (find(left, right)) return Adding::twice;
    bool is_fast = slots_.add(hash(left, right), static_cast<std::uint32_t>(size()));
    entries_.push_back({left, right, result});
    return is_fast ? Adding::done : Adding::hostile;
  }
  void reserve(std::size_t count) { entries_.reserve(count); }

 private:
  struct Entry {
    Id left, right, result;
  };
  static std::uint64_t hash(Id left, Id right) {
    auto pair = static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
                static_cast<std::uint32_t>(right);
    pair *= 0x9e3779b97f4a7c15;
    return pair ^ pair >> 32;
  }

  std::vector<Entry> entries_;
  Slots slots_;
};

}  // namespace tilewright::tokenizer
