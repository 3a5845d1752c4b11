// Shared by everything that tunes: whether it may search, the database, how a device is named
// there.
#pragma once

#include "autotune/database/tuning_database.h"
#include "dsl/launch/device.h"

namespace tilewright::autotune {

enum class TunePolicy {
  off,   // defaults
  read,  // known results, or defaults
  on     // unknown results are searched for, and stored
};
// The value of TILEWRIGHT_TUNE: off, read or on; on where it is unset. Raises `Error` for other
// values.
TunePolicy tune_policy();

// The one that TILEWRIGHT_TUNE_DB names, or the cache folder's, opened once a process.
TuningDatabase& shared_tuning_database();

// The device's part of a key; for a GPU that is not there raises `Error`.
Record record_of(const Device& device);

}  // namespace tilewright::autotune
