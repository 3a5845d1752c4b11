#include "models/decoder/cache/text_pages.h"

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/base/error.h"

namespace tilewright {

TextPages::TextPages(std::shared_ptr<PagePool> pool, std::int64_t batch, std::int64_t positions)
    : pool_(std::move(pool)) {
  for (std::int64_t window : pool_->groups().windows)
    groups_.emplace_back(pool_, batch, positions, window);
}

KeyValueCache TextPages::cache(std::size_t layer) const {
  const auto [group, slot] = pool_->groups().layers[layer];
  return pool_->slot(slot).with_table(groups_[group].table(), groups_[group].writable());
}

std::int64_t TextPages::pages_of(std::int64_t text) const {
  std::int64_t count = 0;
  for (const GroupPages& group : groups_) count += std::ssize(group.numbers(text));
  return count;
}

std::int64_t TextPages::distinct_pages() const {
  std::set<std::int64_t> all;
  for (const GroupPages& group : groups_)
    for (std::int64_t text = 0; text < batch(); ++text)
      for (std::int64_t page : group.numbers(text)) all.insert(page);
  return std::ssize(all);
}

std::int64_t TextPages::most_pages(std::int64_t rows, std::int64_t rows_a_call) const {
  std::int64_t count = 0;
  for (const GroupPages& group : groups_) count += group.most_pages(rows, rows_a_call);
  return count;
}

bool TextPages::is_prepared(std::int64_t text, std::int64_t first, std::int64_t rows) const {
  return std::ranges::all_of(
      groups_, [&](const GroupPages& group) { return group.is_prepared(text, first, rows); });
}

bool TextPages::holds(std::int64_t text, std::int64_t rows) const {
  return std::ranges::all_of(groups_,
                             [&](const GroupPages& group) { return group.holds(text, rows); });
}

void TextPages::to(const Device& device) {
  pool_->to(device);
  for (GroupPages& group : groups_) group.to(device);
}

void TextPages::prepare(std::int64_t text, std::int64_t first, std::int64_t rows) {
  check(first >= 0 && rows > 0 && first + rows <= positions(), "rows outside of a text's pages");
  require(holds(text, first), "[pages] rows before row ", first, " of text ", text,
          " are gone: a layer's window had passed them; read the text from its beginning");
  std::int64_t wanted = 0;
  for (GroupPages& group : groups_) {
    group.drop_before(text, first);
    wanted += group.wanted(text, first, rows);
  }
  require(wanted <= pool_->free_pages(), "[pages] text ", text, " needs ", wanted, " more of ",
          PagePool::page_rows, " rows for its rows ", first, " to ", first + rows - 1, "; ",
          pool_->free_pages(), " of ", pool_->pages(),
          " are free: end a text, or make the pool larger (LanguageModel::new_pages)");
  for (GroupPages& group : groups_) group.prepare(text, first, rows);
}

void TextPages::cut(std::int64_t text, std::int64_t rows) {
  for (GroupPages& group : groups_) group.cut(text, rows);
}

void TextPages::rest(std::int64_t text) {
  for (GroupPages& group : groups_) group.rest(text);
}

void TextPages::begin_as(std::int64_t to, const TextPages& other, std::int64_t from,
                         std::int64_t rows) {
  const std::int64_t there = other.groups_[0].rows_of(from);
  require(rows <= there, "[copy_text] ", rows, " rows of text ", from, ", which has pages for ",
          there, "; no more than these can be copied");
  require(other.holds(from, rows), "[copy_text] the first ", rows, " rows of text ", from,
          "; a layer's window had passed some of them, whose pages are gone");
  for (std::size_t group = 0; group < groups_.size(); ++group)
    groups_[group].begin_as(to, other.groups_[group], from, rows);
}

}  // namespace tilewright
