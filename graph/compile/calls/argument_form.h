// The form of a call's arguments: what they are besides the tensors in them (structure.h).
//
// How many elements a list has, which keys a map, what is present, which values of the host there
// are. A plan is compiled for arguments of one form, as it is for their shapes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/compile/calls/contract.h"

namespace tilewright::graph {

enum class FormKind : std::uint8_t {
  size,        // of a vector
  keys,        // of a map
  presence,    // of an optional's value
  definition,  // whether a tensor is defined
  value        // of the host
};
// One thing about the form of a call's arguments.
struct FormFact {
  FormKind kind;
  int argument;
  std::string place;  // "argument 0 'batch'.1[2]"
  std::string text;   // "3", "'a', 'b'", "absent"
};
struct ArgumentPlace {
  int argument;
  std::string text;  // "argument 0 'batch'.1[2]", and of a plain tensor "argument 0 'x'"
};
struct ArgumentForm {
  std::string key = {};               // calls of one function with one key have one form
  std::vector<ArgumentPlace> places;  // of the tensors
  std::vector<FormFact> facts;
};
// The form of arguments that are tensors and nothing else. Names beyond the last are unknown.
ArgumentForm form_of_tensors(std::size_t count, const std::vector<std::string>& names);
std::string argument_text(int argument, const std::vector<std::string>& names);
// "argument 0: it has 3 elements"
std::string to_string(const FormFact& fact);
// How the call differs from the known form of the same function.
std::vector<Difference> differences(const ArgumentForm& known, const ArgumentForm& call);

}  // namespace tilewright::graph
