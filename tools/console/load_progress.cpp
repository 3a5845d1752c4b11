#include "tools/console/load_progress.h"

#include <fmt/format.h>

#include <cstdio>

#include "models/files/reader.h"

namespace tilewright::tools {

void show_progress(const LoadProgress& progress) {
  constexpr double mib = 1 << 20;
  bool is_over = progress.bytes_done == progress.bytes_total;
  fmt::print(stderr, "\r\033[K");
  if (!is_over)
    fmt::print(stderr, "{:.0f} of {:.0f} MiB  {}", static_cast<double>(progress.bytes_done) / mib,
               static_cast<double>(progress.bytes_total) / mib,
               concat(json::excerpt(progress.name)));
  std::fflush(stderr);
}

}  // namespace tilewright::tools
