// A tuning database as one page of HTML that needs nothing else: no script, no other file, nothing
// from a network.
#pragma once

#include <string>
#include <vector>

#include "tools/database/selection.h"

namespace tilewright::tools {

// Per kernel: the cloud of configurations with the best and the default, the order of trials with
// the best so far, and devices side by side where more than one ran the same problem. If there are
// many questions, it shows those with the most rows.
std::string html_report(const std::vector<Question>& questions, const std::string& place);

}  // namespace tilewright::tools
