// Checks that no other user can change the contents of a folder.
//
// Cached files are trusted, and some of them are run. So a folder of one's own is used only if only
// the user and the system's administrator can put anything there: neither into it, nor another
// folder into its place by changing a folder above it or a link on the way.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace tilewright {

// Nothing if only the user can change the folder, which must be absolute and exist; else a
// description of the others, such as "/a/b may be written by others". Folders above it must be the
// user's or root's; written by others only with the sticky bit, or by the user's own group. Links
// must be the user's or root's, and lead to such folders.
std::optional<std::string> not_private(const std::filesystem::path& folder);

// Makes the folder, which must be absolute, and the missing ones above it, for the user alone, and
// returns the result of `not_private`. Nothing is made behind a folder or a link that somebody else
// could change.
std::optional<std::string> make_private(const std::filesystem::path& folder);

// For a file that a program is asked to write: how any user of the machine could have put it there,
// or nothing. That is so if its folder, or one above it, may be written by all without the sticky
// bit; or with it, if the file is a link or belongs to another user, or a link of another user
// leads there. Other owners and groups are for the user to decide. Folders need not be there.
std::optional<std::string> open_to_anybody(const std::filesystem::path& file);

}  // namespace tilewright
