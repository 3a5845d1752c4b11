// Where the sources are, for what tests read of them: documents, golden programs, cases. One
// function rather than a definition on every command line, which would be another command in
// another clone, and so nothing that a compiler's cache knows.
#pragma once

#include <filesystem>

namespace tilewright {

std::filesystem::path source_folder();

}  // namespace tilewright
