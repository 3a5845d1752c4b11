#include "models/onnx/file/tensors.h"

#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "models/files/model_file.h"
#include "models/files/reader.h"
#include "models/onnx/program/dtype_numbers.h"

namespace tilewright::onnx {
namespace {

using json::excerpt;

constexpr std::uintptr_t alignment = 64;  // of memory that a tensor may see
constexpr int most_axes = 32;
// Bytes of another file, beyond twice its size: of the 256 MiB that the process may hold besides,
// the others are for all else.
constexpr std::int64_t most_repeated_bytes = 192 << 20;
constexpr std::size_t most_pieces = 1 << 16;  // of the list of elements

// Writes each number of a list to `to`; the list has exactly `count`. Nothing where it has not.
template <typename T>
bool unpack(const std::vector<std::string_view>& lists, std::int64_t count, std::byte* to) {
  std::int64_t done = 0;
  auto put = [&](T value) {
    if (done == count) return false;
    std::memcpy(to + done * static_cast<std::int64_t>(sizeof(T)), &value, sizeof(T));
    ++done;
    return true;
  };
  for (std::string_view list : lists)
    while (!list.empty()) {
      auto number = take_varint(list);
      if (!number) return false;
      if constexpr (std::is_same_v<T, bool>) {
        if (!put(*number != 0)) return false;
      } else if (!put(static_cast<T>(*number))) {
        return false;
      }
    }
  return done == count;
}

}  // namespace

DType dtype_of(std::int64_t number, const Place& place) {
  auto dtype = dtype_of_number(number);
  place.expect(dtype.has_value(), "its element type ", number, " (", name_of_other(number),
               ") is not supported");
  return *dtype;
}

struct TensorFiles::Description {
  std::string name;
  Shape shape;
  std::int64_t dtype_number = 0, count = 1, size_bytes = 0;
  DType dtype = f32;
  std::optional<std::string_view> raw;
  // Encoded numbers of the list that the dtype wants, and whether there are some in another.
  std::vector<std::string_view> numbers;
  int list = 0;
  bool has_other_list = false, is_external = false;
  std::string location;
  std::int64_t offset = 0, length = -1;
};

namespace {

// The number of the field whose list has elements of this dtype.
int list_of(DType dtype) {
  if (dtype == f32) return 4;
  if (dtype == f64) return 10;
  if (dtype == i64) return 7;
  return dtype == u32 || dtype == u64 ? 11 : 5;
}
bool is_list(std::uint32_t number) {
  return number == 4 || number == 5 || number == 7 || number == 10 || number == 11;
}

std::int64_t as_number(std::string_view text, std::string_view key, const Place& place) {
  std::int64_t value = -1;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  place.expect(error == std::errc() && end == text.data() + text.size() && value >= 0,
               "a tensor's external data has the ", key, " \"", excerpt(text),
               "\"; a number that is not negative is wanted");
  return value;
}

std::pair<std::string_view, std::string_view> entry_of(Fields entry) {
  std::pair<std::string_view, std::string_view> result;
  while (entry.next()) {
    if (entry.number() == 1) result.first = entry.text();
    if (entry.number() == 2) result.second = entry.text();
  }
  return result;
}

}  // namespace

TensorFiles::Description TensorFiles::describe(Fields message) const {
  Description d;
  std::vector<std::pair<std::uint32_t, std::string_view>> lists;
  while (message.next()) {
    std::uint32_t number = message.number();
    if (is_list(number)) lists.emplace_back(number, message.payload());
    place_.expect(lists.size() <= most_pieces, "a tensor has its elements in more than ",
                  most_pieces, " pieces");
    if (number == 1) {
      std::string_view sizes = message.payload();
      while (!sizes.empty()) {
        auto size = take_varint(sizes);
        place_.expect(size.has_value() && d.shape.rank() < most_axes,
                      "a tensor has sizes that are not numbers, or more than ", most_axes);
        d.shape.push_back(static_cast<std::int64_t>(*size));
      }
    }
    if (number == 2) d.dtype_number = message.integer();
    place_.expect(number != 3, "a tensor is in segments, which is not supported");
    if (number == 8) d.name = message.text();
    if (number == 9) d.raw = message.text();
    if (number == 14) d.is_external = message.integer() != 0;
    if (number != 13) continue;
    auto [key, value] = entry_of(message.message());
    if (key == "location") d.location = value;
    if (key == "offset") d.offset = as_number(value, key, place_);
    if (key == "length") d.length = as_number(value, key, place_);
  }
  d.dtype = dtype_of(d.dtype_number, place_);
  d.list = list_of(d.dtype);
  for (auto [number, payload] : lists)
    if (static_cast<int>(number) == d.list)
      d.numbers.push_back(payload);
    else
      d.has_other_list = d.has_other_list || !payload.empty();
  bool fits = true;
  for (std::int64_t size : d.shape)
    fits = fits && size >= 0 && !__builtin_mul_overflow(d.count, size, &d.count);
  fits = fits && !__builtin_mul_overflow(d.count, tilewright::size_bytes(d.dtype), &d.size_bytes);
  place_.expect(fits, "tensor \"", excerpt(d.name), "\" has the sizes [", d.shape,
                "], which are negative or too large");
  return d;
}

NamedTensor TensorFiles::read(Fields message) {
  Description d = describe(message);
  place_.expect(!d.has_other_list, "tensor \"", excerpt(d.name), "\" is ", d.dtype,
                " and has elements in a list of another type");
  if (d.is_external) return {d.name, from_file(d)};
  if (!d.raw) return {d.name, from_numbers(d)};
  place_.expect(d.numbers.empty(), "tensor \"", excerpt(d.name),
                "\" has its elements twice, as bytes (raw_data) and as a list of numbers; one of "
                "both is wanted");
  place_.expect(static_cast<std::int64_t>(d.raw->size()) == d.size_bytes, "tensor \"",
                excerpt(d.name), "\" is ", d.dtype, " [", d.shape, "], ", d.size_bytes,
                " bytes; the file has ", d.raw->size(), " for it");
  return {d.name, from_bytes(*d.raw, file_, d)};
}

Tensor TensorFiles::from_bytes(std::string_view bytes, const std::shared_ptr<ForeignFile>& owner,
                               const Description& d) const {
  auto* data = const_cast<char*>(bytes.data());
  bool is_aligned = reinterpret_cast<std::uintptr_t>(data) % alignment == 0;
  if (reading_ == Reading::mapped && is_aligned && owner && d.count > 0 && !is_boolean(d.dtype))
    return Tensor::from_blob(data, d.shape, d.dtype, owner);
  if (!is_boolean(d.dtype)) return Tensor::from_bytes(data, d.size_bytes, d.shape, d.dtype);
  std::vector<std::uint8_t> flags(bytes.begin(), bytes.end());
  for (std::uint8_t& flag : flags) flag = flag != 0;
  return Tensor::from_bytes(flags.data(), d.size_bytes, d.shape, d.dtype);
}

Tensor TensorFiles::from_numbers(const Description& d) const {
  std::int64_t encoded = 0;
  for (std::string_view list : d.numbers) encoded += std::ssize(list);
  auto mismatch = [&] {
    place_.refuse("tensor \"", excerpt(d.name), "\" is ", d.dtype, " [", d.shape, "], ", d.count,
                  " elements; the file has another number of them");
  };
  bool are_fixed = d.list == 4 || d.list == 10;
  if (are_fixed ? encoded != d.size_bytes : encoded < d.count) mismatch();
  if (d.count == 0) {
    if (encoded != 0) mismatch();
    return Tensor::empty(d.shape, d.dtype);
  }
  Tensor tensor = Tensor::empty(d.shape, d.dtype);
  auto* to = static_cast<std::byte*>(tensor.data());
  if (are_fixed) {
    for (std::string_view list : d.numbers) {
      std::memcpy(to, list.data(), list.size());
      to += list.size();
    }
    return tensor;
  }
  bool is_whole = dispatch(d.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) return unpack<T>(d.numbers, d.count, to);
    // Floats of 16 and 8 bits are integers of as many bits there.
    if constexpr (sizeof(T) == 2) return unpack<std::uint16_t>(d.numbers, d.count, to);
    return unpack<std::uint8_t>(d.numbers, d.count, to);
  });
  if (!is_whole) mismatch();
  return tensor;
}

Tensor TensorFiles::from_file(const Description& d) {
  place_.expect(!folder_.empty(), "tensor \"", excerpt(d.name), "\" lies in another file");
  place_.expect(!d.location.empty(), "tensor \"", excerpt(d.name),
                "\" lies in another file, which is not named");
  place_.expect(!d.raw && d.numbers.empty(), "tensor \"", excerpt(d.name),
                "\" has elements here and in another file");
  Other& of = others_[d.location];
  auto& other = of.file;
  if (other == nullptr) {
    other = open_model_file(folder_, d.location, "load_onnx", {.refuse_hard_links = true});
    if (reading_ == Reading::mapped) other->hold(Reading::mapped, "load_onnx");
  }
  auto size = static_cast<std::int64_t>(other->size());
  bool fits = (d.length < 0 || d.length == d.size_bytes) && d.offset <= size &&
              d.size_bytes <= size - d.offset;
  place_.expect(fits, "tensor \"", excerpt(d.name), "\" is ", d.dtype, " [", d.shape, "], ",
                d.size_bytes, " bytes; it lies in \"", excerpt(d.location), "\" at ", d.offset,
                d.length < 0 ? std::string() : concat(" with ", d.length, " bytes"), ", which has ",
                size);
  auto offset = static_cast<std::size_t>(d.offset), count = static_cast<std::size_t>(d.size_bytes);
  if (reading_ == Reading::mapped)
    return from_bytes({reinterpret_cast<char*>(other->data()) + offset, count}, other, d);
  // Equal weights of several names are one tensor.
  auto& known = of.known[{d.offset, d.dtype, d.shape}];
  if (known.defined()) return known;
  of.bytes += d.size_bytes;
  place_.expect(of.bytes <= 2 * size + most_repeated_bytes, "tensor \"", excerpt(d.name),
                "\" and those before it are ", of.bytes, " bytes of \"", excerpt(d.location),
                "\", which has ", size, "; they overlap too often");
  Tensor tensor = known = Tensor::empty(d.shape, d.dtype);
  if (count == 0) return tensor;
  std::span<std::byte> to(static_cast<std::byte*>(tensor.data()), count);
  other->read(offset, to, "load_onnx");
  if (is_boolean(d.dtype))
    for (std::byte& flag : to) flag = flag != std::byte{0} ? std::byte{1} : std::byte{0};
  return tensor;
}

}  // namespace tilewright::onnx
