#include "graph/compile/reports/saving_report.h"

#include "runtime/base/error.h"

namespace tilewright::graph {
namespace {

std::string counted(std::size_t count) { return concat(count, count == 1 ? " value" : " values"); }

std::string lines_of(const std::vector<SavedValue>& values) {
  std::string text;
  for (const SavedValue& value : values)
    text += concat("    ", value.bytes, " B  ", value.dtype, " ", value.shape, "  ", value.op,
                   " at ", value.where, "\n");
  return text;
}

}  // namespace

std::string text_of(const SavingReport& report) {
  if (report.again.empty()) return "";
  return concat("  gradients keep ", counted(report.saved.size()), ", ", report.saved_bytes,
                " B of ", report.bytes_of_all, " B:\n", lines_of(report.saved),
                "  and have computed again ", counted(report.again.size()), ":\n",
                lines_of(report.again));
}

}  // namespace tilewright::graph
