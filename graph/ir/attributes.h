// The needs of an op besides its operands.
//
// All ops share one record. A struct an op would make the reader of a node ask first which one it
// holds, and would cost a new op a type, its text and its hash; here a new op costs the names of
// the fields it reads, in its row of ops.def, and a new field costs its row of attributes.def.
// Code that goes over all fields (equality, hash, text, parser) is made from that list, so that
// none can be forgotten: programs that differ in an omitted field would be taken for each other. A
// field that an op does not read must keep its default, which the builder, the parser and the
// verifier see to (`infer`): equal meanings are equal records, and the text shows all there is.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <vector>

#include "dsl/ir/op.h"
#include "graph/ir/bodies.h"
#include "graph/ir/custom_reference.h"
#include "runtime/base/hash.h"
#include "runtime/base/shape.h"

namespace tilewright::graph {

struct Attributes {
#define TILEWRIGHT_GRAPH_ATTRIBUTE(type, name, initial) type name = initial;
#include "graph/ir/attributes.def"
#undef TILEWRIGHT_GRAPH_ATTRIBUTE
  bool operator==(const Attributes& other) const;
};

// Fields of the record, as one bit each.
enum class AttributeField : std::uint8_t {
#define TILEWRIGHT_GRAPH_ATTRIBUTE(type, name, initial) name,
#include "graph/ir/attributes.def"
#undef TILEWRIGHT_GRAPH_ATTRIBUTE
};
struct AttributeFields {
  std::uint32_t bits = 0;
  constexpr bool has(AttributeField field) const {
    return (bits >> static_cast<unsigned>(field) & 1) != 0;
  }
};

// The fields by name, for the rows of ops.def: `axes | number`, or `none`.
namespace reads {
constexpr AttributeFields none{};
#define TILEWRIGHT_GRAPH_ATTRIBUTE(type, name, initial) \
  constexpr AttributeFields name{1U << static_cast<unsigned>(AttributeField::name)};
#include "graph/ir/attributes.def"
#undef TILEWRIGHT_GRAPH_ATTRIBUTE
constexpr AttributeFields operator|(AttributeFields a, AttributeFields b) {
  return {a.bits | b.bits};
}
}  // namespace reads

// f(field, its name, value) for each field in order; the value is const where the record is.
template <typename Record, typename F>
requires std::same_as<std::remove_const_t<Record>, Attributes>
void for_each_attribute(Record& attributes, F&& f) {
#define TILEWRIGHT_GRAPH_ATTRIBUTE(type, name, initial) \
  f(AttributeField::name, std::string_view(#name), attributes.name);
#include "graph/ir/attributes.def"
#undef TILEWRIGHT_GRAPH_ATTRIBUTE
}

// True if two values of a field are one. Numbers are by their bits: 0 and -0 differ, and a NaN is
// equal to itself.
template <typename T>
bool is_same_attribute(const T& a, const T& b) {
  if constexpr (std::floating_point<T>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
  else
    return a == b;
}

inline bool Attributes::operator==(const Attributes& other) const {
#define TILEWRIGHT_GRAPH_ATTRIBUTE(type, name, initial) \
  if (!is_same_attribute(name, other.name)) return false;
#include "graph/ir/attributes.def"
#undef TILEWRIGHT_GRAPH_ATTRIBUTE
  return true;
}

bool is_default(AttributeField field, const Attributes& attributes);
// The name of a field outside `fields` that differs from its default; empty: all have their
// defaults.
std::string_view unread_attribute(const Attributes& attributes, AttributeFields fields);

template <typename T>
void add_attribute(Hasher& hasher, const T& value) {
  hasher.add(value);
}
// Adds nothing without a definition, so that keys of other ops in databases stay.
inline void add_attribute(Hasher& hasher, const CustomReference& custom) {
  if (custom.is_defined()) hasher.add(custom.identity());
}
inline void add_attribute(Hasher& hasher, const Bodies& bodies) { bodies.add_to(hasher); }

inline void add_attributes(Hasher& hasher, const Attributes& attributes) {
  for_each_attribute(attributes, [&](AttributeField field, std::string_view, const auto& value) {
    const bool is_new = field == AttributeField::carried || field == AttributeField::sliced;
    if (!is_new || !attributes.bodies.empty()) add_attribute(hasher, value);
  });
}

}  // namespace tilewright::graph
