#include "models/weights/safetensors_header.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright::weights {
namespace {

// The fields of one tensor as far as the text has given them.
struct Draft {
  std::string name;
  std::optional<DType> dtype;
  Shape shape;
  bool has_shape = false;
  std::vector<std::int64_t> range;  // of the data
  bool has_range = false;
};

// Receives the header's JSON:
// {"name": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}, "__metadata__": {..}}
class HeaderEvents : public json::Events {
 public:
  HeaderEvents(std::string_view what, SafetensorsHeader& header, std::int64_t data_begin,
               std::int64_t data_bytes)
      : what_(what), header_(header), data_begin_(data_begin), data_bytes_(data_bytes) {}

  void key(std::string name) override {
    if (depth_ == 1) return begin_entry(std::move(name));
    if (in_metadata_) {
      metadata_key_ = std::move(name);
      return;
    }
    field_ = std::move(name);
    bool is_known = field_ == "dtype" || field_ == "shape" || field_ == "data_offsets";
    fail_unless(is_known, "has a field \"", json::excerpt(field_),
                "\"; dtype, shape and data_offsets are the fields of a tensor");
    bool twice = (field_ == "dtype" && draft_.dtype) || (field_ == "shape" && draft_.has_shape) ||
                 (field_ == "data_offsets" && draft_.has_range);
    fail_unless(!twice, "has the field \"", field_, "\" twice");
  }
  void scalar(json::Scalar value) override {
    if (in_metadata_) return metadata_value(std::move(value));
    if (depth_ < 2) fail_at_top(value);
    if (in_list_) return number(value);
    fail_unless(field_ == "dtype", "has the ", field_, " ", value,
                "; a list of integers is needed");
    fail_unless(value.kind == json::Scalar::Kind::string, "has the dtype ", value,
                "; a string is needed");
    for (DType known : all_dtypes())
      if (storage_name(known) == value.string) draft_.dtype = known;
    if (!draft_.dtype)
      fail("has the unknown dtype \"", json::excerpt(value.string), "\"; known are ",
           known_dtypes());
  }
  void begin_object() override {
    ++depth_;
    if (depth_ == 2 && !in_metadata_) draft_.shape.clear();
    if (depth_ <= 2) return;
    fail_in_metadata("an object");
    fail_unless(false, "has an object as its ", field_);
  }
  void end_object() override {
    if (depth_-- != 2) return;
    if (!in_metadata_) finish_entry();
    in_metadata_ = false;
  }
  void begin_array() override {
    fail_in_metadata("an array");
    if (depth_ < 2) fail_at_top("an array");
    fail_unless(field_ != "dtype", "has a list where its ", field_, " needs a plain value");
    in_list_ = true;
    (field_ == "shape" ? draft_.has_shape : draft_.has_range) = true;
  }
  void end_array() override { in_list_ = false; }

 private:
  template <typename... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    raise_error(concat("[", safetensors_operation, "] ", what_, ": tensor \"",
                       json::excerpt(draft_.name), "\" ", parts...));
  }
  // If parts of the message are expensive to make, an `if` and `fail` are used instead.
  template <typename... Parts>
  void fail_unless(bool condition, const Parts&... parts) const {
    if (!condition) fail(parts...);
  }
  void fail_in_metadata(const char* found) const {
    require(!in_metadata_, "[", safetensors_operation, "] ", what_, ": __metadata__ has ", found,
            " at \"", json::excerpt(metadata_key_), "\"; only strings are allowed");
  }
  template <typename Found>
  [[noreturn]] void fail_at_top(const Found& found) const {
    raise_error(concat("[", safetensors_operation, "] ", what_, ": the entry \"",
                       json::excerpt(draft_.name), "\" is ", found, "; an object is needed"));
  }
  static std::string known_dtypes() {
    std::string list;
    for (DType known : all_dtypes()) list += concat(list.empty() ? "" : ", ", storage_name(known));
    return list;
  }

  void begin_entry(std::string name) {
    draft_ = Draft{};
    field_.clear();
    require(name.size() <= max_name_bytes, "[", safetensors_operation, "] ", what_,
            ": a tensor name of ", name.size(), " bytes; at most ", max_name_bytes, " are allowed");
    require(name.find('\0') == name.npos, "[", safetensors_operation, "] ", what_,
            ": a tensor name contains a NUL byte");
    in_metadata_ = name == "__metadata__";
    draft_.name = std::move(name);
    if (!in_metadata_) return;
    require(!has_metadata_, "[", safetensors_operation, "] ", what_,
            ": __metadata__ appears twice");
    has_metadata_ = true;
  }
  // The writer of safetensors takes null for no metadata.
  void metadata_value(json::Scalar value) {
    if (depth_ == 1 && value.kind == json::Scalar::Kind::null) return;
    require(depth_ == 2, "[", safetensors_operation, "] ", what_, ": __metadata__ is ", value,
            "; an object of strings is needed");
    if (value.kind != json::Scalar::Kind::string) fail_in_metadata(name_of(value.kind).data());
    require(header_.metadata.emplace(metadata_key_, std::move(value.string)).second, "[",
            safetensors_operation, "] ", what_, ": __metadata__ has \"",
            json::excerpt(metadata_key_), "\" twice");
    require(header_.metadata.size() <= max_metadata, "[", safetensors_operation, "] ", what_,
            ": more than ", max_metadata, " entries in __metadata__");
  }
  void number(const json::Scalar& value) {
    fail_unless(value.kind == json::Scalar::Kind::integer && value.integer >= 0, "has ", value,
                " in its ", field_, "; integers from 0 to 2^63 - 1 are needed");
    if (field_ == "shape") {
      fail_unless(draft_.shape.size() < max_rank, "has more than ", max_rank, " axes");
      draft_.shape.push_back(value.integer);
    } else {
      fail_unless(draft_.range.size() < 2, "has more than two data_offsets");
      draft_.range.push_back(value.integer);
    }
  }
  void finish_entry() {
    fail_unless(draft_.dtype.has_value(), "has no dtype");
    fail_unless(draft_.has_shape, "has no shape");
    fail_unless(draft_.range.size() == 2, "has ", draft_.range.size(),
                " data_offsets; a begin and an end are needed");
    std::int64_t begin = draft_.range[0], end = draft_.range[1];
    fail_unless(begin <= end, "begins at ", begin, " and ends at ", end,
                "; the end must not be below the begin");
    fail_unless(end <= data_bytes_, "ends at byte ", end, " of the data, which has only ",
                data_bytes_, " bytes; the file is cut short or damaged");
    std::int64_t size = size_bytes(*draft_.dtype);
    for (std::int64_t axis : draft_.shape)
      fail_unless(!__builtin_mul_overflow(size, axis, &size), "of shape ", draft_.shape,
                  " has more than 2^63 bytes");
    fail_unless(size == end - begin, "of dtype ", *draft_.dtype, " and shape ", draft_.shape,
                " needs ", size, " bytes; its data_offsets hold ", end - begin);
    require(header_.entries.size() < max_tensors, "[", safetensors_operation, "] ", what_,
            ": more than ", max_tensors, " tensors");
    header_.entries.push_back({std::move(draft_.name), *draft_.dtype, std::move(draft_.shape),
                               data_begin_ + begin, size});
  }

  std::string_view what_;
  SafetensorsHeader& header_;
  std::int64_t data_begin_, data_bytes_;
  int depth_ = 0;  // of objects
  bool in_list_ = false, in_metadata_ = false, has_metadata_ = false;
  Draft draft_;
  std::string field_, metadata_key_;
};

// The tensors must tile the data: no hole, no overlap, nothing left over. Bytes that no tensor
// owns would allow a file to be two formats at once.
void check_tiling(std::vector<SafetensorsEntry>& entries, std::int64_t data_begin,
                  std::int64_t file_bytes, std::string_view what) {
  std::sort(entries.begin(), entries.end(), [](const auto& a, const auto& b) {
    return std::pair(a.offset, a.size_bytes) < std::pair(b.offset, b.size_bytes);
  });
  std::int64_t reached = data_begin;
  for (const SafetensorsEntry& entry : entries) {
    require(entry.offset == reached, "[", safetensors_operation, "] ", what, ": tensor \"",
            json::excerpt(entry.name), "\" begins at byte ", entry.offset - data_begin,
            " of the data, where byte ", reached - data_begin,
            " is due; tensors must follow each other without ",
            entry.offset > reached ? "holes" : "overlap");
    reached += entry.size_bytes;
  }
  require(reached == file_bytes, "[", safetensors_operation, "] ", what,
          ": the tensors end at byte ", reached - data_begin, " of the data, which has ",
          file_bytes - data_begin, " bytes; nothing may follow the last tensor");
}

void check_names(std::vector<SafetensorsEntry>& entries, std::string_view what) {
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.name < b.name; });
  for (std::size_t i = 1; i < entries.size(); ++i)
    require(entries[i - 1].name != entries[i].name, "[", safetensors_operation, "] ", what,
            ": tensor \"", json::excerpt(entries[i].name), "\" appears twice");
}

}  // namespace

std::size_t safetensors_header_bytes(std::string_view begin, std::size_t file_bytes,
                                     std::string_view what) {
  require(!begin.starts_with("version https://git-lfs"), "[", safetensors_operation, "] ", what,
          ": this is a Git LFS pointer, not the weights; fetch them with `git lfs pull`");
  require(begin.size() >= 8, "[", safetensors_operation, "] ", what, ": ", file_bytes,
          " bytes are not a safetensors file; it begins with an 8-byte header length");
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t length = 0;
  std::memcpy(&length, begin.data(), 8);
  require(length <= max_header_bytes, "[", safetensors_operation, "] ", what,
          ": the header's length is ", length, "; at most ", max_header_bytes,
          " is allowed: is this a safetensors file?");
  require(length <= file_bytes - 8, "[", safetensors_operation, "] ", what,
          ": the header's length is ", length, ", but only ", file_bytes - 8,
          " bytes follow; the file is cut short");
  require(begin.substr(8, length).starts_with('{'), "[", safetensors_operation, "] ", what,
          ": the header does not begin with '{': is this a safetensors file?");
  return length;
}

SafetensorsHeader parse_safetensors_header(std::string_view text, std::size_t file_bytes,
                                           std::string_view what) {
  auto data_begin = static_cast<std::int64_t>(8 + text.size());
  auto end = static_cast<std::int64_t>(file_bytes);
  SafetensorsHeader header;
  // As many tensors as there can be: growing would hold all of them twice.
  constexpr std::size_t least_bytes_of_tensor = 48;
  auto braces = static_cast<std::size_t>(std::ranges::count(text, '{'));
  header.entries.reserve(std::min({braces, text.size() / least_bytes_of_tensor, max_tensors}));
  HeaderEvents events(what, header, data_begin, end - data_begin);
  json::Limits limits{.text_bytes = max_header_bytes, .depth = 3, .string_bytes = 10'000'000};
  json::read(text, safetensors_operation, what, limits, events);
  check_tiling(header.entries, data_begin, end, what);
  check_names(header.entries, what);
  return header;
}

}  // namespace tilewright::weights
