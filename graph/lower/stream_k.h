// Stream-K: a product's last tiles are shared along the inner axis.
//
// Tiles are made in waves, one a multiprocessor. Where 288 tiles meet 132 multiprocessors, the
// third wave has 24 tiles and takes as long as each before it. Here the last tiles, the stream-K
// band, are made as split-K makes all: several programs each add up a part of the inner axis, leave
// it in scratch memory, and a last program adds up the parts, always in the same order, and makes
// what follows from the product. All other tiles are the ordinary program's, in whole waves:
//
//   24 rows of 12 tiles      rows 0-21    264 tiles, 2 waves              the program as ever
//   132 at a time            rows 22-23   24 tiles, 4 programs each       a quarter of a wave
//
// so that 3 waves become two and a quarter. (As published, Osama, Merrill, Cecka, Garland and
// Owens, "Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on
// the GPU", 2023, the steps of all tiles of the band are one row of steps, cut into equal runs, one
// a multiprocessor. That fills the last wave to the last step, but each program must find its
// tiles, which are up to two, and a sum's parts lie at places that are to be computed. A band that
// is a band of whole rows or columns of tiles, each in equal parts, needs no more than a grid that
// begins further down; by the model below its products take 1 % longer, the mean over 384 sizes for
// which either is worth it on an H100.)
//
// The band costs two launches, and its partial results are written and read. A model of waves, as
// many steps as the slowest multiprocessor makes, weighs both against the savings, for every band
// and number of parts, and takes none unless a tenth of the time is saved. Tuning times one that
// saves less, too, and its opposite. Where a multiprocessor has two tiles in the works at a time,
// one alone takes half as long, or as long, or something between: a band must save by either
// reckoning.
//
// It is not for products that wait for memory, and regions that reduce rows too have none, since
// each of the programs that share would recompute the reductions.
#pragma once

#include <cstdint>
#include <optional>

#include "dsl/target/target.h"

namespace tilewright::graph {

struct StreamKBand {
  bool of_columns = false;  // the last columns of tiles, and not the last rows
  std::int64_t tiles = 0;   // that many rows or columns of them
  std::int64_t splits = 1;  // programs that share each tile
};

// The basis of the choice: a table of `tables` x row_tiles x column_tiles tiles.
struct StreamKWork {
  std::int64_t tables = 1, row_tiles = 1, column_tiles = 1;
  std::int64_t rows = 1, columns = 1;  // of a tile
  std::int64_t depth = 1, steps = 1;   // of the inner axis; no two programs share a step
  std::int64_t products = 1;
  std::int64_t element_bytes = 1;  // of operands
  std::int64_t operand_bytes = 0;  // of all, each read once
  bool may_cut_columns = true;
};

struct StreamKRequest {
  std::int64_t tiles = 0;     // rows or columns of tiles, whatever that saves; 0: the best
  std::int64_t splits = 0;    // 0: the best
  double least_saving = 0.1;  // of the time; where no number of tiles is asked for
};
// The best band. Nothing where none saves enough, or there is one tile, or nothing to share.
std::optional<StreamKBand> plan_stream_k(const StreamKWork& work, const dsl::Target& target,
                                         const StreamKRequest& request = {});

}  // namespace tilewright::graph
