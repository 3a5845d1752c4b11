#include "tools/programs/read_programs.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "dsl/ir/text/text.h"
#include "graph/ir/text.h"
#include "tools/console/misuse.h"

namespace tilewright::tools {
namespace {

// The parsed program takes some twenty times as much memory as its text. Pipes are read too: their
// size is known when they end.
constexpr std::size_t most_text_bytes = 8 << 20;

std::string name_of(const std::string& path) { return path == "-" ? "standard input" : path; }

// Adds to a parser's error what was asked for, and its position.
template <typename Parse>
auto parsed(const std::string& command, const std::string& path, Parse parse) {
  try {
    return parse();
  } catch (const Error& error) {
    throw Misuse(concat("[", command, "] ", name_of(path), ": ", error.what()));
  }
}

}  // namespace

std::string read_text(const std::string& command, const std::string& path) {
  require_use(path == "-" || !std::filesystem::is_directory(path), "[", command, "] \"", path,
              "\" is a folder; name a file of tile IR, or - for standard input");
  std::ifstream file;
  if (path != "-") file.open(path);
  require_use(path == "-" || file.good(), "[", command, "] cannot read \"", path,
              "\"; name a file of tile IR, or - for standard input");
  std::istream& in = path == "-" ? std::cin : file;
  std::string text;
  for (char part[1 << 16]; in.read(part, sizeof part), in.gcount() > 0;) {
    text.append(part, static_cast<std::size_t>(in.gcount()));
    require_use(text.size() <= most_text_bytes, "[", command, "] ", name_of(path),
                " has more than ", most_text_bytes,
                " bytes; tile IR is read up to there: give the programs in several files");
  }
  return text;
}

std::vector<ir::Function> read_programs(const std::string& command, const std::string& path,
                                        bool keep_names) {
  return programs_of(command, path, read_text(command, path), keep_names);
}

std::vector<ir::Function> programs_of(const std::string& command, const std::string& path,
                                      const std::string& text, bool keep_names) {
  std::vector<ir::Function> programs =
      parsed(command, path, [&] { return ir::parse_all(text, keep_names); });
  require_use(!programs.empty(), "[", command, "] ", name_of(path),
              ": no program is in it; tile IR begins with `func`, as `tilewright explain --dump` "
              "prints it");
  return programs;
}

bool is_graph(const std::string& text) {
  return std::string_view(text)
      .substr(std::min(text.find_first_not_of(" \n\r\t"), text.size()))
      .starts_with("graph {");
}

graph::Graph graph_of(const std::string& command, const std::string& path,
                      const std::string& text) {
  return parsed(command, path, [&] { return graph::parse(text); });
}

}  // namespace tilewright::tools
