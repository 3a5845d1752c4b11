#include "runtime/files/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
constexpr int most_links = 8;

bool is_sticky(const struct stat& facts) { return (facts.st_mode & S_ISVTX) != 0; }

// What is wrong with one of the folders from the root to `path`, itself included.
std::optional<std::string> problem_on_the_way(const fs::path& path, int links_left) {
  fs::path at;
  for (const fs::path& part : path) {
    at /= part;
    struct stat facts {};
    if (::lstat(at.c_str(), &facts) != 0) return at.string() + " cannot be looked at";
    bool is_trusted = facts.st_uid == 0 || facts.st_uid == ::geteuid();
    if (!is_trusted) return at.string() + " is another user's";
    if (S_ISLNK(facts.st_mode)) {
      std::error_code error;
      fs::path target = fs::read_symlink(at, error);
      if (error || links_left == 0) return at.string() + " is a link that leads too far";
      if (target.is_relative()) target = at.parent_path() / target;
      if (auto problem = problem_on_the_way(target, links_left - 1)) return problem;
      continue;
    }
    // A group that has its user's number is, by custom, that user's own.
    bool is_own_group = facts.st_gid == facts.st_uid;
    bool is_written =
        (facts.st_mode & S_IWOTH) != 0 || ((facts.st_mode & S_IWGRP) != 0 && !is_own_group);
    if (is_written && !is_sticky(facts)) return at.string() + " may be written by others";
  }
  return {};
}

}  // namespace

std::optional<std::string> not_private(const fs::path& folder) {
  struct stat facts {};
  if (::stat(folder.c_str(), &facts) != 0 || !S_ISDIR(facts.st_mode))
    return folder.string() + " is no folder";
  if (facts.st_uid != ::geteuid()) return folder.string() + " is another user's";
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return folder.string() + " may be written by others";
  return problem_on_the_way(folder, most_links);
}

std::optional<std::string> open_to_anybody(const fs::path& file) {
  std::error_code error;
  fs::path whole = fs::absolute(file, error), at;
  struct stat facts {};
  for (const fs::path& part : whole.parent_path()) {
    at /= part;
    bool is_there = ::stat(at.c_str(), &facts) == 0;
    if (is_there && (facts.st_mode & S_IWOTH) != 0 && !is_sticky(facts))
      return at.string() + " may be written by everybody";
  }
  if (::stat(at.c_str(), &facts) != 0 || (facts.st_mode & S_IWOTH) == 0) return {};
  if (::lstat(whole.c_str(), &facts) != 0) return {};
  if (S_ISLNK(facts.st_mode)) return whole.string() + " is a link in a folder of everybody";
  bool is_trusted = facts.st_uid == 0 || facts.st_uid == ::geteuid();
  if (!is_trusted) return whole.string() + " is another user's, in a folder of everybody";
  return {};
}

}  // namespace tilewright
