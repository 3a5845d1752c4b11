// The name of a file or folder, as public functions take it: a string or a std::filesystem::path.
//
// Separate from std::filesystem::path because <filesystem> takes a tenth of the time in which a
// program with tilewright.h compiles, and most of these programs open no file. Where <filesystem>
// is included, a FilePath is made of its paths and converts to one.
#pragma once

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright {

class FilePath {
 public:
  FilePath() = default;
  FilePath(std::nullptr_t) = delete;
  template <std::convertible_to<std::string_view> Text>
  FilePath(const Text& name) : name_(std::string_view(name)) {}
  template <std::convertible_to<std::u8string_view> Text>
  FilePath(const Text& name) : FilePath(std::u8string_view(name), 0) {}
  template <typename Path>  // std::filesystem::path
  requires requires(const Path& path) {
    { path.native() } -> std::same_as<const std::string&>;
  }
  FilePath(const Path& path) : name_(path.native()) {}
  template <typename Entry>  // std::filesystem::directory_entry
  requires requires(const Entry& entry) {
    { entry.path().native() } -> std::same_as<const std::string&>;
  }
  FilePath(const Entry& entry) : name_(entry.path().native()) {}
  template <typename Path>
  requires std::same_as<typename Path::string_type, std::string> && requires(const Path& path) {
    path.native();
  }
  operator Path() const { return Path(name_); }

  const std::string& string() const { return name_; }
  // A file in this folder; `name` itself if that is absolute.
  FilePath operator/(std::string_view name) const;
  // The part behind the last slash, perhaps empty.
  std::string_view filename() const;
  template <std::convertible_to<FilePath> Other>
  bool operator==(const Other& other) const {
    return name_ == FilePath(other).name_;
  }
  template <typename Stream>  // std::ostream
  friend Stream& operator<<(Stream& out, const FilePath& path) {
    out << path.name_;
    return out;
  }

 private:
  FilePath(std::u8string_view name, int) : name_(name.begin(), name.end()) {}
  std::string name_;
};

}  // namespace tilewright
