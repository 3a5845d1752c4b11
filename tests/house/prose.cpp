#include "tests/house/prose.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

namespace tilewright {
namespace {

// A paragraph under construction: the text of its lines, joined by blanks.
class Paragraphs {
 public:
  void add(std::string_view words, int line) {
    while (words.starts_with(' ')) words.remove_prefix(1);
    while (words.ends_with(' ')) words.remove_suffix(1);
    if (words.empty()) return end();
    if (!text_.empty()) text_ += ' ';
    starts_.emplace_back(text_.size(), line);
    text_ += words;
  }
  void end(bool has_beginning = true) {
    std::size_t begin = 0;
    while (begin < text_.size()) {
      const std::size_t stop = end_of_sentence(begin);
      found_.push_back({text_.substr(begin, stop - begin), line_at(begin), has_beginning});
      has_beginning = true;
      begin = stop;
      while (begin < text_.size() && text_[begin] == ' ') ++begin;
    }
    text_.clear();
    starts_.clear();
  }
  std::vector<Sentence> take() {
    end();
    return std::move(found_);
  }

 private:
  // A stop ends a sentence if no lower-case letter follows: "e.g. this" does not.
  std::size_t end_of_sentence(std::size_t begin) const {
    for (std::size_t i = begin; i + 2 < text_.size(); ++i)
      if (std::string_view(".?!").find(text_[i]) != std::string_view::npos && text_[i + 1] == ' ' &&
          std::islower(static_cast<unsigned char>(text_[i + 2])) == 0)
        return i + 1;
    return text_.size();
  }
  int line_at(std::size_t offset) const {
    auto after = std::ranges::upper_bound(starts_, offset, {}, &std::pair<std::size_t, int>::first);
    return std::prev(after)->second;
  }

  std::string text_;
  std::vector<std::pair<std::size_t, int>> starts_;  // offsets in text_, and the lines there
  std::vector<Sentence> found_;
};

bool is_example(std::string_view comment) { return comment.starts_with("   "); }

void add_comment(std::string_view comment, int line, Paragraphs& paragraphs) {
  if (is_example(comment)) return paragraphs.end();
  std::string_view words = comment.substr(std::min(comment.find_first_not_of(' '), comment.size()));
  if (words.starts_with("* ") || words.starts_with("- ")) {
    paragraphs.end();
    words.remove_prefix(2);
  }
  paragraphs.add(words, line);
}

void add_message(std::string_view literal, int line, Paragraphs& paragraphs) {
  if (std::ranges::count(literal, ' ') < 2) return;
  bool has_beginning = std::isupper(static_cast<unsigned char>(literal.front())) != 0;
  if (std::size_t end = literal.find("] "); literal.front() == '[' && end != literal.npos) {
    literal.remove_prefix(end + 2);
    has_beginning = true;
  }
  paragraphs.add(literal, line);
  paragraphs.end(has_beginning);
}

// The literals of a line of C++ up to its comment, where that begins, if it has one.
std::optional<std::size_t> read_literals(std::string_view code, bool takes_them, int line,
                                         Paragraphs& paragraphs) {
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code.substr(i).starts_with("//")) return i + 2;
    if (code.substr(i).starts_with("'\"'")) i += 2;
    if (code[i] != '"') continue;
    std::size_t end = i + 1;
    while (end < code.size() && code[end] != '"') end += code[end] == '\\' ? 2 : 1;
    if (takes_them && end < code.size())
      add_message(code.substr(i + 1, end - i - 1), line, paragraphs);
    i = end;
  }
  return std::nullopt;
}

void read_cpp(std::istream& in, bool takes_literals, Paragraphs& paragraphs) {
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    const std::string_view code = line;
    const std::size_t start = std::min(code.find_first_not_of(' '), code.size());
    ++number;
    if (code.substr(start).starts_with("//")) {
      add_comment(code.substr(start + 2), number, paragraphs);
      continue;
    }
    paragraphs.end();
    if (auto comment = read_literals(code, takes_literals, number, paragraphs)) {
      add_comment(code.substr(*comment), number, paragraphs);
      paragraphs.end();
    }
  }
}

// Scripts: comments after '#', and the docstrings of Python.
void read_script(std::istream& in, Paragraphs& paragraphs) {
  int number = 0;
  bool is_docstring = false;
  for (std::string line; std::getline(in, line);) {
    const std::string_view code = line;
    const std::size_t start = std::min(code.find_first_not_of(' '), code.size());
    std::string_view words = code.substr(start);
    ++number;
    if (is_docstring || words.starts_with("\"\"\"")) {
      if (!is_docstring) words.remove_prefix(3);
      const std::size_t end = words.find("\"\"\"");
      is_docstring = end == words.npos;
      paragraphs.add(words.substr(0, end), number);
      if (!is_docstring) paragraphs.end();
    } else if (words.starts_with("#") && !words.starts_with("#!")) {
      add_comment(words.substr(1), number, paragraphs);
    } else {
      paragraphs.end();
      if (std::size_t hash = words.find(" # "); hash != words.npos)
        add_comment(words.substr(hash + 2), number, paragraphs);
      paragraphs.end();
    }
  }
}

// The length of what begins an item of a list, as "* " or "12. ", or 0.
std::size_t length_of_bullet(std::string_view words) {
  if (words.starts_with("* ") || words.starts_with("- ")) return 2;
  const std::size_t digits = std::min(words.find_first_not_of("0123456789"), words.size());
  return digits > 0 && words.substr(digits).starts_with(". ") ? digits + 2 : 0;
}

void read_page(std::istream& in, Paragraphs& paragraphs) {
  int number = 0;
  bool is_code = false, is_hidden = false;
  for (std::string line; std::getline(in, line);) {
    const std::size_t start = std::min(line.find_first_not_of(' '), line.size());
    std::string_view words = std::string_view(line).substr(start);
    ++number;
    if (words.starts_with("```")) is_code = !is_code;
    if (words.starts_with("<!--")) is_hidden = true;
    if (is_code || is_hidden || words.starts_with("```") || words.starts_with("#")) {
      paragraphs.end();
      is_hidden = is_hidden && words.find("-->") == words.npos;
    } else if (words.starts_with("|")) {  // a row of a table: each cell is a paragraph
      paragraphs.end();
      for (std::size_t end; !words.empty(); words.remove_prefix(std::min(end + 1, words.size()))) {
        end = std::min(words.find('|'), words.size());
        paragraphs.add(words.substr(0, end), number);
        paragraphs.end();
      }
    } else {
      const std::size_t bullet = length_of_bullet(words);
      if (bullet > 0) paragraphs.end();
      paragraphs.add(words.substr(bullet), number);
    }
  }
}

}  // namespace

std::vector<Sentence> sentences_of(const std::filesystem::path& path, const std::string& text) {
  const std::string extension = path.extension().string();
  std::istringstream in(text);
  Paragraphs paragraphs;
  if (extension == ".h" || extension == ".cpp" || extension == ".def")
    read_cpp(in, *path.begin() != "tests", paragraphs);
  else if (extension == ".cmake" || extension == ".sh" || extension == ".py" ||
           path.filename() == "CMakeLists.txt")
    read_script(in, paragraphs);
  else if (extension == ".md")
    read_page(in, paragraphs);
  return paragraphs.take();
}

}  // namespace tilewright
