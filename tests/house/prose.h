// The English of the source tree, apart from the code around it: comments, pages and error
// messages, joined across lines and cut into sentences.
//
// Comments are taken from C++, CMake, shell and Python, docstrings included. Lines of a comment
// that are indented by three columns or more are examples or tables and are left out, as are blocks
// of code, headings and HTML comments of pages. String literals are only taken outside tests, and
// from three words on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tilewright {

struct Sentence {
  std::string text;
  int line = 0;               // where it starts, from 1
  bool has_beginning = true;  // false for a fragment of a message, which may continue another
  bool operator==(const Sentence&) const = default;
};

// Empty for files that hold no prose. `path` is relative to the root of the tree, `text` is the
// file.
std::vector<Sentence> sentences_of(const std::filesystem::path& path, const std::string& text);

}  // namespace tilewright
