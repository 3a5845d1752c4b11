// Tensors in a safetensors file: reading one that a stranger wrote, and writing one.
//
// A file is the length of its header (8 bytes, little endian), the header (JSON: name -> dtype,
// shape, byte range), and the data. Nothing in it is trusted: every size is checked against the
// file before memory is taken, the ranges of the tensors must tile the data exactly, and duplicate
// names are refused. Reading a header of n bytes needs at most 64 MiB + 3 n of memory.
//
// A file is written beside its destination, brought to the disk, and then renamed, so that readers
// see the old file or the new one, whole, whatever happens in between.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

#include "graph/tensor/tensor.h"
#include "models/files/foreign_file.h"
#include "models/weights/safetensors_header.h"
#include "runtime/files/file_path.h"

namespace tilewright {

struct SafetensorsOptions {
  Reading reading = Reading::as_needed;
  bool scan_non_finite = false;  // refuse NaN and infinities in floating tensors
};

// An open file. Thread safe; tensors made from it may outlive it.
class Safetensors {
 public:
  // Raises `Error` "[load_safetensors] PATH: ..." for whatever is wrong with the file.
  static Safetensors open(const FilePath& path, SafetensorsOptions options = {},
                          std::source_location w = std::source_location::current());
  // Reads a file that is open, and keeps it.
  static Safetensors of(std::shared_ptr<ForeignFile> file, SafetensorsOptions options = {});

  // Sorted by name. Those of a temporary would be gone with it: a loop over
  // `Safetensors::open(path).entries()` does not compile.
  const std::vector<SafetensorsEntry>& entries() const& { return entries_; }
  const std::vector<SafetensorsEntry>& entries() const&& = delete;
  const SafetensorsEntry* find(std::string_view name) const;
  const std::map<std::string, std::string>& metadata() const& { return metadata_; }
  const std::map<std::string, std::string>& metadata() const&& = delete;

  // The tensor of that name; raises `Error` if it is missing, or the file has been cut short. With
  // Reading::mapped it shares the mapped memory where that is aligned to 64 bytes (and is in danger
  // as Reading says); otherwise it is a copy.
  Tensor tensor(std::string_view name) const;
  // Writes the elements to `destination`, which must be contiguous and have the tensor's shape;
  // floating types are converted to one another. `on_bytes` gets the number of the file's bytes as
  // they are read, piece by piece. A file that another process cuts meanwhile is an `Error`.
  void read(std::string_view name, Tensor& destination,
            const std::function<void(std::int64_t bytes)>& on_bytes = {}) const;

 private:
  const SafetensorsEntry& at(std::string_view name) const;

  std::shared_ptr<ForeignFile> file_;
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// Replaces the file at `path` in one step. Tensors need not be contiguous. Raises `Error`
// "[save_safetensors] ..." and leaves the old file as it was where anything fails.
void save_safetensors(const FilePath& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace tilewright
