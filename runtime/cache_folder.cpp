#include "runtime/cache_folder.h"

#include "runtime/base/env.h"
#include "runtime/files/private_folder.h"

namespace tilewright {
namespace {

std::filesystem::path root() {
  if (std::string named = env::cache_dir(); !named.empty())
    return named == "off" ? std::filesystem::path() : std::filesystem::path(named);
  if (std::string caches = env::user_cache_dir(); !caches.empty())
    return std::filesystem::path(caches) / "tilewright";
  std::string home = env::home();
  return home.empty() ? std::filesystem::path()
                      : std::filesystem::path(home) / ".cache" / "tilewright";
}

}  // namespace

std::filesystem::path cache_folder(std::string_view part) { return find_cache_folder(part).path; }

CacheFolder find_cache_folder(std::string_view part) {
  std::filesystem::path folder = root();
  if (folder.empty())
    return {{}, env::cache_dir() == "off" ? "TILEWRIGHT_CACHE_DIR is off" : "HOME is not set"};
  if (!folder.is_absolute()) return {{}, folder.string() + " is no absolute path"};
  folder /= part;
  std::error_code problem;
  if (!std::filesystem::is_directory(folder, problem)) {
    std::filesystem::create_directories(folder, problem);
    if (problem) return {{}, folder.string() + ": " + problem.message()};
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, problem);
  }
  if (auto reason = not_private(folder)) return {{}, *reason};
  return {folder, {}};
}

}  // namespace tilewright
