// The numbers of a graph (numbers.h): shapes, and attributes that count something. Lines of the
// user's program are form, as graphs are made of one another with them.
#pragma once

#include <type_traits>

#include "graph/ir/ir.h"
#include "graph/sizes/numbers.h"

namespace tilewright::graph {

template <typename Visitor, typename Value>
void visit_attribute(Visitor& visitor, Value& value) {
  using T = std::remove_const_t<Value>;
  if constexpr (std::same_as<T, Shape>)
    visit(visitor, value);
  else if constexpr (std::same_as<T, std::int64_t> || std::same_as<T, double>)
    visitor.number(value);
  else if constexpr (!Visitor::writes)
    add_attribute(visitor.hasher(), value);
}

template <typename Visitor, typename Record>
requires std::same_as<std::remove_const_t<Record>, Attributes>
void visit(Visitor& visitor, Record& attributes, AttributeFields read) {
  for_each_attribute(attributes, [&](AttributeField field, std::string_view, auto& value) {
    if (read.has(field)) visit_attribute(visitor, value);
  });
}

template <typename Visitor>
void visit_line(Visitor& visitor, const std::source_location& where) {
  if constexpr (!Visitor::writes) {
    visitor.form(reinterpret_cast<std::uintptr_t>(where.file_name()));
    visitor.form(where.line());
    visitor.form(where.column());
  }
}

void visit(NumberReader& visitor, const Graph& graph);
void visit(NumberWriter& visitor, Graph& graph);

// True if what is made of the graph follows from its form and its numbers: it applies nothing of
// the user's.
bool is_made_of_numbers(const Graph& graph);

}  // namespace tilewright::graph
