// Which virtual values of a schedule are materialised in scratch memory, and in which loop nest.
//
// The second half of scheduling (schedule.h): once the loop nests stand, it is known how often each
// value would be computed, and a value that costs more to compute again than to write and read is
// materialised.
#pragma once

#include "dsl/codegen/host/plan/schedule.h"

namespace tilewright::dsl {

// Marks values as materialised and adds the roots and loop nests that do.
void materialise_expensive_values(const Definitions& definitions, Schedule& schedule);

}  // namespace tilewright::dsl
