#include "graph/functions/differentiating/body_text.h"

#include <algorithm>

#include "graph/ir/text.h"
#include "runtime/base/error.h"

namespace tilewright::graph {

std::string body_text(const Graph& body) {
  std::string text = print(body);
  std::ranges::replace(text, '\n', ';');
  return concat("<", text, ">");
}

Graph body_from_text(std::string_view text, std::string_view operation) {
  require(text.starts_with('<') && text.ends_with('>'), "[", operation, "] the body \"", text,
          "\" does not end; it must be <..>");
  std::string body(text.substr(1, text.size() - 2));
  int depth = 0;
  for (char& c : body) {
    depth += c == '<' ? 1 : c == '>' ? -1 : 0;
    if (c == ';' && depth == 0) c = '\n';
  }
  return parse(body);
}

std::string_view taken_between(std::string_view& text, std::string_view begin, std::string_view end,
                               std::string_view operation) {
  const std::size_t from = text.find(begin);
  const std::size_t to =
      from == std::string_view::npos ? from : text.find(end, from + begin.size());
  require(to != std::string_view::npos, "[", operation, "] \"", text, "\" has no part between ",
          begin, " and ", end, "; it must have both");
  const std::string_view part = text.substr(from + begin.size(), to - from - begin.size());
  text.remove_prefix(to);
  return part;
}

}  // namespace tilewright::graph
