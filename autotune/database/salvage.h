// Putting a new file in the place of a damaged one, with every row of it that can still be read.
//
// The damaged file is moved aside and never written; of those that were moved aside the newest four
// are kept. Its pages are read one by one (sqlite_pages.h); rows prove themselves by their ids and
// checksums, and a row that is found in several versions is joined (tuning_row.h), so that neither
// order nor repetition matters.
#pragma once

#include <filesystem>

#include "autotune/database/sql/sql_connection.h"

namespace tilewright::autotune {

struct SalvageReport {
  bool was_replaced_already = false;  // by another process
  std::filesystem::path moved_to;     // the damaged file
  std::int64_t rows = 0;              // that the new file holds
};

// One process at a time does this to a file. `inode` is that of the file that was found damaged.
// Raises `SqlError`: `foreign` if nothing in the file says that it is ours, unless `is_ours`;
// `unavailable` if it cannot be moved.
SalvageReport replace_damaged(const std::filesystem::path& file, std::uint64_t inode, bool is_ours);

}  // namespace tilewright::autotune
