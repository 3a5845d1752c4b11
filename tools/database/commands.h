// `tilewright db`: results of tuning, for people: to look at, to carry, to keep in order.
#pragma once

#include <CLI/CLI.hpp>

namespace tilewright::tools {

void add_db(CLI::App& command);

}  // namespace tilewright::tools
