// The words of the text for kinds of storages and tasks, shared by its writer and its reader.
#pragma once

#include <optional>
#include <string_view>

#include "graph/regions/task.h"

namespace tilewright::graph {

inline std::string_view name_of(StorageKind kind) {
  switch (kind) {
    case StorageKind::input: return "input";
    case StorageKind::constant: return "constant";
    case StorageKind::result: return "result";
    case StorageKind::packed: return "packed";
  }
  return "";
}

inline std::string_view name_of(TaskKind kind) {
  switch (kind) {
    case TaskKind::pointwise: return "pointwise";
    case TaskKind::reduction: return "reduction";
    case TaskKind::contraction: return "contraction";
    case TaskKind::gather: return "gather";
    case TaskKind::scatter: return "scatter";
    case TaskKind::opaque: return "opaque";
  }
  return "";
}

// The kind of that name: enumerators are numbered from 0 on, and the first that has none is past
// the last.
template <typename Kind>
std::optional<Kind> parse_kind(std::string_view name) {
  for (int i = 0; !name_of(static_cast<Kind>(i)).empty(); ++i)
    if (name_of(static_cast<Kind>(i)) == name) return static_cast<Kind>(i);
  return std::nullopt;
}

}  // namespace tilewright::graph
