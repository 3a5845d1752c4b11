// Values that are made of graphs, interpolated for graphs of other sizes (size_samples.h): a table
// of the process, for one type of values.
//
// Making a value of a graph takes milliseconds, and what it comes to at another size is mostly the
// same but for numbers. A value is made afresh until samples of the graph's form determine a line;
// from then on a copy of one of them, with its numbers replaced, is what would be made. Values that
// are verified are made afresh as well and compared (verify_interpolated).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "graph/sizes/numbers.h"
#include "graph/sizes/size_samples.h"
#include "runtime/base/fork_gate.h"
#include "runtime/kept/bounded_table.h"
#include "runtime/kept/bounds.h"

namespace tilewright::graph {

// Raises `InternalError`: a value was interpolated wrongly.
[[noreturn]] void raise_wrongly_interpolated(std::string_view what, std::int64_t interpolated,
                                             std::int64_t made);
// From now on each value that is interpolated is made afresh as well, and compared: for tests, as
// it takes longer than making all afresh.
void verify_interpolated(bool wanted);
bool is_interpolated_verified();

// Thread safe. `Value` is copied, and has visit(NumberReader&, const Value&) and
// visit(NumberWriter&, Value&).
template <typename Value>
class InterpolatedValues {
 public:
  explicit InterpolatedValues(std::string_view what) : what_(what) {}

  // The value of a graph whose form and numbers `given` has read, made by `make` where it is not
  // interpolated. `is_interpolated` is set.
  Value value_of(NumberReader& given, const std::function<Value()>& make, bool& is_interpolated) {
    const std::shared_ptr<Family> family = family_of(given.form_read());
    const std::vector<std::int64_t>& numbers = given.numbers();
    std::optional<Value> value = family->interpolate(numbers);
    is_interpolated = value.has_value();
    if (is_interpolated && !is_interpolated_verified()) return *std::move(value);
    Value made = make();
    NumberReader own;
    visit(own, std::as_const(made));
    if (is_interpolated) {
      require_same(*value, own);
      return *std::move(value);
    }
    family->add({numbers, std::move(own.numbers()), own.form_read()}, made);
    return made;
  }

 private:
  // Graphs of one form.
  class Family {
   public:
    std::optional<Value> interpolate(std::span<const std::int64_t> given) {
      GatedLock lock(mutex_);
      std::optional<SizeSamples::Interpolated> interpolated = samples_.interpolate(given);
      if (!interpolated) return std::nullopt;
      const auto like = examples_.find(interpolated->form);
      if (like == examples_.end()) return std::nullopt;
      Value value = *like->second;
      NumberWriter writer(interpolated->made);
      visit(writer, value);
      misses_ = 0;
      return value;
    }
    void add(SizeSample sample, const Value& made) {
      GatedLock lock(mutex_);
      if (misses_ == most_misses) return;
      if (++misses_ == most_misses) {
        samples_ = {};
        examples_.clear();
        return;
      }
      if (examples_.size() == most_forms && !examples_.contains(sample.form)) examples_.clear();
      if (!examples_.contains(sample.form))
        examples_.emplace(sample.form, std::make_shared<const Value>(made));
      samples_.add(std::move(sample));
    }

   private:
    static constexpr std::size_t most_forms = 6;  // that values of one graph have
    // Without a value that was interpolated in between: then none will be, and nothing is kept.
    static constexpr int most_misses = 48;
    std::mutex mutex_;
    int misses_ = 0;
    SizeSamples samples_;
    std::unordered_map<Hash, std::shared_ptr<const Value>> examples_;  // by form
  };

  std::shared_ptr<Family> family_of(const Hash& form) {
    std::vector<std::shared_ptr<Family>> dropped;
    GatedLock lock(mutex_);
    if (std::shared_ptr<Family> known = families_.find(form)) return known;
    auto made = std::make_shared<Family>();
    dropped = families_.insert(form, made, 0, {.count = most_families, .bytes = 1});
    return made;
  }

  void require_same(const Value& interpolated, NumberReader& made) const {
    NumberReader own;
    visit(own, interpolated);
    if (own.form_read() != made.form_read() || own.numbers().size() != made.numbers().size())
      raise_wrongly_interpolated(what_, std::ssize(own.numbers()), std::ssize(made.numbers()));
    for (std::size_t i = 0; i < own.numbers().size(); ++i)
      if (own.numbers()[i] != made.numbers()[i])
        raise_wrongly_interpolated(what_, own.numbers()[i], made.numbers()[i]);
  }

  static constexpr std::int64_t most_families = 64;
  std::string_view what_;
  std::mutex mutex_;
  BoundedTable<Family> families_;
};

}  // namespace tilewright::graph
