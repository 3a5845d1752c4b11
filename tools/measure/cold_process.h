// Runs this program again as a process of its own and reads the JSON it prints: the only honest way
// to time a first call, since a process keeps its compiled code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace tilewright::tools {

// The cache folder that the process sees: none, or the one of this process, with what was tuned.
enum class Kept { nothing, as_here };

// Raises `Error` where the process fails or prints no JSON.
nlohmann::json run_cold(const std::vector<std::string>& arguments, Kept kept = Kept::nothing);

}  // namespace tilewright::tools
