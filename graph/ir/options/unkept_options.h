// Options of compile() that do not hold for a part of a function, as they are found while it is
// compiled: where, and why.
//
// Code that plans a part of a function knows best what an option cannot do for it, but not which
// function is compiled, or how that is reported. It notes a sentence; compiling opens a scope on
// the thread and takes the notes. Without a scope, as in eager mode, notes are dropped.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tilewright {

struct UnkeptOption {
  std::string option;    // "mode"
  std::string sentence;  // what does not hold, where and why, and the way out
  bool operator==(const UnkeptOption&) const = default;
};

namespace graph {

class UnkeptOptions {
 public:
  UnkeptOptions();
  ~UnkeptOptions();
  UnkeptOptions(const UnkeptOptions&) = delete;
  UnkeptOptions& operator=(const UnkeptOptions&) = delete;
  // In the innermost scope of this thread, once.
  static void note(std::string_view option, std::string sentence);
  std::vector<UnkeptOption> take() { return std::move(notes_); }

 private:
  UnkeptOptions* around_;
  std::vector<UnkeptOption> notes_;
};

// Adds those that are not in the list.
void add(std::vector<UnkeptOption>& list, const std::vector<UnkeptOption>& more);

}  // namespace graph
}  // namespace tilewright
