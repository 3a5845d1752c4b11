// Writing a safetensors file piece by piece: which tensors it has is known before, their bytes are
// made one after the other, so that no tensor need be in memory as a whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "models/weights/safetensors_header.h"
#include "runtime/files/atomic_file.h"

namespace tilewright {

// The beginning of errors in writing.
inline constexpr std::string_view save_operation = "save_safetensors";

struct NewTensor {
  std::string name;
  DType dtype;
  Shape shape;
  std::int64_t size_bytes() const { return element_count(shape) * tilewright::size_bytes(dtype); }
};

class SafetensorsWriter {
 public:
  // Tensors in the order of their bytes. Raises `Error` "[save_safetensors] ..." for a name or a
  // shape that a file cannot have, as `write` and `commit` do where writing fails.
  SafetensorsWriter(const std::filesystem::path& path, const std::vector<NewTensor>& tensors,
                    const std::map<std::string, std::string>& metadata = {});
  // The next bytes, of whichever tensor is next.
  void write(std::span<const std::byte> bytes);
  // Replaces the file at the path in one step, once all bytes are written.
  void commit();

 private:
  AtomicFile file_;
  std::int64_t rest_ = 0;  // bytes to be written
};

}  // namespace tilewright
