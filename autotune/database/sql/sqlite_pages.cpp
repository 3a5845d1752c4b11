// The format is that of https://www.sqlite.org/fileformat2.html, sections 1.3 to 2.1 and 4.1.
#include "autotune/database/sql/sqlite_pages.h"

#include <bit>
#include <cstring>
#include <fstream>
#include <optional>
#include <span>
#include <unordered_map>

namespace tilewright::autotune {
namespace {

using Bytes = std::span<const unsigned char>;
constexpr std::size_t largest_record_bytes = 1 << 20;
constexpr std::size_t most_columns = 64;
// How often an overflow page may be visited, for each page of the file: more often than files of
// SQLite need, although the log may hold several versions of a page. In a malicious file each of
// thousands of records could continue through all pages.
constexpr std::uint64_t most_visits_of_a_page = 64;

std::uint64_t big_endian(Bytes bytes) {
  std::uint64_t value = 0;
  for (unsigned char byte : bytes) value = value << 8 | byte;
  return value;
}

// Reads from the front of `bytes`, which it shortens; nothing where they end too early.
std::optional<std::uint64_t> varint(Bytes& bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 9 && i < bytes.size(); ++i) {
    unsigned char byte = bytes[i];
    bool is_last = i == 8 || byte < 0x80;
    value = i == 8 ? value << 8 | byte : value << 7 | (byte & 0x7f);
    if (is_last) {
      bytes = bytes.subspan(i + 1);
      return value;
    }
  }
  return {};
}

std::optional<Bytes> take(Bytes& bytes, std::uint64_t count) {
  if (count > bytes.size()) return {};
  Bytes front = bytes.first(count);
  bytes = bytes.subspan(count);
  return front;
}

std::optional<SqliteCell> read_cell(std::uint64_t type, Bytes& body) {
  if (type == 0) return SqliteCell();
  if (type == 8 || type == 9) return SqliteCell(static_cast<std::int64_t>(type - 8));
  if (type == 10 || type == 11) return {};
  if (type >= 12) {
    std::optional<Bytes> text = take(body, (type - 12) / 2);
    if (!text) return {};
    return SqliteCell(std::string(text->begin(), text->end()));
  }
  constexpr std::size_t sizes[] = {0, 1, 2, 3, 4, 6, 8, 8};
  std::optional<Bytes> number = take(body, sizes[type]);
  if (!number) return {};
  std::uint64_t bits = big_endian(*number);
  if (type == 7) return SqliteCell(std::bit_cast<double>(bits));
  unsigned unused = 64 - 8 * static_cast<unsigned>(sizes[type]);
  return SqliteCell(static_cast<std::int64_t>(bits << unused) >> unused);
}

std::optional<std::vector<SqliteCell>> read_record(Bytes payload) {
  Bytes rest = payload;
  std::optional<std::uint64_t> header_size = varint(rest);
  if (!header_size || *header_size > payload.size()) return {};
  Bytes header = payload.first(*header_size), body = payload.subspan(*header_size);
  varint(header);
  std::vector<SqliteCell> cells;
  while (!header.empty()) {
    std::optional<std::uint64_t> type = varint(header);
    if (!type || cells.size() == most_columns) return {};
    std::optional<SqliteCell> cell = read_cell(*type, body);
    if (!cell) return {};
    cells.push_back(std::move(*cell));
  }
  return cells;
}

class PagesOfFile {
 public:
  PagesOfFile(const std::filesystem::path& file,
              const std::function<void(const SqliteRecord&)>& each)
      : file_(file, std::ios::binary),
        log_(file.string() + "-wal", std::ios::binary),
        each_(each) {}

  void visit() {
    std::vector<unsigned char> header = read(file_, 0, 100);
    std::size_t size = header.size() < 18 ? 0 : big_endian(Bytes(header).subspan(16, 2));
    if (size == 1) size = 65536;
    page_size_ = std::has_single_bit(size) && size >= 512 ? size : 4096;
    std::vector<std::uint64_t> frames = frames_of_log();
    visits_left_ = most_visits_of_a_page * (pages_of_file() + frames.size());
    for (std::uint64_t number = 1;; ++number) {
      std::vector<unsigned char> page = read(file_, (number - 1) * page_size_, page_size_);
      if (page.size() != page_size_) break;
      visit_page(page, number == 1 ? 100 : 0);
    }
    for (std::uint64_t at : frames) {
      std::vector<unsigned char> page = read(log_, at + 24, page_size_);
      if (page.size() == page_size_)
        visit_page(page, std::memcmp(page.data(), "SQLite format 3", 15) == 0 ? 100 : 0);
    }
  }

 private:
  static std::vector<unsigned char> read(std::ifstream& from, std::uint64_t at, std::size_t count) {
    std::vector<unsigned char> bytes(count);
    from.clear();
    from.seekg(static_cast<std::streamoff>(at));
    from.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, from.gcount())));
    return bytes;
  }

  std::uint64_t pages_of_file() {
    file_.clear();
    file_.seekg(0, std::ios::end);
    return static_cast<std::uint64_t>(std::max<std::streamoff>(0, file_.tellg())) / page_size_ + 1;
  }

  // Where the frames of the log begin; and where the last version of each page is.
  std::vector<std::uint64_t> frames_of_log() {
    std::vector<std::uint64_t> frames;
    for (std::uint64_t at = 32;; at += 24 + page_size_) {
      std::vector<unsigned char> header = read(log_, at, 24);
      if (header.size() != 24) return frames;
      frames.push_back(at);
      in_log_[big_endian(Bytes(header).first(4))] = at;
    }
  }

  void visit_page(const std::vector<unsigned char>& page, std::size_t start) {
    constexpr unsigned char index_interior = 2, index_leaf = 10, table_leaf = 13;
    unsigned char type = page[start];
    if (type != index_interior && type != index_leaf && type != table_leaf) return;
    std::size_t cells = big_endian(Bytes(page).subspan(start + 3, 2));
    std::size_t pointers = start + (type == index_interior ? 12 : 8);
    for (std::size_t i = 0; i < cells && pointers + 2 * i + 2 <= page.size(); ++i) {
      std::size_t at = big_endian(Bytes(page).subspan(pointers + 2 * i, 2));
      if (type == index_interior) at += 4;
      if (at < page.size()) visit_cell(Bytes(page).subspan(at), type == table_leaf);
    }
  }

  void visit_cell(Bytes cell, bool has_rowid) {
    std::optional<std::uint64_t> size = varint(cell);
    std::optional<std::uint64_t> rowid = has_rowid ? varint(cell) : 0;
    if (!size || !rowid || *size == 0 || *size > largest_record_bytes) return;
    std::size_t local = local_bytes(*size, has_rowid);
    if (local > cell.size()) return;
    if (local == *size) return give(cell.first(local), has_rowid, *rowid);
    if (local + 4 > cell.size()) return;
    std::uint64_t next = big_endian(cell.subspan(local, 4));
    for (bool from_log : {true, false}) {
      std::vector<unsigned char> payload(cell.begin(), cell.begin() + static_cast<long>(local));
      follow(next, *size, from_log, payload);
      if (payload.size() == *size) give(payload, has_rowid, *rowid);
      if (in_log_.empty()) break;
    }
  }

  // How much of a record is on its page; the rest is on pages that follow each other.
  std::size_t local_bytes(std::size_t size, bool has_rowid) const {
    std::size_t usable = page_size_;
    std::size_t most = has_rowid ? usable - 35 : (usable - 12) * 64 / 255 - 23;
    if (size <= most) return size;
    std::size_t least = (usable - 12) * 32 / 255 - 23;
    std::size_t fitting = least + (size - least) % (usable - 4);
    return fitting <= most ? fitting : least;
  }

  void follow(std::uint64_t number, std::size_t size, bool from_log,
              std::vector<unsigned char>& payload) {
    while (number != 0 && payload.size() < size && visits_left_ > 0) {
      --visits_left_;
      auto frame = in_log_.find(number);
      bool in_log = from_log && frame != in_log_.end();
      std::vector<unsigned char> page = in_log ? read(log_, frame->second + 24, page_size_)
                                               : read(file_, (number - 1) * page_size_, page_size_);
      if (page.size() != page_size_) return;
      number = big_endian(Bytes(page).first(4));
      std::size_t count = std::min(size - payload.size(), page_size_ - 4);
      payload.insert(payload.end(), page.begin() + 4, page.begin() + 4 + static_cast<long>(count));
    }
  }

  void give(Bytes payload, bool has_rowid, std::uint64_t rowid) {
    if (std::optional<std::vector<SqliteCell>> cells = read_record(payload))
      each_({has_rowid, static_cast<std::int64_t>(rowid), std::move(*cells)});
  }

  std::ifstream file_, log_;
  const std::function<void(const SqliteRecord&)>& each_;
  std::size_t page_size_ = 4096;
  std::uint64_t visits_left_ = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> in_log_;
};

}  // namespace

void each_sqlite_record(const std::filesystem::path& file,
                        const std::function<void(const SqliteRecord&)>& each) {
  PagesOfFile(file, each).visit();
}

}  // namespace tilewright::autotune
