#include "models/decoder/cache/text_pages.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "graph/functions/dynamic_scalar.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace {
constexpr std::int64_t none = -1;
}  // namespace

TextPages::TextPages(std::shared_ptr<PagePool> pool, std::int64_t batch, std::int64_t positions)
    : pool_(std::move(pool)), pages_(static_cast<std::size_t>(batch)) {
  const std::int64_t pages = PagePool::pages_of(positions);
  const std::vector<std::int64_t> empty(static_cast<std::size_t>(batch * pages), none);
  for (Tensor* table : {&table_, &writable_}) {
    *table = Tensor::from(empty, {batch, pages}).to(pool_->device());
    graph::mark_setting(*table);
  }
}

TextPages::~TextPages() {
  for (const auto& text : pages_)
    for (const Page& page : text) pool_->give_back(page.number);
}

std::int64_t TextPages::distinct_pages() const {
  std::set<std::int64_t> all;
  for (const auto& text : pages_)
    for (const Page& page : text) all.insert(page.number);
  return std::ssize(all);
}

bool TextPages::is_prepared(std::int64_t text, std::int64_t first, std::int64_t rows) const {
  const std::vector<Page>& own = pages(text);
  const std::int64_t end = PagePool::pages_of(first + rows);
  if (first < 0 || end > std::ssize(own)) return false;
  return std::all_of(own.begin() + first / PagePool::page_rows, own.begin() + end,
                     [](const Page& page) { return page.is_writable; });
}

void TextPages::to(const Device& device) {
  pool_->to(device);
  for (Tensor* table : {&table_, &writable_}) table->move_to(device);
}

void TextPages::write_line(std::int64_t text) {
  const auto count = static_cast<std::size_t>(table_.size(1));
  std::vector<std::int64_t> line(count, none), writable(count, none);
  for (std::size_t at = 0; at < pages(text).size(); ++at) {
    const Page& page = pages(text)[at];
    line[at] = page.number;
    if (page.is_writable) writable[at] = page.number;
  }
  auto write = [&](Tensor& table, const std::vector<std::int64_t>& numbers) {
    Tensor place = table.select(0, text);
    place.copy_from(Tensor::from(numbers, {table.size(1)}));
  };
  write(table_, line);
  write(writable_, writable);
}

void TextPages::prepare(std::int64_t text, std::int64_t first, std::int64_t rows) {
  check(first >= 0 && rows > 0 && first + rows <= positions(), "rows outside of a text's pages");
  if (is_prepared(text, first, rows) && !shares(text, first, rows)) return;
  const std::int64_t end = PagePool::pages_of(first + rows);
  std::vector<Page>& own = pages(text);
  std::vector<Page*> wanted, shared;
  for (std::int64_t at = first / PagePool::page_rows; at < std::min(end, std::ssize(own)); ++at)
    wanted.push_back(&own[static_cast<std::size_t>(at)]);
  std::ranges::copy_if(wanted, std::back_inserter(shared),
                       [&](const Page* page) { return pool_->is_shared(page->number); });
  const std::int64_t more = std::max<std::int64_t>(end - std::ssize(own), 0);
  require(more + std::ssize(shared) <= pool_->free_pages(), "[pages] text ", text, " needs ",
          more + std::ssize(shared), " more of ", PagePool::page_rows, " rows for its rows ", first,
          " to ", first + rows - 1, "; ", pool_->free_pages(), " of ", pool_->pages(),
          " are free: end a text, or make the pool larger (LanguageModel::new_pages)");
  for (Page* page : shared) {
    const std::int64_t copy = pool_->take();
    pool_->copy(copy, page->number);
    pool_->give_back(std::exchange(page->number, copy));
  }
  for (Page* page : wanted) page->is_writable = true;
  for (std::int64_t i = 0; i < more; ++i) own.push_back({pool_->take()});
  write_line(text);
}

bool TextPages::shares(std::int64_t text, std::int64_t first, std::int64_t rows) const {
  const std::vector<Page>& own = pages(text);
  return std::any_of(own.begin() + first / PagePool::page_rows,
                     own.begin() + PagePool::pages_of(first + rows),
                     [&](const Page& page) { return pool_->is_shared(page.number); });
}

void TextPages::cut(std::int64_t text, std::int64_t rows) {
  std::vector<Page>& own = pages(text);
  const std::int64_t kept = PagePool::pages_of(rows);
  if (std::ssize(own) <= kept) return;
  for (; std::ssize(own) > kept; own.pop_back()) pool_->give_back(own.back().number);
  write_line(text);
}

void TextPages::begin_as(std::int64_t to, const TextPages& other, std::int64_t from,
                         std::int64_t rows) {
  std::vector<Page> taken = other.pages(from);
  const std::int64_t count = PagePool::pages_of(rows);
  require(count <= std::ssize(taken), "[copy_text] the first ", rows, " rows of text ", from,
          ", which has pages for ", std::ssize(taken) * PagePool::page_rows);
  taken.erase(taken.begin() + count, taken.end());
  for (Page& page : taken) {
    page.is_writable = false;
    pool_->share(page.number);
  }
  for (const Page& page : pages(to)) pool_->give_back(page.number);
  pages(to) = std::move(taken);
  write_line(to);
}

}  // namespace tilewright
