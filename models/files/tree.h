// A small JSON document as a value: for configuration files, whose size is limited beforehand.
//
// Big parts of a document (a vocabulary) can be diverted to a receiver of their own and then never
// become nodes. Duplicate keys are refused: parsers that keep the first and parsers that keep the
// last would see two different files.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "models/files/reader.h"

namespace tilewright::json {

struct Node {
  enum class Kind : std::uint8_t { scalar, array, object, diverted };
  Kind kind = Kind::scalar;
  Scalar scalar;
  std::vector<Node> items;                            // of an array
  std::vector<std::pair<std::string, Node>> members;  // of an object, in the order of the text

  // The member of that name, or nothing (also where this is no object).
  const Node* find(std::string_view name) const;
  bool is_null() const { return kind == Kind::scalar && scalar.kind == Scalar::Kind::null; }
  bool is_string() const { return kind == Kind::scalar && scalar.kind == Scalar::Kind::string; }
  bool is_integer() const { return kind == Kind::scalar && scalar.kind == Scalar::Kind::integer; }
};
std::string describe(const Node& node);  // for messages: "an object", "\"relu\"", ...

// The value found at a path of keys ("model/vocab") goes to `events` instead.
struct Diversion {
  std::string path;
  Events* events;
};
// The array or object found at a path is not kept: each element, or member by its key, is a tree of
// its own that goes to `visit` once it is whole. So a list of any length takes the memory of one.
struct Each {
  std::string path;
  std::function<void(std::string_view key, Node value)> visit;
};
Node read_tree(std::string_view text, std::string_view operation, std::string_view what,
               const Limits& limits, const std::vector<Diversion>& diversions = {},
               const std::vector<Each>& each = {});

}  // namespace tilewright::json
