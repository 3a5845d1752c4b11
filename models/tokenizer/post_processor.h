// The tokens that a file puts around every text, such as the one that begins it.
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

}  // namespace tilewright::tokenizer
