#include "runtime/cache_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/env.h"

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

std::filesystem::path cache_folder(std::string_view part) {
  std::filesystem::path folder = root();
  if (folder.empty() || !folder.is_absolute()) return {};
  folder /= part;
  std::error_code problem;
  if (!std::filesystem::is_directory(folder, problem)) {
    std::filesystem::create_directories(folder, problem);
    if (problem) return {};
    std::filesystem::permissions(folder, std::filesystem::perms::owner_all, problem);
  }
  // What another user could have put there would be run.
  struct stat facts {};
  bool is_ours = ::stat(folder.c_str(), &facts) == 0 && facts.st_uid == ::geteuid() &&
                 (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return is_ours ? folder : std::filesystem::path();
}

}  // namespace tilewright
