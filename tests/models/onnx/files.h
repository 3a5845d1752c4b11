// ONNX files as strings, for tests of what reads them: whole ones, and ones that lie about
// themselves.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::testing::onnx {

inline std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}
inline std::string number(int field, std::int64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}
inline std::string bytes(int field, std::string_view content) {
  return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(content.size()) +
         std::string(content);
}
inline std::string numbers(int field, const std::vector<std::int64_t>& values) {
  std::string packed;
  for (std::int64_t value : values) packed += varint(static_cast<std::uint64_t>(value));
  return bytes(field, packed);
}
inline std::string floats_as_bytes(const std::vector<float>& values) {
  std::string raw(values.size() * sizeof(float), '\0');
  std::memcpy(raw.data(), values.data(), raw.size());
  return raw;
}

constexpr int is_float = 1, is_int64 = 7;

// A tensor with its elements as bytes.
inline std::string tensor(std::string_view name, const std::vector<std::int64_t>& sizes,
                          std::string_view raw, int dtype = is_float) {
  return numbers(1, sizes) + number(2, dtype) + bytes(8, name) + bytes(9, raw);
}
// A tensor in another file.
inline std::string tensor_elsewhere(std::string_view name, const std::vector<std::int64_t>& sizes,
                                    std::string_view location, std::string_view offset = "0",
                                    std::string_view length = "") {
  std::string all = numbers(1, sizes) + number(2, is_float) + bytes(8, name) + number(14, 1);
  auto entry = [](std::string_view key, std::string_view value) {
    return bytes(13, bytes(1, key) + bytes(2, value));
  };
  all += entry("location", location) + entry("offset", offset);
  return length.empty() ? all : all + entry("length", length);
}
// "2" is a size, "batch" a symbol.
inline std::string value(std::string_view name, const std::vector<std::string>& sizes,
                         int dtype = is_float) {
  std::string shape;
  for (const std::string& size : sizes) {
    bool is_number = size.find_first_not_of("0123456789") == std::string::npos;
    shape += bytes(1, is_number ? number(1, std::stoll(size)) : bytes(2, size));
  }
  return bytes(1, name) + bytes(2, bytes(1, number(1, dtype) + bytes(2, shape)));
}
inline std::string node(std::string_view op, const std::vector<std::string>& inputs,
                        const std::vector<std::string>& outputs, std::string_view more = {}) {
  std::string all;
  for (const std::string& name : inputs) all += bytes(1, name);
  for (const std::string& name : outputs) all += bytes(2, name);
  return all + bytes(4, op) + std::string(more);
}
inline std::string attribute(std::string_view name, std::int64_t value) {
  return bytes(5, bytes(1, name) + number(3, value) + number(20, 2));
}
inline std::string integers(std::string_view name, const std::vector<std::int64_t>& values) {
  std::string all = bytes(1, name);
  for (std::int64_t each : values) all += number(8, each);
  return bytes(5, all + number(20, 7));
}
inline std::string floats(std::string_view name, const std::vector<float>& values) {
  return bytes(5, bytes(1, name) + bytes(7, floats_as_bytes(values)) + number(20, 6));
}
inline std::string texts(std::string_view name, const std::vector<std::string>& values) {
  std::string all = bytes(1, name);
  for (const std::string& each : values) all += bytes(9, each);
  return bytes(5, all + number(20, 8));
}
inline std::string real(std::string_view name, float value) {
  return bytes(5, bytes(1, name) + varint(2 << 3 | 5) + floats_as_bytes({value}) + number(20, 1));
}
inline std::string text(std::string_view name, std::string_view value) {
  return bytes(5, bytes(1, name) + bytes(4, value) + number(20, 3));
}

struct GraphParts {
  std::vector<std::string> nodes, tensors, inputs, outputs;
};
inline std::string graph_of(const GraphParts& parts) {
  std::string all;
  for (const std::string& each : parts.nodes) all += bytes(1, each);
  for (const std::string& each : parts.tensors) all += bytes(5, each);
  for (const std::string& each : parts.inputs) all += bytes(11, each);
  for (const std::string& each : parts.outputs) all += bytes(12, each);
  return all;
}
inline std::string opset(std::int64_t version) { return bytes(8, number(2, version)); }
inline std::string model(const std::string& graph, std::int64_t version = 17) {
  return number(1, 8) + bytes(2, "tests") + bytes(7, graph) + opset(version);
}

}  // namespace tilewright::testing::onnx
