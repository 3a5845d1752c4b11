// The pages of the texts of one state: which pages of a pool have which rows of a text.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "models/decoder/cache/group_pages.h"

namespace tilewright {

class TextPages {
 public:
  // For `batch` texts of up to `positions` rows, at first without pages.
  TextPages(std::shared_ptr<PagePool> pool, std::int64_t batch, std::int64_t positions);

  std::int64_t batch() const { return groups_[0].table().size(0); }
  std::int64_t positions() const { return groups_[0].table().size(1) * PagePool::page_rows; }
  const std::shared_ptr<PagePool>& pool() const { return pool_; }
  KeyValueCache cache(std::size_t layer) const;  // that sees these texts
  std::int64_t pages_of(std::int64_t text) const;
  std::int64_t distinct_pages() const;
  // The pages that one of these texts has at the most with so many rows, if calls of up to
  // `rows_a_call` write them; one more of each group where it began as another text.
  std::int64_t most_pages(std::int64_t rows, std::int64_t rows_a_call) const;
  // True if `prepare` has made these rows writable.
  bool is_prepared(std::int64_t text, std::int64_t first, std::int64_t rows) const;
  // True if a text of so many rows can go on from there: pages that a window has passed are gone.
  bool holds(std::int64_t text, std::int64_t rows) const;
  void to(const Device& device);

  // Makes rows `first` to `first + rows - 1` of a text writable: takes pages for them, copies those
  // that it shares, and gives those back that these rows and later ones do not see. Raises `Error`
  // where the pool has too few, or where pages are gone that the rows see.
  void prepare(std::int64_t text, std::int64_t first, std::int64_t rows);
  // Gives pages back that have none of the first `rows` rows.
  void cut(std::int64_t text, std::int64_t rows);
  // Gives all pages back; calls read zeros for the text until rows of it are prepared.
  void rest(std::int64_t text);
  // Text `to` begins as text `from` of the other state of this pool: it shares the pages of its
  // first `rows` rows. Raises `Error` for rows that it does not have any more.
  void begin_as(std::int64_t to, const TextPages& other, std::int64_t from, std::int64_t rows);

 private:
  std::shared_ptr<PagePool> pool_;
  std::deque<GroupPages> groups_;  // of the pool's groups of layers
};

}  // namespace tilewright
