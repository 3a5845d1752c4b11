// A GGUF file, the form in which llama.cpp's models are published: settings by name, tensors by
// name, and the tokenizer among the settings.
//
// The file is a stranger's. Its head is read in pieces; every count is compared with the bytes that
// are left before memory is taken, names are unique, and each tensor lies inside the file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/files/foreign_file.h"

namespace tilewright::gguf {

inline constexpr std::string_view gguf_operation = "load_gguf";

// A setting. Numbers of all kinds are here twice, exact where they are integers.
struct Value {
  enum class Kind : std::uint8_t { integer, real, boolean, text, numbers, texts } kind;
  std::int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<double> numbers;     // of an array of numbers or booleans
  std::vector<std::string> texts;  // of an array of strings
};

struct Entry {
  std::string name;
  Shape shape;         // the slowest axis first, as tensors here have it
  std::uint32_t type;  // ggml's number
  std::size_t offset, size;
};

class GgufFile {
 public:
  // Raises `Error` "[load_gguf] PATH: ..." for whatever is wrong with the file's head.
  static std::shared_ptr<const GgufFile> open(const std::filesystem::path& path);

  const std::string& name() const { return file_->name(); }
  const std::map<std::string, Value, std::less<>>& settings() const { return settings_; }
  const std::map<std::string, Entry, std::less<>>& tensors() const { return tensors_; }
  const Value* find(std::string_view key) const;

  // Settings by their type. Raise `Error` where one is of another type, or absent without a value
  // to fall back on.
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> missing = {}) const;
  double number(std::string_view key, std::optional<double> missing = {}) const;
  bool boolean(std::string_view key, bool missing) const;
  std::string text(std::string_view key, std::optional<std::string_view> missing = {}) const;
  const std::vector<std::string>& texts(std::string_view key) const;
  std::vector<double> numbers(std::string_view key) const;  // absent: empty

  // The bytes of a tensor.
  std::vector<std::byte> bytes(const Entry& entry) const;

 private:
  const Value& typed(std::string_view key, Value::Kind kind, const char* wanted) const;
  std::shared_ptr<ForeignFile> file_;
  std::map<std::string, Value, std::less<>> settings_;
  std::map<std::string, Entry, std::less<>> tensors_;
};

// True for the path of a file that is not a folder and whose name ends in .gguf.
bool is_gguf(const std::filesystem::path& path);

}  // namespace tilewright::gguf
