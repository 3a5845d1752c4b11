#include "models/decoder/cache/group_pages.h"

#include <algorithm>
#include <utility>

#include "graph/functions/dynamic_scalar.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace {

constexpr std::int64_t none = -1, page_rows = PagePool::page_rows;

}  // namespace

GroupPages::GroupPages(std::shared_ptr<PagePool> pool, std::int64_t batch, std::int64_t positions,
                       std::int64_t window)
    : pool_(std::move(pool)),
      window_(window),
      pages_(static_cast<std::size_t>(batch)),
      rests_(static_cast<std::size_t>(batch), false) {
  const std::int64_t pages = PagePool::pages_of(positions);
  auto filled = [&](std::int64_t page) {
    const std::vector<std::int64_t> all(static_cast<std::size_t>(batch * pages), page);
    Tensor table = Tensor::from(all, {batch, pages}).to(pool_->device());
    graph::mark_setting(table);
    return table;
  };
  table_ = filled(CommonPages::missing);
  writable_ = filled(CommonPages::discarded);
}

GroupPages::~GroupPages() {
  for (auto& text : pages_)
    for (Page& page : text) give_back(page);
}

void GroupPages::to(const Device& device) {
  for (Tensor* table : {&table_, &writable_}) table->move_to(device);
}

std::vector<std::int64_t> GroupPages::numbers(std::int64_t text) const {
  std::vector<std::int64_t> all;
  for (const Page& page : pages(text))
    if (page.is_there()) all.push_back(page.number);
  return all;
}

std::int64_t GroupPages::most_pages(std::int64_t rows, std::int64_t rows_a_call) const {
  const std::int64_t all = PagePool::pages_of(rows);
  return window_ == 0 ? all : std::min(all, PagePool::pages_of(window_ + rows_a_call) + 1);
}

bool GroupPages::is_prepared(std::int64_t text, std::int64_t first, std::int64_t rows) const {
  if (rests_[static_cast<std::size_t>(text)]) return true;
  const std::vector<Page>& own = pages(text);
  if (first < 0 || first >= rows_of(text)) return false;
  const std::int64_t end = PagePool::pages_of(first + rows);
  if (end > std::ssize(own)) return false;
  return std::all_of(own.begin() + first / page_rows, own.begin() + end,
                     [](const Page& page) { return page.is_there() && page.is_writable; });
}

bool GroupPages::holds(std::int64_t text, std::int64_t row) const {
  const std::vector<Page>& own = pages(text);
  const std::int64_t first = window_ == 0 ? 0 : std::max<std::int64_t>(row - window_ + 1, 0),
                     end = std::min(PagePool::pages_of(row), std::ssize(own));
  return first / page_rows >= end || std::all_of(own.begin() + first / page_rows, own.begin() + end,
                                                 [](const Page& page) { return page.is_there(); });
}

bool GroupPages::needs_another(const Page& page) const {
  return !page.is_there() || pool_->is_shared(page.number);
}

void GroupPages::give_back(Page& page) {
  if (page.is_there()) pool_->give_back(std::exchange(page.number, none));
}

void GroupPages::write_line(std::int64_t text) {
  const auto count = static_cast<std::size_t>(table_.size(1));
  const bool rests = rests_[static_cast<std::size_t>(text)];
  std::vector<std::int64_t> line(count, rests ? CommonPages::resting : CommonPages::missing),
      writable(count, CommonPages::discarded);
  for (std::size_t at = 0; at < pages(text).size(); ++at) {
    const Page& page = pages(text)[at];
    if (!page.is_there()) continue;
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

std::int64_t GroupPages::wanted(std::int64_t text, std::int64_t first, std::int64_t rows) const {
  const std::vector<Page>& own = pages(text);
  const std::int64_t end = PagePool::pages_of(first + rows);
  std::int64_t count = std::max<std::int64_t>(end - std::ssize(own), 0);
  for (std::int64_t at = first / page_rows; at < std::min(end, std::ssize(own)); ++at) {
    if (needs_another(own[static_cast<std::size_t>(at)])) ++count;
  }
  return count;
}

void GroupPages::prepare(std::int64_t text, std::int64_t first, std::int64_t rows) {
  std::vector<Page>& own = pages(text);
  const std::int64_t end = PagePool::pages_of(first + rows);
  bool is_changed = rests_[static_cast<std::size_t>(text)];
  rests_[static_cast<std::size_t>(text)] = false;
  for (std::int64_t at = first / page_rows; at < std::min(end, std::ssize(own)); ++at) {
    Page& page = own[static_cast<std::size_t>(at)];
    if (!page.is_writable) is_changed = page.is_writable = true;
    if (!needs_another(page)) continue;
    is_changed = true;
    const std::int64_t copy = pool_->take();
    if (page.is_there()) pool_->copy(copy, page.number);
    give_back(page);
    page.number = copy;
  }
  for (; std::ssize(own) < end; is_changed = true) own.push_back({pool_->take()});
  if (is_changed) write_line(text);
}

void GroupPages::drop_before(std::int64_t text, std::int64_t first) {
  const std::int64_t passed = window_ == 0 ? 0 : std::max<std::int64_t>(first - window_ + 1, 0);
  bool is_changed = false;
  for (std::int64_t at = std::min(passed / page_rows, std::ssize(pages(text))); at > 0; --at) {
    Page& page = pages(text)[static_cast<std::size_t>(at - 1)];
    if (!page.is_there()) break;
    give_back(page);
    is_changed = true;
  }
  if (is_changed) write_line(text);
}

void GroupPages::cut(std::int64_t text, std::int64_t rows) {
  std::vector<Page>& own = pages(text);
  const std::int64_t kept = PagePool::pages_of(rows);
  if (std::ssize(own) <= kept) return;
  for (; std::ssize(own) > kept; own.pop_back()) give_back(own.back());
  write_line(text);
}

void GroupPages::rest(std::int64_t text) {
  if (rests_[static_cast<std::size_t>(text)]) return;
  rests_[static_cast<std::size_t>(text)] = true;
  for (Page& page : pages(text)) give_back(page);
  pages(text).clear();
  write_line(text);
}

void GroupPages::begin_as(std::int64_t to, const GroupPages& other, std::int64_t from,
                          std::int64_t rows) {
  std::vector<Page> taken = other.pages(from);
  taken.erase(taken.begin() + PagePool::pages_of(rows), taken.end());
  for (Page& page : taken) {
    page.is_writable = false;
    if (page.is_there()) pool_->share(page.number);
  }
  for (Page& page : pages(to)) give_back(page);
  pages(to) = std::move(taken);
  rests_[static_cast<std::size_t>(to)] = false;
  write_line(to);
}

}  // namespace tilewright
