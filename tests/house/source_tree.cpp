#include "tests/house/source_tree.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>

#include "tests/source_folder.h"

namespace tilewright {

namespace fs = std::filesystem;

SourceFile read_source(const std::string& path) {
  SourceFile file{path, {}};
  std::ifstream in(source_folder() / path);
  for (std::string line; std::getline(in, line);) file.lines.push_back(line);
  return file;
}

const std::vector<SourceFile>& sources() {
  static const std::vector<SourceFile> files = [] {
    std::vector<SourceFile> found;
    const fs::path root = source_folder();
    std::vector<std::string> folders(rooms.begin(), rooms.end());
    folders.insert(folders.end(), {"tests", "examples", "include"});
    for (const std::string& folder : folders) {
      if (!fs::exists(root / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        std::string extension = entry.path().extension();
        if (extension == ".h" || extension == ".cpp" || extension == ".def")
          found.push_back(read_source(fs::relative(entry.path(), root).generic_string()));
      }
    }
    return found;
  }();
  return files;
}

std::vector<Include> includes_of(const SourceFile& file) {
  static const std::regex form(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<Include> includes;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (std::smatch match; file.lines[i].find("#include") != std::string::npos &&
                           std::regex_search(file.lines[i], match, form))
      includes.push_back({match[2], match[1] == "\"", i + 1});
  return includes;
}

int rank_of(const std::string& room) {
  auto found = std::find(rooms.begin(), rooms.end(), room);
  return found == rooms.end() ? -1 : static_cast<int>(found - rooms.begin());
}

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::string at(const SourceFile& file, std::size_t line) {
  return file.path + ":" + std::to_string(line) + ": ";
}

}  // namespace tilewright
