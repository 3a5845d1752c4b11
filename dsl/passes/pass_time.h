// How long a pass took, and whether it changed anything: what drivers of passes report. Apart from
// the tables of passes, since those over graphs report the same.
#pragma once

#include <string_view>

namespace tilewright::dsl {

struct PassTime {
  std::string_view name;
  double seconds;
  bool changed;
};

}  // namespace tilewright::dsl
