// Checks of the numbers that schedules are made of.
#pragma once

#include <limits>
#include <source_location>
#include <string_view>

#include "models/optimizers/schedules/lr_schedule.h"

namespace tilewright::detail {

// Raises `Error` for a number that is not finite, or below `least`.
void require_number(std::string_view schedule, std::string_view option, double number,
                    std::source_location w, double least = 0);
// The same for the numbers of all groups.
void require_numbers(std::string_view schedule, std::string_view option, const PerGroup& numbers,
                     std::source_location w);
// Raises `Error` for a number that is not above 0, or not finite.
void require_positive(std::string_view schedule, std::string_view option, double number,
                      std::source_location w);

}  // namespace tilewright::detail
