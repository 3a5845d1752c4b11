#include "models/files/model_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>

#include "models/files/reader.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

namespace fs = std::filesystem;

// A folder that is held open, so that names are looked up in it even if it is renamed.
class Folder {
 public:
  explicit Folder(const fs::path& path, int flags = 0)
      : descriptor_(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags)) {}
  ~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  // The entry of that name, if it is no link (errno is ELOOP then). Without O_NONBLOCK, a pipe in
  // the place of a file would wait for ever.
  int open(const std::string& name) const {
    return ::openat(descriptor_, name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  }

 private:
  int descriptor_;
};

bool is_plain(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::ranges::none_of(
             name, [](unsigned char c) { return c == '/' || c == '\\' || c < 0x20 || c == 0x7f; });
}

// .../models--OWNER--NAME/snapshots/REVISION[/..] -> .../models--OWNER--NAME/blobs
std::optional<fs::path> blobs_of_cache(const fs::path& folder) {
  for (fs::path at = folder; at.has_relative_path(); at = at.parent_path()) {
    fs::path repository = at.parent_path();
    bool is_cache =
        at.filename() == "snapshots" && repository.filename().string().starts_with("models--");
    if (is_cache && folder != at) return repository / "blobs";
  }
  return std::nullopt;
}

// Reads the link, which must lead to a name in an allowed folder; that name is then opened there,
// without following links.
int open_where_link_leads(const fs::path& folder, const std::string& name, const std::string& what,
                          std::string_view operation) {
  std::error_code error;
  fs::path real_folder = fs::canonical(folder, error), target;
  if (!error) target = fs::canonical(folder / name, error);
  require(!error, "[", operation, "] ", what, ": cannot be opened: ", error.message());
  auto blobs = blobs_of_cache(real_folder);
  bool is_allowed = target.parent_path() == real_folder || target.parent_path() == blobs;
  require(is_allowed, "[", operation, "] ", what, ": is a link out of the model's folder, to ",
          json::excerpt(target.string()),
          "; set links_may_leave (--follow-links) if that is intended, or copy the file");
  return Folder(target.parent_path(), O_NOFOLLOW).open(target.filename().string());
}

}  // namespace

std::shared_ptr<ForeignFile> open_model_file(const FilePath& folder, const std::string& name,
                                             std::string_view operation, ModelFileOptions options) {
  require(is_plain(name), "[", operation, "] the file \"", json::excerpt(name),
          "\"; only plain file names in the model's own folder are allowed");
  require(!folder.string().empty(), "[", operation,
          "] the name of the model's folder is empty; give the folder that has ", name);
  std::string what = (folder / concat(json::excerpt(name))).string();
  std::shared_ptr<ForeignFile> file;
  if (options.links_may_leave) {
    file = ForeignFile::open(folder / name, operation);
  } else {
    Folder opened(folder);
    int descriptor = opened.is_open() ? opened.open(name) : -1;
    if (descriptor < 0 && errno == ELOOP && opened.is_open())
      descriptor = open_where_link_leads(folder, name, what, operation);
    require(descriptor >= 0, "[", operation, "] ", what,
            ": cannot be opened: ", std::strerror(errno));
    file = ForeignFile::adopt(descriptor, what, operation);
  }
  require(!options.refuse_hard_links || file->hard_links() == 1, "[", operation, "] ", what,
          ": has ", file->hard_links(), " names (hard links); copy it, or clear refuse_hard_links");
  return file;
}

}  // namespace tilewright
