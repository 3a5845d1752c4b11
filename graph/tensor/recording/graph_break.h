// Graph breaks: what a function does that no graph can express.
//
// Where a capture may break, a `Break` ends a segment (graph/tensor/capture.h); where it may not,
// it is an exception.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>

#include "runtime/base/error.h"

namespace tilewright::graph {

// While it lives, the thread runs a node of a foreign program (models/exported, models/onnx), whose
// lines say more of a break, and of an index that is outside, than those of the code that runs it.
// If they nest, the innermost counts. Costs next to nothing where nobody asks for its text.
class ForeignNode {
 public:
  // The text names the program's file too, unless that is empty.
  using Text = std::string (*)(const void* node, std::string_view file);
  // `file` must live as long as this.
  ForeignNode(const void* node, Text text, std::string_view file = {});
  ~ForeignNode();
  ForeignNode(const ForeignNode&) = delete;
  ForeignNode& operator=(const ForeignNode&) = delete;
  static std::string current();            // its text, or nothing
  static std::string current_with_file();  // the same

 private:
  const void* node_;
  Text text_;
  std::string_view file_;
  const ForeignNode* outer_;
};

// An error in values that a node of a foreign program has recorded. Its message names that node;
// another one may be running when the values are computed.
class ForeignNodeError : public Error {
 public:
  using Error::Error;
};

// Finds which node of a foreign program records a node of a graph: while it lives, captures of this
// thread are watched.
class RecorderOf {
 public:
  explicit RecorderOf(std::uint32_t node);
  ~RecorderOf();
  RecorderOf(const RecorderOf&) = delete;
  RecorderOf& operator=(const RecorderOf&) = delete;
  const std::string& text() const { return text_; }  // ForeignNode::current_with_file()
  static void note(std::uint32_t node);              // that it was recorded

 private:
  std::uint32_t node_;
  std::string text_;
  RecorderOf* outer_;
};

// The operation that breaks the graph, what it does, and where: "item", "reads data". Those of a
// user's call (graph/ir/user_call.h) in their place, if there is one.
struct Break {
  Break(std::string_view operation, std::string_view reason, std::source_location where);
  std::string_view operation, reason;  // literals
  std::source_location where;          // of line 0 where the operation is not given the user's
  std::string node = ForeignNode::current();
};

class GraphBreak : public Error {
 public:
  GraphBreak(const std::string& message, const Break& at_) : Error(message), at(at_) {}
  Break at;
};
// A read of data that a capture does not know.
class DataReadError : public GraphBreak {
 public:
  DataReadError(std::string_view operation, std::source_location where);
};
// A question about the memory of a tensor that has none yet.
class PlacingError : public GraphBreak {
 public:
  PlacingError(std::string_view operation, std::source_location where);
};

}  // namespace tilewright::graph
