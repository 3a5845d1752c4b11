// One program for a region whose tasks are all seen as tables of rows.
//
// A value is made where it is first wanted. A value that is too wide for one tile, or has too deep
// a product, is processed by a loop over chunks, in which everything that depends on the chunk is
// recomputed. The frame, reads and stores stand in rows.cpp; how columns are reduced in
// rows_reduction.cpp; products in rows_product.cpp, and their weights in rows_weights.cpp.
//
// Where programs share the inner axes of products, one program makes parts of the products and
// leaves them in scratch memory, and another adds them up and makes all the rest.
#pragma once

#include <functional>

#include "graph/lower/block_sizes.h"
#include "graph/lower/frame.h"
#include "graph/lower/lower.h"

namespace tilewright::graph {

// A program's way to compute the products of its region.
enum class ProductStage : std::uint8_t {
  whole,     // makes them
  partial,   // makes its part of each along the inner axis, and nothing else
  combining  // adds up the parts that were left
};

// For each product its parts, [programs that share its inner axis, rows, columns], of a band its
// rows and columns.
std::vector<Scratch> product_parts(const TaskList& list, const Region& region,
                                   const RowBlocks& blocks);

// How many programs there are along each axis of a grid, and what the axes are.
struct RowsGrid {
  std::int64_t counts[3];
  int row_axis, column_axis, outer_axis;
};
// Programs for so many rows of the digit that is cut and columns, `splits` of which share the inner
// axes of products.
RowsGrid grid_of_rows(const Region& region, const RowBlocks& blocks, std::int64_t rows,
                      std::int64_t columns, std::int64_t splits);

class RowsProgram {
 public:
  RowsProgram(const TaskList& list, const Region& region, const dsl::Target& target,
              const RowBlocks& blocks, ProductStage stage);
  LoweredProgram emit();

 private:
  using Operand = dsl::Operand;
  using Tile = dsl::Tile;
  // Which columns of a value: all, this program's block of them, or the chunk that a loop is at.
  enum class Part : std::uint8_t { whole, block, chunk };
  struct Columns {
    Part part;
    Tile start;             // of a chunk
    std::int64_t size = 0;  // of a chunk; the last one may reach beyond the value
  };
  static Columns whole_row() { return {Part::whole, {}}; }
  static Columns block_of_row() { return {Part::block, {}}; }
  // A block of a table in memory, and where to access it. Rows or columns that are all the same are
  // one.
  struct Block {
    Matrix matrix;
    Operand row, column;
    Shape shape;
  };

  const Task& task(std::size_t slot) const { return list_.tasks[region_.tasks[slot]]; }
  std::optional<std::size_t> producer(const TaskOperand& operand) const {
    return operand.producer ? region_.slot(*operand.producer) : std::nullopt;
  }
  bool varies_by_row(const std::vector<std::int64_t>& strides) const {
    return blocks_.digit && strides[*blocks_.digit] != 0;
  }
  bool is_product(std::size_t slot) const { return task(slot).kind == TaskKind::contraction; }
  // Which tasks the program computes, or reads in parts.
  std::vector<bool> needed_tasks() const;
  void add_parameters();
  // The rows of the digit that is cut, or the columns, that the program's grid goes through: all,
  // or a band, or those outside it.
  struct Band {
    std::int64_t first = 0, size = 1;
  };
  Band band(std::int64_t size, std::int64_t tail) const;
  // Programs take blocks of columns, blocks of the row digit, and one value of the other digits.
  void open_grid();
  // Where this program's block begins. The last one is moved back to end with the table, so that no
  // block needs a mask: some elements are then computed twice, which must not happen where the
  // second time would read the writes of the first.
  Tile block_start(const Tile& index, std::int64_t block, const Band& band) const;
  Operand row() const { return row_.defined() ? Operand(row_) : Operand(0); }
  Operand column(const Columns& columns) const;
  // The offset of the table's first element that this program sees, without rows and columns, and
  // without the digit `but`.
  Offset outer_offset(std::int64_t offset, const std::vector<std::int64_t>& strides,
                      std::optional<std::size_t> but = std::nullopt);
  bool lies_behind_rows(const std::vector<std::int64_t>& strides, std::int64_t step) const;
  // Where the number of rows is an argument, the matrix begins and ends with the rows of the block,
  // of which there may be fewer than its tiles have; but prefetched elements lie behind it.
  Block block_of(const Tile& pointer, const TableAccess& access, std::int64_t width,
                 const Columns& columns, bool is_ahead = false);
  // The axis of tiles that rows and columns are.
  int row_axis() const { return blocks_.columns_first ? 1 : 0; }
  int column_axis() const { return 1 - row_axis(); }
  std::int64_t width_of(std::int64_t width, const Columns& columns) const;
  bool is_in_chunks(std::int64_t width) const {
    return blocks_.chunk != 0 && width > blocks_.chunk;
  }
  // For a constant that counts; nothing where it is read.
  std::optional<Tile> counted(const Storage& storage, const TableAccess& access, std::int64_t width,
                              const Columns& columns);
  // Each block of memory is read once, whichever tasks want it.
  Tile load(const TaskOperand& operand, const Table& seen, const Columns& columns);
  void prefetch_next(const TaskOperand& operand, const TableAccess& access, const Block& block);
  Tile operand(std::size_t slot, std::size_t i, const Columns& columns);
  // The columns of a task's value for `columns` of the table; it may have one for all of them.
  Columns of_value(std::size_t slot, const Columns& columns) const;
  // A task's value for this program's rows.
  Tile value(std::size_t slot, Columns columns);
  Tile compute(std::size_t slot, const Columns& columns);
  // Makes the parts of the value's computation that are the same for all of its chunks.
  void prepare(std::size_t slot, std::vector<bool>& seen);
  void prepare(const TaskOperand& operand);
  // Has what products multiply by made before a loop over their columns: the host packs it there.
  void prepare_products();
  // A run of columns that is gone through in chunks of `size`.
  struct Run {
    Tile first;  // undefined: 0
    Operand length;
    std::int64_t size;
  };
  // This program's part of a row that is in chunks: all of it, or its share in the cluster.
  Run part_of_row(std::int64_t width) const;
  // True if that is one chunk, which stays in registers.
  bool is_resident() const { return blocks_.shares_rows() && blocks_.share == blocks_.chunk; }
  // The reduction over the programs of a cluster, each with its part of a row.
  Tile over_cluster(const Tile& x, ir::ReduceKind kind) const;
  // body(chunk) for each chunk. Values made in it are known only in the loop, if there is one.
  void for_each_chunk(const Run& run, const std::function<void(const Columns&)>& body);
  // A chunk with `rest` where it reaches beyond the width.
  Tile filled(const Tile& x, std::int64_t width, const Columns& chunk, ir::Scalar rest) const;
  Tile pointwise(std::size_t slot, const Columns& columns);
  // The value with its broadcast columns, and rows if wanted, spelt out.
  Tile spread(const Tile& x, std::int64_t columns, std::int64_t rows = 0) const;
  Tile reduction(std::size_t slot);
  // The task of max(x) for that of exp(x - max(x)).
  std::optional<std::size_t> row_max_below(std::size_t exponential) const;
  Tile exp_below_zero(const Tile& x) const;
  // The task of the sum of exp(x - max(x)) for that of max(x), and the other way round.
  std::optional<std::size_t> exponentials_of(std::size_t row_max) const;
  std::optional<std::size_t> row_max_of(std::size_t exponentials) const;
  Tile row_max_with_exponentials(std::size_t row_max, std::size_t exponentials);
  Tile reduction_in_chunks(const Task& t, std::int64_t width,
                           const std::function<Tile(const Columns&)>& part);
  Tile index_in_chunks(const Task& t, std::int64_t width,
                       const std::function<Tile(const Columns&)>& part);
  DType chunk_dtype(const Task& reduction) const;
  Shape line_of_chunks() const;
  Tile product(std::size_t slot, const Columns& columns);
  // A block of a product's second operand, the inner axis first, or last if it lies `along_depth`.
  Tile weights(std::size_t slot, const Columns& along, const Columns& columns, bool along_depth);
  Tile packed_weights(std::size_t slot, const Columns& along, const Columns& columns);
  Tile loaded_weights(std::size_t slot, const Columns& along, const Columns& columns,
                      bool along_depth);
  // One that is computed has an axis for each digit of the inner axis, the outermost first, while
  // it is computed.
  struct WeightBlock;
  Tile computed_weights(std::size_t slot, const Columns& along, const Columns& columns,
                        bool along_depth);
  Tile weight_value(std::size_t slot, WeightBlock& block);
  struct WeightAxes;
  static WeightAxes axes_of(const IndexMap& columns, const IndexMap& inner,
                            const WeightBlock& block);
  // The row that a gather among weights names, kept within the table.
  struct LookedUpRow {
    Tile number, is_inside;
  };
  LookedUpRow looked_up_row(std::size_t slot);
  Tile looked_up_weights(std::size_t slot, const WeightBlock& block);
  Tile masked_product(std::size_t slot, const Tile& sum);
  Tile weight_load(const TaskOperand& operand, const Table& seen, const WeightBlock& block);
  // How caches treat a product's second operand in memory, whose steps along the row digits are
  // `strides`.
  ir::CachePolicy weight_policy(const TaskOperand& operand,
                                const std::vector<std::int64_t>& strides) const;
  bool weights_lie_along_depth(const Task& product) const;
  // This program's part of a product, in the type that it is summed up in.
  bool sums_in_order_of_rows(const Task& product) const;
  Tile product_sum(std::size_t slot, const Columns& columns);
  Tile sum_of_dots(std::size_t slot, const Columns& columns);
  Tile sum_of_elements(std::size_t slot, const Columns& columns);
  // The sum that `add` computes over this program's part of the inner axis: add(columns of it, sum
  // so far).
  Tile over_inner_axis(const Task& product, const Shape& sum_shape,
                       const std::function<Tile(const Columns&, const Tile&)>& add);
  std::int64_t inner_chunk(const Task& product) const;  // the size of such columns
  // Columns of a product's first operand.
  Tile first_operand(std::size_t slot, const Columns& along);
  Block parts_block(std::size_t slot, Offset part, const Columns& columns) const;
  void store_parts();
  Tile combined_product(std::size_t slot, const Columns& columns);
  // The row number that operand `i` gives for this program's one row.
  Tile row_number(std::size_t slot, std::size_t i);
  // A row outside the table reads as zeros.
  Tile gather(std::size_t slot, const Columns& columns);
  static Tile numbers(const Tile& ids, std::int64_t count, std::int64_t stride);
  Tile gathered_elements(std::size_t slot, const Columns& columns);
  // Values that are wider than a tile, and are this program's alone, are stored in chunks, all that
  // are equally wide together; before the first chunk overwrites anything, the values that they and
  // the others need are made.
  void store_all();
  void store(std::size_t slot, const Columns& columns);

  struct Loaded {
    StorageId storage;
    TableAccess access;  // its width too
    Part part;
    Tile tile;
  };
  using Tiles = std::vector<Tile>;  // of each task
  struct Known {
    Tiles whole, block, chunk;
    std::vector<Loaded> loaded;
    Tiles& of(Part part) {
      switch (part) {
        case Part::whole: return whole;
        case Part::block: return block;
        case Part::chunk: return chunk;
      }
      __builtin_unreachable();
    }
  };
  const TaskList& list_;
  const Region& region_;
  const dsl::Target& target_;
  RowBlocks blocks_;
  ProductStage stage_;
  dsl::Tracer tracer_;
  Parameters parameters_;
  SizeArguments sizes_;
  std::vector<std::int64_t> digits_;
  Grid grid_;
  Band rows_, columns_;
  // For the digit that is cut, where its size is an argument: how many rows there are, how many
  // each program has, and this one.
  Tile row_count_, row_step_, block_rows_;
  Tile row_, column_;          // first row and column of this program; undefined: 0
  Tile panel_;                 // of packed weights the first, where there is a first column
  std::vector<Tile> indices_;  // of the digits that are not cut in blocks
  Tile split_;                 // which part of inner axes is this program's; undefined: all
  Tile rank_;                  // of this program among those that share a row; undefined: alone
  std::vector<Tile> parts_;    // scratch memory of each product
  Known known_;                // what has been made
};

}  // namespace tilewright::graph
