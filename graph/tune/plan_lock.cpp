#include "graph/tune/plan_lock.h"

#include <mutex>
#include <sstream>

#include "autotune/database/row/compiler_record.h"
#include "autotune/policy.h"
#include "runtime/base/error.h"
#include "runtime/files/atomic_file.h"
#include "runtime/files/regular_file.h"

namespace tilewright::graph {
namespace {

using autotune::Record;

constexpr const char* first_line = "tilewright plan 2";
constexpr std::size_t longest_line = 1 << 16, most_bytes = 64 << 20;

std::string text_of(const LockedRegion& region) {
  return concat("asked ", text_of(region.asked), " used ", text_of(region.used),
                " precision=", region.precision);
}

// Threads change how the additions are divided, not their order.
Record device_record(const Device& device) {
  Record record, all = autotune::record_of(device);
  for (const Record::Field& field : all.fields())
    if (field.name != "threads" && field.name != "processors") record.set(field.name, field.value);
  return record;
}

std::string first_difference(const Record& wanted, const Record& found) {
  for (const Record::Field& field : wanted.fields()) {
    const std::string* other = found.find(field.name);
    if (other == nullptr || *other != field.value)
      return concat(field.name, " is ", other ? *other : "absent", " there and ", field.value,
                    " here");
  }
  return {};
}

// Reads a file line by line and names the line in its errors.
class Reader {
 public:
  Reader(const std::filesystem::path& file)
      : file_(file), in_(read_regular_file(file, "plan", most_bytes)) {}
  // The line before goes into the checksum.
  bool next() {
    if (number_ > 0) lines_.add(line_);
    ++number_;
    line_.clear();
    for (int c = in_.get(); c != std::istringstream::traits_type::eof(); c = in_.get()) {
      if (c == '\n') return true;
      expect(line_.size() < longest_line, concat("it has more than ", longest_line, " bytes"));
      line_ += static_cast<char>(c);
    }
    return !line_.empty();
  }
  Hash checksum() const { return lines_.finish(); }  // of the lines before this one
  const std::string& line() const { return line_; }
  void expect(bool condition, const std::string& what) const {
    require(condition, "[plan] ", file_.string(), ", line ", number_, ": ", what);
  }
  Record record(const std::string& word) {
    expect(next() && line_.starts_with(word + " "), "no line of the " + word);
    std::optional<Record> record = Record::parse(std::string_view(line_).substr(word.size() + 1));
    expect(record.has_value(), "the " + word + " is not a list of names and values");
    return *record;
  }
  // One region's line, without the indent.
  std::pair<Hash, LockedRegion> region() const {
    std::istringstream words(line_);
    std::string word, key;
    words >> word >> key;
    std::optional<Hash> hash = parse_hash(key);
    expect(word == "region" && hash.has_value(), "no region and its key of 32 digits");
    LockedRegion region;
    words >> word;
    expect(word == "asked", "no block sizes that were asked for");
    word = sizes(words, region.asked);
    expect(word == "used", "no block sizes that were used");
    word = sizes(words, region.used);
    expect(word.starts_with("precision="), "no precision");
    region.precision = word.substr(10);
    std::getline(words >> std::ws, region.ops);
    return {*hash, region};
  }

 private:
  static std::optional<Hash> parse_hash(const std::string& text) {
    if (text.size() != 32 || text.find_first_not_of("0123456789abcdef") != std::string::npos)
      return std::nullopt;
    return Hash{std::stoull(text.substr(0, 16), nullptr, 16),
                std::stoull(text.substr(16), nullptr, 16)};
  }
  // The word after the sizes.
  std::string sizes(std::istringstream& words, BlockSizes& blocks) const {
    std::string word;
    while (words >> word) {
      if (word == "nothing") continue;
      std::size_t equals = word.find('=');
      const BlockSize* member = block_size_named(std::string_view(word).substr(0, equals));
      if (member == nullptr) return word;
      std::string number = equals == std::string::npos ? "" : word.substr(equals + 1);
      bool is_number =
          !number.empty() && number.size() < 18 &&
          number.find_first_not_of("0123456789", number[0] == '-' ? 1 : 0) == std::string::npos &&
          number != "-";
      expect(is_number, "the size \"" + word + "\" is not a number");
      blocks.*member->size = std::stoll(number);
      std::string impossible = why_impossible(*member, blocks.*member->size);
      expect(impossible.empty(), concat("the size \"", word, "\" ", impossible));
    }
    return {};
  }

  std::filesystem::path file_;
  std::istringstream in_;
  std::string line_;
  int number_ = 0;
  Hasher lines_;
};

// For a text that ends in a newline.
Hash checksum_of(const std::string& text) {
  Hasher lines;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t end = text.find('\n', begin);
    lines.add(std::string_view(text).substr(begin, end - begin));
    begin = end + 1;
  }
  return lines.finish();
}

std::string last_line(std::size_t regions, const Hash& checksum) {
  return concat("end ", regions, " regions, checksum ", checksum.hex());
}

}  // namespace

struct PlanLock::State {
  std::mutex mutex;
  Record device;
  std::map<Hash, LockedRegion> regions;
  std::string plans;  // as text
  std::size_t count = 0;
};

PlanLock::PlanLock(std::filesystem::path file, bool is_locked)
    : file_(std::move(file)), is_locked_(is_locked), state_(std::make_shared<State>()) {}

std::shared_ptr<PlanLock> PlanLock::read(const std::filesystem::path& file) {
  Reader reader(file);
  reader.expect(reader.next() && reader.line() == first_line,
                concat("a plan begins with \"", first_line, "\""));
  std::shared_ptr<PlanLock> lock(new PlanLock(file, true));
  std::string difference = first_difference(autotune::compiler_record(), reader.record("compiler"));
  reader.expect(difference.empty(),
                "the plan is of another compiler: " + difference + "; rewrite it with this one");
  lock->state_->device = reader.record("device");
  while (true) {
    reader.expect(reader.next(),
                  "the last line, \"end N regions, checksum ...\", is missing: the file was cut");
    if (reader.line().starts_with("plan ")) continue;
    if (reader.line().starts_with("end ")) break;
    reader.expect(reader.line().starts_with("  region "), "neither a plan, a region nor the end");
    auto [key, region] = reader.region();
    ++lock->state_->count;
    lock->state_->regions.insert_or_assign(key, region);
  }
  std::string regions = concat("end ", lock->state_->count, " regions, ");
  reader.expect(reader.line().starts_with(regions),
                concat("there are ", lock->state_->count, " regions before this line"));
  reader.expect(
      reader.line() == last_line(lock->state_->count, reader.checksum()),
      "the checksum is not that of the lines before: the file was edited; write it again");
  reader.expect(!reader.next(), "there is text behind the end");
  return lock;
}

std::shared_ptr<PlanLock> PlanLock::write(const std::filesystem::path& file) {
  static std::mutex& mutex = *new std::mutex;
  static auto& all = *new std::map<std::filesystem::path, std::shared_ptr<PlanLock>>;
  std::lock_guard guard(mutex);
  std::shared_ptr<PlanLock>& lock = all[std::filesystem::absolute(file).lexically_normal()];
  if (!lock) lock.reset(new PlanLock(file, false));
  return lock;
}

void PlanLock::require_device(const Device& device) const {
  std::string difference = first_difference(device_record(device), state_->device);
  require(difference.empty(), "[plan] ", file_.string(), " is of another device: ", difference);
}

const LockedRegion& PlanLock::at(const Hash& region, const std::string& ops) const {
  auto found = state_->regions.find(region);
  require(found != state_->regions.end(), "[plan] ", file_.string(), " has no region ",
          region.hex(), " (", ops,
          "): the compiled code differs from the recorded one; write the plan again");
  return found->second;
}

void PlanLock::require_same(const Hash& region, const LockedRegion& now) const {
  const LockedRegion& then = at(region, now.ops);
  require(text_of(then) == text_of(now), "[plan] ", file_.string(), " says of region ",
          region.hex(), " (", now.ops, "): ", text_of(then), "; it is: ", text_of(now));
}

void PlanLock::add_plan(const Device& device, const std::string& title,
                        const std::vector<std::pair<Hash, LockedRegion>>& regions) {
  std::lock_guard guard(state_->mutex);
  state_->plans += concat("plan ", title, "\n");
  for (const auto& [key, region] : regions)
    state_->plans += concat("  region ", key.hex(), " ", text_of(region), "  ", region.ops, "\n");
  state_->count += regions.size();
  std::string text = concat(first_line, "\ncompiler ", autotune::compiler_record().text(),
                            "\ndevice ", device_record(device).text(), "\n", state_->plans);
  text += last_line(state_->count, checksum_of(text)) + "\n";
  AtomicFile file(file_, "plan");
  file.write(text.data(), text.size());
  file.commit();
}

}  // namespace tilewright::graph
