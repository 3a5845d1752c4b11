// Pickles as strings, of the instructions that torch.save of tensors makes, for tests of what reads
// them: whole ones, and ones that lie. Values are left on the stack by the strings that make them.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright::testing {

inline std::string little(std::uint64_t value, int bytes) {
  std::string digits;
  for (int i = 0; i < bytes; ++i) digits += static_cast<char>(value >> (8 * i) & 0xff);
  return digits;
}
inline std::string text(const std::string& value) { return "X" + little(value.size(), 4) + value; }
inline std::string global(const std::string& module, const std::string& name) {
  return "c" + module + "\n" + name + "\n";
}

inline std::string storage(const std::string& type = "FloatStorage", const std::string& entry = "0",
                           int elements = 2) {
  return "(" + text("storage") + global("torch", type) + text(entry) + text("cpu") + "J" +
         little(static_cast<std::uint32_t>(elements), 4) + "tQ";
}
// By default f32 [2].
inline std::string tensor(const std::string& in = storage(),
                          const std::string& offset = std::string("K\0", 2),
                          const std::string& sizes = "K\x02\x85",
                          const std::string& strides = "K\x01\x85") {
  return global("torch._utils", "_rebuild_tensor_v2") + "(" + in + offset + sizes + strides +
         "\x89" + global("collections", "OrderedDict") + ")RtR";
}
inline std::string named(const std::string& name, const std::string& value) {
  return text(name) + value;
}

inline std::string begun(const std::string& instructions) { return "\x80\x02" + instructions; }
// A dictionary of names and values.
inline std::string pickle_of(const std::string& items) { return begun("}q\x01(" + items + "u."); }

}  // namespace tilewright::testing
