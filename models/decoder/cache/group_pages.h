// The pages that the texts of one state have for one group of layers (layer_groups.h): for the
// host, and as tables that the model's programs read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/decoder/cache/page_pool.h"

namespace tilewright {

class GroupPages {
 public:
  // For `batch` texts of up to `positions` rows, of which a row sees `window`, or all for 0.
  GroupPages(std::shared_ptr<PagePool> pool, std::int64_t batch, std::int64_t positions,
             std::int64_t window);
  ~GroupPages();
  GroupPages(const GroupPages&) = delete;
  GroupPages& operator=(const GroupPages&) = delete;

  // i64 [batch, pages of a text]: numbers of pages, a common one where a text has none.
  const Tensor& table() const { return table_; }
  // Likewise, and the one for discarded rows in place of pages of other texts until they are
  // prepared: a call whose rows were forgotten writes to no page of another text.
  const Tensor& writable() const { return writable_; }
  void to(const Device& device);

  std::vector<std::int64_t> numbers(std::int64_t text) const;  // of the pages that it has
  // Rows that its pages go up to.
  std::int64_t rows_of(std::int64_t text) const {
    return std::ssize(pages(text)) * PagePool::page_rows;
  }
  // The pages that a text of so many rows has at the most, if calls have up to `rows_a_call`.
  std::int64_t most_pages(std::int64_t rows, std::int64_t rows_a_call) const;
  bool is_prepared(std::int64_t text, std::int64_t first, std::int64_t rows) const;
  // True if the text has all pages that row number `row` sees before itself.
  bool holds(std::int64_t text, std::int64_t row) const;

  // As TextPages has them. `prepare` takes as many pages as `wanted` says, which must be free.
  std::int64_t wanted(std::int64_t text, std::int64_t first, std::int64_t rows) const;
  void prepare(std::int64_t text, std::int64_t first, std::int64_t rows);
  void cut(std::int64_t text, std::int64_t rows);
  void begin_as(std::int64_t to, const GroupPages& other, std::int64_t from, std::int64_t rows);
  void rest(std::int64_t text);
  // Gives pages back that no row from `first` on sees.
  void drop_before(std::int64_t text, std::int64_t first);

 private:
  struct Page {
    std::int64_t number;  // -1: given back, as the window has passed it
    bool is_writable = true;
    bool is_there() const { return number >= 0; }
  };
  std::vector<Page>& pages(std::int64_t text) { return pages_[static_cast<std::size_t>(text)]; }
  const std::vector<Page>& pages(std::int64_t text) const {
    return pages_[static_cast<std::size_t>(text)];
  }
  // True if a text needs another page in place of this one to write to it.
  bool needs_another(const Page& page) const;
  void give_back(Page& page);
  void write_line(std::int64_t text);

  std::shared_ptr<PagePool> pool_;
  std::int64_t window_;
  std::vector<std::vector<Page>> pages_;  // of each text, from its first row on
  std::vector<bool> rests_;               // of each text: nothing is wanted of it
  Tensor table_, writable_;
};

}  // namespace tilewright
