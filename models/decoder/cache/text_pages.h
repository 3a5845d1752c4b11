// The pages of the texts of one state: which page of a pool has which rows of a text, for the host,
// and as a table that the model's programs read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/decoder/cache/page_pool.h"

namespace tilewright {

class TextPages {
 public:
  // For `batch` texts of up to `positions` rows, at first without pages.
  TextPages(std::shared_ptr<PagePool> pool, std::int64_t batch, std::int64_t positions);
  ~TextPages();
  TextPages(const TextPages&) = delete;
  TextPages& operator=(const TextPages&) = delete;

  std::int64_t batch() const { return table_.size(0); }
  std::int64_t positions() const { return table_.size(1) * PagePool::page_rows; }
  const std::shared_ptr<PagePool>& pool() const { return pool_; }
  std::int64_t pages_of(std::int64_t text) const { return std::ssize(pages(text)); }
  // True if `prepare` has made these rows writable.
  bool is_prepared(std::int64_t text, std::int64_t first, std::int64_t rows) const;
  std::int64_t distinct_pages() const;
  // i64 [batch, pages of a text]: numbers of pages, and -1 for those that a text does not have.
  const Tensor& table() const { return table_; }
  // Likewise, and -1 for those of other texts, too, until they are prepared: a call whose rows were
  // forgotten writes to no page of another text.
  const Tensor& writable() const { return writable_; }
  void to(const Device& device);

  // Makes rows `first` to `first + rows - 1` of a text writable: takes pages for them, and copies
  // those that it shares. Raises `Error` where the pool has too few.
  void prepare(std::int64_t text, std::int64_t first, std::int64_t rows);
  // Gives pages back that have none of the first `rows` rows.
  void cut(std::int64_t text, std::int64_t rows);
  // Text `to` begins as text `from` of the other state of this pool: it shares the pages of its
  // first `rows` rows.
  void begin_as(std::int64_t to, const TextPages& other, std::int64_t from, std::int64_t rows);

 private:
  struct Page {
    std::int64_t number;
    bool is_writable = true;
  };
  std::vector<Page>& pages(std::int64_t text) { return pages_[static_cast<std::size_t>(text)]; }
  const std::vector<Page>& pages(std::int64_t text) const {
    return pages_[static_cast<std::size_t>(text)];
  }
  bool shares(std::int64_t text, std::int64_t first, std::int64_t rows) const;
  void write_line(std::int64_t text);

  std::shared_ptr<PagePool> pool_;
  std::vector<std::vector<Page>> pages_;  // of each text
  Tensor table_, writable_;
};

}  // namespace tilewright
