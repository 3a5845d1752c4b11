#include "models/gguf/gguf_file.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "models/files/reader.h"
#include "models/gguf/gguf_types.h"
#include "runtime/base/error.h"

namespace tilewright::gguf {
namespace {

constexpr std::size_t most_name_bytes = 1024, most_text_bytes = 16 << 20;
constexpr std::uint64_t most_settings = 1 << 16, most_tensors = 1 << 18;

// Reads the head of the file from its beginning on, in pieces.
class Head {
 public:
  explicit Head(const ForeignFile& file) : file_(file) {}

  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require(condition, "[", gguf_operation, "] ", file_.name(), ": ", parts...);
  }
  std::size_t place() const { return begin_ + at_; }
  std::size_t left() const { return file_.size() - place(); }

  template <typename T>
  T number() {
    T value;
    take(&value, sizeof value);
    return value;
  }
  std::string text(std::size_t most, const char* what) {
    const auto size = number<std::uint64_t>();
    expect(size <= most, what, " has ", size, " bytes; at most ", most, " are allowed");
    expect(size <= left(), "ends within its head: ", what, " has ", size, " bytes, and ", left(),
           " are left; the file is cut short");
    std::string result(size, '\0');
    take(result.data(), size);
    return result;
  }

 private:
  void take(void* to, std::size_t size) {
    expect(size <= left(), "ends within its head");
    while (size > 0) {
      if (at_ == piece_.size()) next_piece();
      const std::size_t part = std::min(size, piece_.size() - at_);
      std::memcpy(to, piece_.data() + at_, part);
      to = static_cast<std::byte*>(to) + part;
      at_ += part;
      size -= part;
    }
  }
  void next_piece() {
    constexpr std::size_t most = 1 << 20;
    begin_ += piece_.size();
    piece_.resize(std::min(most, file_.size() - begin_));
    at_ = 0;
    file_.read(begin_, piece_, gguf_operation);
  }

  const ForeignFile& file_;
  std::vector<std::byte> piece_;
  std::size_t begin_ = 0, at_ = 0;
};

// The types of settings by their numbers.
enum : std::uint32_t {
  u8_type,
  i8_type,
  u16_type,
  i16_type,
  u32_type,
  i32_type,
  f32_type,
  bool_type,
  text_type,
  array_type,
  u64_type,
  i64_type,
  f64_type
};

std::size_t size_of(std::uint32_t type) {
  switch (type) {
    case u8_type:
    case i8_type:
    case bool_type: return 1;
    case u16_type:
    case i16_type: return 2;
    case u32_type:
    case i32_type:
    case f32_type: return 4;
    case text_type:
    case u64_type:
    case i64_type:
    case f64_type: return 8;
    default: return 0;
  }
}

Value scalar(Head& head, std::uint32_t type) {
  Value value{Value::Kind::integer};
  auto integer = [&](auto number) {
    value.integer = static_cast<std::int64_t>(number);
    value.real = static_cast<double>(number);
  };
  switch (type) {
    case u8_type: integer(head.number<std::uint8_t>()); break;
    case i8_type: integer(head.number<std::int8_t>()); break;
    case u16_type: integer(head.number<std::uint16_t>()); break;
    case i16_type: integer(head.number<std::int16_t>()); break;
    case u32_type: integer(head.number<std::uint32_t>()); break;
    case i32_type: integer(head.number<std::int32_t>()); break;
    case u64_type: integer(head.number<std::uint64_t>()); break;
    case i64_type: integer(head.number<std::int64_t>()); break;
    case f32_type: value.real = head.number<float>(); break;
    case f64_type: value.real = head.number<double>(); break;
    case bool_type: integer(head.number<std::uint8_t>() != 0 ? 1 : 0); break;
    default: head.expect(false, "a setting has the type ", type, "; 0 to 12 are known");
  }
  if (type == f32_type || type == f64_type) value.kind = Value::Kind::real;
  if (type == bool_type) value.kind = Value::Kind::boolean;
  return value;
}

Value value_of(Head& head, std::uint32_t type) {
  if (type == text_type) {
    Value value{Value::Kind::text};
    value.text = head.text(most_text_bytes, "a text");
    return value;
  }
  if (type != array_type) return scalar(head, type);
  const auto of = head.number<std::uint32_t>();
  const auto count = head.number<std::uint64_t>();
  head.expect(size_of(of) > 0, "an array has elements of the type ", of,
              "; numbers and texts are known");
  head.expect(count <= head.left() / size_of(of), "an array has ", count, " elements; ",
              head.left(), " bytes are left");
  Value value{of == text_type ? Value::Kind::texts : Value::Kind::numbers};
  for (std::uint64_t i = 0; i < count; ++i) {
    if (of == text_type)
      value.texts.push_back(head.text(most_text_bytes, "a text"));
    else
      value.numbers.push_back(scalar(head, of).real);
  }
  return value;
}

Entry entry_of(Head& head) {
  Entry entry;
  entry.name = head.text(most_name_bytes, "the name of a tensor");
  const auto rank = head.number<std::uint32_t>();
  head.expect(rank <= 4, "tensor \"", json::excerpt(entry.name), "\" has ", rank,
              " axes; at most 4 are allowed");
  std::vector<std::int64_t> sizes;
  std::int64_t count = 1;
  for (std::uint32_t i = 0; i < rank; ++i) {
    const auto size = head.number<std::uint64_t>();
    head.expect(size > 0 && size < std::uint64_t{1} << 40 &&
                    count < (std::int64_t{1} << 62) / static_cast<std::int64_t>(size),
                "tensor \"", json::excerpt(entry.name), "\" has an axis of ", size,
                "; a size above 0 is needed, and less than 2^62 elements");
    sizes.push_back(static_cast<std::int64_t>(size));
    count *= sizes.back();
  }
  for (std::size_t i = sizes.size(); i-- > 0;) entry.shape.push_back(sizes[i]);
  entry.type = head.number<std::uint32_t>();
  entry.offset = head.number<std::uint64_t>();
  return entry;
}

// Checks where a tensor lies, and knows its bytes from then on.
void place(Entry& entry, const Head& head, std::size_t data, std::size_t alignment,
           std::size_t file_bytes) {
  const std::string name = concat(json::excerpt(entry.name));
  const std::optional<std::int64_t> bytes = size_of_tensor(entry.type, entry.shape);
  head.expect(bytes.has_value(), "tensor \"", name, "\" is of the type ", entry.type, " and ",
              entry.shape,
              "; rows of whole blocks of one of these types are needed: ", known_types());
  head.expect(entry.offset % alignment == 0, "tensor \"", name, "\" begins at ", entry.offset,
              "; a multiple of ", alignment, " is needed");
  entry.size = static_cast<std::size_t>(*bytes);
  head.expect(entry.offset <= file_bytes - data && entry.size <= file_bytes - data - entry.offset,
              "tensor \"", name, "\" has ", entry.size, " bytes from ", entry.offset,
              " on; the data have ", file_bytes - data);
  entry.offset += data;
}

}  // namespace

std::shared_ptr<const GgufFile> GgufFile::open(const std::filesystem::path& path) {
  auto result = std::make_shared<GgufFile>();
  result->file_ = ForeignFile::open(path, gguf_operation);
  Head head(*result->file_);
  const auto magic = head.number<std::uint32_t>();
  head.expect(magic == 0x46554747, "does not begin with GGUF");
  const auto version = head.number<std::uint32_t>();
  head.expect(version == 2 || version == 3, "is of the version ", version, "; 2 and 3 are known");
  const auto tensors = head.number<std::uint64_t>(), settings = head.number<std::uint64_t>();
  head.expect(tensors <= most_tensors && settings <= most_settings, "has ", tensors,
              " tensors and ", settings, " settings; at most ", most_tensors, " and ",
              most_settings, " are allowed");
  for (std::uint64_t i = 0; i < settings; ++i) {
    std::string key = head.text(most_name_bytes, "the name of a setting");
    const auto type = head.number<std::uint32_t>();
    const bool is_new = result->settings_.emplace(key, value_of(head, type)).second;
    head.expect(is_new, "has the setting \"", json::excerpt(key), "\" twice");
  }
  std::vector<Entry> entries;
  for (std::uint64_t i = 0; i < tensors; ++i) entries.push_back(entry_of(head));
  const std::int64_t alignment = result->integer("general.alignment", 32);
  head.expect(alignment > 0 && alignment <= 1 << 16 &&
                  std::has_single_bit(static_cast<std::uint64_t>(alignment)),
              "general.alignment is ", alignment, "; a power of two up to 65536 is needed");
  const auto unit = static_cast<std::size_t>(alignment);
  const std::size_t data = (head.place() + unit - 1) / unit * unit;
  head.expect(data <= result->file_->size(), "ends within its head");
  for (Entry& entry : entries) {
    place(entry, head, data, unit, result->file_->size());
    std::string name = entry.name;
    const bool is_new = result->tensors_.emplace(name, std::move(entry)).second;
    head.expect(is_new, "has the tensor \"", json::excerpt(name), "\" twice");
  }
  return result;
}

const Value* GgufFile::find(std::string_view key) const {
  auto found = settings_.find(key);
  return found == settings_.end() ? nullptr : &found->second;
}

const Value& GgufFile::typed(std::string_view key, Value::Kind kind, const char* wanted) const {
  const Value* value = find(key);
  require(value != nullptr && value->kind == kind, "[", gguf_operation, "] ", name(),
          ": the setting ", key, value == nullptr ? " is missing; " : " is of another type; ",
          wanted, " is needed");
  return *value;
}

std::int64_t GgufFile::integer(std::string_view key, std::optional<std::int64_t> missing) const {
  if (missing && find(key) == nullptr) return *missing;
  return typed(key, Value::Kind::integer, "an integer").integer;
}
double GgufFile::number(std::string_view key, std::optional<double> missing) const {
  const Value* value = find(key);
  if (missing && value == nullptr) return *missing;
  if (value != nullptr && value->kind == Value::Kind::integer) return value->real;
  return typed(key, Value::Kind::real, "a number").real;
}
bool GgufFile::boolean(std::string_view key, bool missing) const {
  if (find(key) == nullptr) return missing;
  return typed(key, Value::Kind::boolean, "true or false").integer != 0;
}
std::string GgufFile::text(std::string_view key, std::optional<std::string_view> missing) const {
  if (missing && find(key) == nullptr) return std::string(*missing);
  return typed(key, Value::Kind::text, "a text").text;
}
const std::vector<std::string>& GgufFile::texts(std::string_view key) const {
  return typed(key, Value::Kind::texts, "an array of texts").texts;
}
std::vector<double> GgufFile::numbers(std::string_view key) const {
  if (find(key) == nullptr) return {};
  return typed(key, Value::Kind::numbers, "an array of numbers").numbers;
}

std::vector<std::byte> GgufFile::bytes(const Entry& entry) const {
  std::vector<std::byte> result(entry.size);
  file_->read(entry.offset, result, gguf_operation);
  return result;
}

bool is_gguf(const std::filesystem::path& path) {
  std::error_code ignored;
  return path.extension() == ".gguf" && !std::filesystem::is_directory(path, ignored);
}

}  // namespace tilewright::gguf
