#include "runtime/cache_folder.h"

#include "runtime/base/env.h"
#include "runtime/base/error.h"
#include "runtime/files/private_folder.h"

#include <cstdio>
#include <mutex>

namespace tilewright {
namespace {

std::filesystem::path root() {
  if (std::string named = env::cache_dir(); !named.empty())
    return env::is_off(named) ? std::filesystem::path() : std::filesystem::path(named);
  if (std::string caches = env::user_cache_dir(); !caches.empty())
    return std::filesystem::path(caches) / "tilewright";
  std::string home = env::home();
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / ".cache" / "tilewright";
}

// Nothing is kept then, of which the user would otherwise never hear.
void warn_of_relative_folder(const std::string& why_not) {
  static std::once_flag once;
  std::call_once(
      once, [&] { std::fprintf(stderr, "tilewright: nothing is kept: %s\n", why_not.c_str()); });
}

}  // namespace

std::filesystem::path cache_folder(std::string_view part) { return find_cache_folder(part).path; }

CacheFolder find_cache_folder(std::string_view part) {
  std::filesystem::path folder = root();
  if (folder.empty())
    return {{}, env::is_off(env::cache_dir()) ? "TILEWRIGHT_CACHE_DIR is off" : "HOME is not set"};
  if (!folder.is_absolute()) {
    const char* of = !env::cache_dir().empty()        ? "TILEWRIGHT_CACHE_DIR"
                     : !env::user_cache_dir().empty() ? "XDG_CACHE_HOME"
                                                      : "HOME";
    std::string why_not =
        concat("the folder \"", folder.string(), "\" of ", of, " is not an absolute path");
    warn_of_relative_folder(why_not);
    return {{}, why_not};
  }
  folder /= part;
  if (auto reason = make_private(folder)) return {{}, *reason};
  return {folder, {}};
}

}  // namespace tilewright
