#include "runtime/files/private_folder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

namespace tilewright {
namespace {

namespace fs = std::filesystem;
constexpr int most_links = 8;

bool is_sticky(const struct stat& facts) { return (facts.st_mode & S_ISVTX) != 0; }

bool is_trusted(const struct stat& facts) {
  return facts.st_uid == 0 || facts.st_uid == ::geteuid();
}

enum class Missing : std::uint8_t { refused, made };

// The problem with one of the folders from the root to `path`, itself included. One that is not
// there is made after those above it were found right, and looked at like any other: somebody else
// may have been faster.
std::optional<std::string> problem_on_the_way(const fs::path& path, Missing missing,
                                              int links_left) {
  fs::path at;
  for (const fs::path& part : path) {
    at /= part;
    struct stat facts {};
    bool is_there = ::lstat(at.c_str(), &facts) == 0;
    if (!is_there && errno == ENOENT && missing == Missing::made) {
      if (::mkdir(at.c_str(), 0700) != 0 && errno != EEXIST)
        return at.string() + ": " + std::strerror(errno);
      is_there = ::lstat(at.c_str(), &facts) == 0;
    }
    if (!is_there) return at.string() + " cannot be looked at: " + std::strerror(errno);
    if (!is_trusted(facts)) return at.string() + " is another user's";
    if (S_ISLNK(facts.st_mode)) {
      std::error_code error;
      fs::path target = fs::read_symlink(at, error);
      if (error || links_left == 0) return at.string() + " is a link that leads too far";
      if (target.is_relative()) target = at.parent_path() / target;
      if (auto problem = problem_on_the_way(target, missing, links_left - 1)) return problem;
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
    return folder.string() + " is not a folder";
  if (facts.st_uid != ::geteuid()) return folder.string() + " is another user's";
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return folder.string() + " may be written by others";
  return problem_on_the_way(folder, Missing::refused, most_links);
}

std::optional<std::string> make_private(const fs::path& folder) {
  if (auto problem = problem_on_the_way(folder, Missing::made, most_links)) return problem;
  return not_private(folder);
}

std::optional<std::string> open_to_anybody(const fs::path& file) {
  std::error_code error;
  fs::path whole = fs::absolute(file, error), at;
  struct stat facts {};
  bool is_in_everybodys = false;
  for (const fs::path& part : whole.parent_path()) {
    at /= part;
    bool is_link = ::lstat(at.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
    if (is_link && is_in_everybodys && !is_trusted(facts))
      return at.string() + " is another user's link, in a folder of everybody";
    is_in_everybodys = ::stat(at.c_str(), &facts) == 0 && (facts.st_mode & S_IWOTH) != 0;
    if (is_in_everybodys && !is_sticky(facts)) return at.string() + " may be written by everybody";
  }
  if (::stat(at.c_str(), &facts) != 0 || (facts.st_mode & S_IWOTH) == 0) return {};
  if (::lstat(whole.c_str(), &facts) != 0) return {};
  if (S_ISLNK(facts.st_mode)) return whole.string() + " is a link in a folder of everybody";
  if (!is_trusted(facts)) return whole.string() + " is another user's, in a folder of everybody";
  return {};
}

}  // namespace tilewright
