// Where the sources are, for what tests read of them: documents, golden programs, cases. One
// function rather than a definition on every command line, which would be another command in
// another clone, and so nothing that a compiler's cache knows.
#pragma once

#include <filesystem>
#include <vector>

namespace tilewright {

std::filesystem::path source_folder();
// What the build unpacks from tests/data: corpus and models.
std::filesystem::path data_folder();
// All pages that are read by people, sorted: the .md files at the top and below the rooms, docs,
// examples and tests.
std::vector<std::filesystem::path> documents();

}  // namespace tilewright
