// Tuning databases and export files for drills, and what is in one as a set of lines, so that "no
// row was lost" and "no row has other numbers" are comparisons of sets.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "autotune/database/tuning_database.h"

namespace tilewright::drills {

using Rows = std::vector<autotune::TuningRow>;
using Lines = std::set<std::string>;

// Rows that no other batch has: `keys` problems with five configurations each.
Rows batch_of_rows(int batch, int keys = 1);
// In one file, without a log.
void make_database(const std::filesystem::path& file, const Rows& rows);
void write_export(const std::filesystem::path& file, const Rows& rows);
// A line a row, as exports have them.
Lines lines_of(const Rows& rows);
Lines lines_in(const std::filesystem::path& database);

bool includes_all(const Lines& all, const Lines& part);
// Files beside it into which a damaged database was moved.
int count_moved_away(const std::filesystem::path& folder);

}  // namespace tilewright::drills
