// The tables that `tilewright db` shows.
#pragma once

#include "tools/console/table.h"
#include "tools/database/selection.h"

namespace tilewright::tools {

// "1 row", "2 rows"
std::string rows_text(std::size_t count);

// A line per question: the trials, and the best of them.
Table question_table(const std::vector<Question>& questions);
// A line a row, the fastest first.
Table row_table(const std::vector<Question>& questions);
// A line a question: winner and runner-up.
Table best_table(const std::vector<Question>& questions);
// A line an observation, in the order of their dates, with the best time until then.
Table history_table(const std::vector<Question>& questions);
// A line a difference between the key and the nearest one that is stored.
Table miss_table(const autotune::Miss& miss);
// A line a question whose rows are not the same in both: how many are in one alone, how many
// differ, and the best of each.
Table difference_table(const std::vector<Question>& a, const std::vector<Question>& b);
// A line a figure: rows, keys, builds, bytes; rows by status, by device, by build.
Table statistics_table(TuningDatabase& database);

}  // namespace tilewright::tools
