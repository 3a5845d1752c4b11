// The folder for files that outlive a process: machine code of GPUs, and other things that are
// expensive to make and can be made again. Nothing in it is needed; if it cannot be used, the work
// is done again.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace tilewright {

// TILEWRIGHT_CACHE_DIR, or tilewright in XDG_CACHE_HOME or in ~/.cache, and `part` in it; created
// if missing, for the user alone. Empty if caching is off, if there is no such place, or if others
// could write to it (files/private_folder.h): files that they put there would be run. If a relative
// path prevents caching, this is reported once, on stderr.
std::filesystem::path cache_folder(std::string_view part);

struct CacheFolder {
  std::filesystem::path path;  // or empty
  std::string why_not;         // empty where there is a path
};
// Likewise, with the reason.
CacheFolder find_cache_folder(std::string_view part);

}  // namespace tilewright
