// Decides how a host goes through a function (schedule.h): the loop nests, and what is
// materialised.
#pragma once

#include "dsl/codegen/host/plan/schedule.h"

namespace tilewright::dsl {

// For a traced function.
Schedule make_schedule(const Definitions& definitions);

}  // namespace tilewright::dsl
