// Which custom op a node applies: an attribute of the node, and all that the graph knows of one.
//
// The graph owns the objects that its nodes refer to, so a definition lives as long as a graph, a
// task list or a program that uses it. Two references are equal if their identities are, so that a
// definition that is made again from the same parts, as that of a launch inside compile(), is the
// same op.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/base/hash.h"

namespace tilewright::graph {

struct CustomDefinition;  // graph/custom/definition.h

class CustomReference {
 public:
  CustomReference() = default;  // of a node that applies none
  explicit CustomReference(std::shared_ptr<const CustomDefinition> definition);

  bool is_defined() const { return definition_ != nullptr; }
  const CustomDefinition& operator*() const { return *definition_; }
  const CustomDefinition* operator->() const { return definition_.get(); }
  const std::string& name() const;  // of one that is defined
  std::string text() const;         // the name, and the settings of a library function: name(..)
  bool is_of_library() const;       // a function of the library (graph/functions/named)
  // True if results are its first operand, changed.
  bool changes_operand() const;
  const Hash& identity() const { return identity_; }
  bool operator==(const CustomReference& other) const { return identity_ == other.identity_; }

 private:
  std::shared_ptr<const CustomDefinition> definition_;
  Hash identity_;
};

// The latest definition of that name that still lives; undefined without one.
CustomReference custom_named(const std::string& name);
// The library's function of that name with these settings; undefined where there is none. Raises
// `Error` for settings that do not read. Defined in graph/functions/named.
CustomReference function_named(std::string_view name, std::string_view settings);

}  // namespace tilewright::graph
