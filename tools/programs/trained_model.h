// The trained model that the demonstration and `bench modes` generate text with: stories260K of
// tests/data, which the build unpacks beside the command and an installation puts into share.
#pragma once

#include <filesystem>
#include <string>

namespace tilewright::tools {

// Its folder: in the one that TILEWRIGHT_TEST_MODELS names, or else beside the command. Raises
// `Misuse` "[COMMAND] ..." where it is not there.
std::filesystem::path trained_model(const std::string& command);

}  // namespace tilewright::tools
