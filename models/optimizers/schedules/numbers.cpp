#include "models/optimizers/schedules/numbers.h"

#include <cmath>

#include "runtime/base/error.h"

namespace tilewright::detail {

void require_number(std::string_view schedule, std::string_view option, double number,
                    std::source_location w, double least) {
  require(std::isfinite(number) && number >= least, "[", schedule, "] ", option, " is ", number,
          " (at ", describe(w), "); it must be finite",
          std::isfinite(least) ? concat(" and at least ", least) : std::string());
}

void require_numbers(std::string_view schedule, std::string_view option, const PerGroup& numbers,
                     std::source_location w) {
  for (double number : numbers.numbers()) require_number(schedule, option, number, w);
}

void require_positive(std::string_view schedule, std::string_view option, double number,
                      std::source_location w) {
  require(std::isfinite(number) && number > 0, "[", schedule, "] ", option, " is ", number, " (at ",
          describe(w), "); it must be finite and above 0");
}

}  // namespace tilewright::detail
