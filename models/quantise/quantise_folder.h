// Makes a quantised copy of a folder: linear layers in a format that this library and the format's
// own read, all else as it is.
//
// Weights are read, rounded and written piece by piece, so that memory does not grow with the
// model.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/files/file_path.h"

namespace tilewright {

struct QuantiseFolderOptions {
  bool links_may_leave = false;  // of the folder: follow symbolic links out of it, to anywhere
  std::function<void(std::string_view tensor)> progress = {};  // as a tensor begins
};

struct QuantisedFolder {
  std::int64_t quantised = 0, kept = 0;            // weights
  std::int64_t bytes_before = 0, bytes_after = 0;  // of all weights
};

// "nf4", "nf4-double", "fp4" and "int8", as bitsandbytes has them; "fp8", floats of 8 bits with a
// scale for blocks of 128 x 128.
std::vector<std::string_view> quantise_formats();

// `out` must not exist, or be an empty folder; its config.json is written last. Raises `Error`
// "[quantize] ..." for an unknown format, a model that is quantised already or is of a family whose
// weights it does not know, and whatever is wrong with the files.
QuantisedFolder quantise_folder(const FilePath& folder, std::string_view format,
                                const FilePath& out, const QuantiseFolderOptions& options = {});

}  // namespace tilewright
