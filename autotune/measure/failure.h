// How a candidate failed, which the database stores instead of times.
#pragma once

#include <exception>
#include <string>

#include "autotune/database/row/tuning_row.h"
#include "autotune/measure/child.h"

namespace tilewright::autotune {

// Status ok means that there was no failure.
struct Failure {
  Status status = Status::ok;
  std::string reason = {};  // for people
  explicit operator bool() const { return status != Status::ok; }
};

// The failure that corresponds to an exception from compiling or running a candidate in this
// process.
Failure failure_of(const std::exception& error);
// How the child in which it ran ended; no failure if it was done.
Failure failure_of(const ChildResult& result);

}  // namespace tilewright::autotune
