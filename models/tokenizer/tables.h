// What a tokenizer.json says, checked and in the form that encoding and decoding need.
//
// Reading the file (load.cpp), the merging of pairs (merge_pairs.cpp) and the public face
// (tokenizer.cpp) meet here and nowhere else.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tilewright::tokenizer {

using Id = std::int32_t;

struct Merge {
  Id left, right, result;
};

struct AddedToken {
  std::string content;
  Id id;
};

struct Replacement {
  std::string pattern, content;
};

struct Tables {
  std::vector<std::string> tokens;  // by id
  std::unordered_map<std::string, Id> ids;
  std::vector<bool> is_special;  // by id

  std::vector<Merge> merges;                              // by rank: the first is applied first
  std::unordered_map<std::uint64_t, std::uint32_t> rank;  // of a pair, see `pair_key`
  std::array<Id, 256> byte_ids;                           // of "<0x41>"; -1: there is none
  std::vector<std::int16_t> byte_of;                      // by id; -1: not a byte token
  bool byte_fallback = false, fuse_unknown = false;
  Id unknown = -1;

  std::string prepend;                    // before encoding, to text that is not empty
  std::vector<Replacement> replacements;  // then these, in order
  std::vector<AddedToken> added;          // sorted by content
  std::vector<Id> before, after;          // what the template puts around a text

  std::vector<Replacement> decoded;  // of every token, in order
  bool decode_bytes = false;         // byte tokens give their byte
  char strip = 0;                    // this leading character goes,
  std::int64_t strip_count = 0;      // up to so many times
};

inline std::uint64_t pair_key(Id left, Id right) {
  return static_cast<std::uint64_t>(static_cast<std::uint32_t>(left)) << 32 |
         static_cast<std::uint32_t>(right);
}

// Raises `Error` "[load_tokenizer] what: ...".
Tables load_tables(std::string_view text, std::string_view what);

// Merges adjacent pairs in `ids`, always the one of lowest rank, the leftmost of equals, until no
// pair is in the table. O(n log n).
void merge_pairs(const Tables& tables, std::vector<Id>& ids);

// `text` with every occurrence of the pattern replaced; raises `Error` where the result passes
// `limit` bytes.
std::string replace_all(std::string_view text, const Replacement& replacement, std::size_t limit);

}  // namespace tilewright::tokenizer
