// Which virtual values of a schedule are kept in scratch memory, and in which sweep.
//
// The second half of scheduling (schedule.h): once the sweeps stand, it is known how often each
// value would be computed, and a value that costs more to compute again than to write and read is
// kept.
#pragma once

#include "dsl/codegen/host/schedule.h"

namespace tilewright::dsl {

// Marks values as kept and adds the roots and sweeps that keep them.
void keep_dear_values(const Definitions& definitions, Schedule& schedule);

}  // namespace tilewright::dsl
