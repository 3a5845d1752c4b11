// The tokens that a file puts around every text, such as the one that begins it, and how many a
// text may have with them.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "models/tokenizer/fields.h"
#include "models/tokenizer/pre_tokenizer.h"

namespace tilewright::tokenizer {

// Gives the id of a token, or nothing; and whether there is a token of an id.
struct KnownTokens {
  std::function<std::optional<Id>(std::string_view)> id_of;
  std::function<bool(std::int64_t)> has_id;
};

class PostProcessor {
 public:
  PostProcessor() = default;
  // Reads the file's node, which may be null. Raises `Error` "[load_tokenizer] WHAT: ...".
  PostProcessor(std::string_view what, const json::Node* node, const KnownTokens& known);
  const std::vector<Id>& before() const { return before_; }
  const std::vector<Id>& after() const { return after_; }

 private:
  void read(Component& component, const KnownTokens& known);
  void read_template(Fields& fields, const KnownTokens& known);
  void read_pair(Fields& fields, std::string_view name, const KnownTokens& known,
                 std::vector<Id>& to);
  std::vector<Id> before_, after_;
};

// The file's truncation and padding. As for the library `tokenizers`, a text that stands alone is a
// batch of one, so padding to the longest only pads to a multiple.
class Lengths {
 public:
  Lengths() = default;
  // `around` is how many tokens the post-processor adds. Raises `Error` "[load_tokenizer] ...".
  Lengths(Fields& file, std::size_t around, const KnownTokens& known);
  // Leaves as many ids as have room with `around` others, in the length of the file or in `most`.
  // Raises `Error` "[encode] ..." where that is too short for the others, or the file cuts second
  // texts only.
  void truncate(std::vector<std::int64_t>& ids, std::size_t around,
                std::optional<std::int64_t> most = {}) const;
  void pad(std::vector<std::int64_t>& ids) const;

 private:
  void read_truncation(Fields fields, std::size_t around);
  void read_padding(Fields fields, const KnownTokens& known);
  std::optional<std::size_t> most_;
  bool cuts_begin_ = false, cuts_second_ = false;
  bool is_fixed_ = false;
  std::size_t length_ = 0, multiple_ = 1;  // the fixed length; the divisor of other lengths
  std::int64_t pad_id_ = 0;
  bool pads_begin_ = false;
};

}  // namespace tilewright::tokenizer
