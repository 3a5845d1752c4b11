// The files of a model's folder.
//
// A folder is named by the user and may lie anywhere, behind links too. What it holds was written
// by strangers: a file of it is a plain name, and a link in it may lead to another file of the
// folder, or to where the Hugging Face cache keeps what its links stand for, and nowhere else;
// a folder that was unpacked from an archive could otherwise show files of the user's.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "models/files/foreign_file.h"

namespace tilewright {

struct ModelFileOptions {
  bool links_may_leave = false;    // follow symbolic links out of the folder
  bool refuse_hard_links = false;  // refuse files that have a second name
};

// Opens the file of that name. In a folder models--*/snapshots/REVISION of the Hugging Face cache
// links lead to models--*/blobs, which is allowed. The descriptor is of a directory entry that is
// no link itself, in a folder that is allowed, whoever renames what meanwhile. Raises `Error`
// beginning with "[operation]" for a name that is not plain, a link that leads elsewhere (which the
// message says how to allow), and whatever ForeignFile refuses.
std::shared_ptr<ForeignFile> open_model_file(const std::filesystem::path& folder,
                                             const std::string& name, std::string_view operation,
                                             ModelFileOptions options = {});

}  // namespace tilewright
