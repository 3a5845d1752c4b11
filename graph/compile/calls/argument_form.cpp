#include "graph/compile/calls/argument_form.h"

#include <algorithm>

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

RecompileReason reason_of(FormKind kind) {
  return kind == FormKind::value ? RecompileReason::value : RecompileReason::structure;
}

std::string found_text(const FormFact& fact) {
  switch (fact.kind) {
    case FormKind::size:
      return concat(fact.place, ": it has ", fact.text,
                    fact.text == "1" ? " element" : " elements");
    case FormKind::keys: return concat(fact.place, ": its keys are ", fact.text);
    case FormKind::presence:
    case FormKind::definition: return concat(fact.place, ": it is ", fact.text);
    case FormKind::value: return concat(fact.place, " is ", fact.text);
  }
  check(false, "a fact of no kind");
  return {};
}

}  // namespace

std::string argument_text(int argument, const std::vector<std::string>& names) {
  auto i = static_cast<std::size_t>(argument);
  std::string text = concat("argument ", argument);
  return i < names.size() && !names[i].empty() ? concat(text, " '", names[i], "'") : text;
}

ArgumentForm form_of_tensors(std::size_t count, const std::vector<std::string>& names) {
  ArgumentForm form;
  for (int i = 0; i < static_cast<int>(count); ++i)
    form.places.push_back({i, argument_text(i, names)});
  return form;
}

std::string to_string(const FormFact& fact) { return found_text(fact); }

// Facts come in the order of the visit, which is the same up to the first that differs. A fact
// stands for all that it implies, such as the elements of a list.
std::vector<Difference> differences(const ArgumentForm& known, const ArgumentForm& call) {
  std::vector<Difference> result;
  for (const FormFact& fact : call.facts) {
    auto same_place = [&](const FormFact& other) {
      return other.place == fact.place && other.kind == fact.kind;
    };
    auto was = std::ranges::find_if(known.facts, same_place);
    if (was != known.facts.end() && was->text != fact.text)
      result.push_back({.reason = reason_of(fact.kind),
                        .argument = fact.argument,
                        .found = found_text(fact),
                        .expected = was->text});
  }
  return result;
}

}  // namespace tilewright::graph
