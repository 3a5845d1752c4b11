// The files of a model's folder.
//
// A folder is named by the user and may be anywhere, behind links too. Its contents are not
// trusted: a file in it has a plain name, and a link in it may lead only to another file of the
// folder, or to where the Hugging Face cache keeps the files behind its links. Otherwise a folder
// that was unpacked from an archive could expose the user's own files.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "models/files/foreign_file.h"
#include "runtime/files/file_path.h"

namespace tilewright {

struct ModelFileOptions {
  bool links_may_leave = false;    // follow symbolic links out of the folder
  bool refuse_hard_links = false;  // refuse files that have a second name
};

// Opens the file of that name. In a folder models--*/snapshots/REVISION of the Hugging Face cache
// links lead to models--*/blobs, which is allowed. The descriptor belongs to a directory entry that
// is not a link itself, in an allowed folder, even if another process renames files meanwhile.
// Raises `Error` beginning with "[operation]" for a name that is not plain, a link that leads
// elsewhere (which the message says how to allow), and whatever ForeignFile refuses.
std::shared_ptr<ForeignFile> open_model_file(const FilePath& folder, const std::string& name,
                                             std::string_view operation,
                                             ModelFileOptions options = {});

}  // namespace tilewright
