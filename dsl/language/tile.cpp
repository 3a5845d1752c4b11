// Values and variables of the language, and control flow over them.
#include "dsl/language/tile.h"

#include <algorithm>

#include "dsl/language/operands.h"

namespace tilewright::dsl {

Tile::Tile(Tracer* tracer, ir::Value value)
    : tracer_(tracer), serial_(tracer->serial()), value_(value) {}

bool Tile::is_live() const { return Tracer::is_live(tracer_, serial_); }

ir::Type Tile::type() const {
  require(defined(), "[type] the Tile is empty; assign a value before using it");
  require(is_live(),
          "[type] the trace that made the tile is over; tiles live inside one run of a "
          "kernel");
  return tracer_->function().type(value_);
}

Operand::Operand(const Var& var, std::source_location where) : Operand(var.get(), where) {}

Var::Var(const Tile& value, std::source_location where) : where_(where) {
  OperationUse site("var", where);
  site.tracer().require_usable(value, site.operation(), where);
  tracer_ = &site.tracer();
  serial_ = tracer_->serial();
  slot_ = tracer_->new_variable(value.value());
}

Var::Var(const Operand& number)
    : Var(OperationUse("var", number.where).tile(number), number.where) {}

Var::Var(const Var& other) : Var(other.get(), other.where_) {}

Var::~Var() {
  if (Tracer::is_live(tracer_, serial_)) tracer_->drop_variable(slot_);
}

Tile Var::get() const {
  require(Tracer::is_live(tracer_, serial_), describe(where_),
          ": [var] the trace that made the variable is over; variables live inside one run of a "
          "kernel");
  auto value = tracer_->variable(slot_);
  require(
      value.has_value(), describe(where_),
      ": [var] the variable was declared inside a loop or if that has ended; declare it before");
  return Tile(tracer_, *value);
}

void Var::assign(const Tile& value, std::source_location where) {
  OperationUse site("assign", where);
  site.tracer().require_usable(value, site.operation(), where);
  ir::Type type = get().type();
  site.expect(value.type() == type, "the variable is ", type, ", the new value ", value.type(),
              "; a variable keeps its type: cast or broadcast the value");
  tracer_->assign(slot_, value.value());
}

Var& Var::operator=(const Operand& value) {
  if (value.is_number())
    assign(OperationUse("assign", value.where).fit(value, get().type(), "the new value"),
           value.where);
  else
    assign(value.tile(), value.where);
  return *this;
}

Var& Var::operator=(Var& other) {
  assign(other.get(), where_);
  return *this;
}

namespace {

// The bounds of a loop are one integer type: that of the tiles among them, or i64.
std::vector<Tile> loop_bounds(const Operand& low, const Operand& high, const Operand& step,
                              std::source_location where) {
  OperationUse site("range", where);
  std::vector<Tile> bounds = site.unify(std::vector<Operand>{low, high, step});
  for (const Tile& bound : bounds)
    site.expect(bound.shape().empty() && is_integer(bound.dtype()), "a bound is ", bound.type(),
                "; it must be an integer scalar");
  return bounds;
}

// The greatest number of a signed type. No distance is greater, so a step of this size or more (the
// magnitude of the type's least number is) makes one iteration.
std::int64_t greatest(DType dtype) { return INT64_MAX >> (64 - bit_width(dtype)); }

}  // namespace

range::range(const Operand& low, const Operand& high, const Operand& step,
             std::source_location where)
    : where_(where) {
  std::vector<Tile> bounds = loop_bounds(low, high, step, where);
  low_ = bounds[0], high_ = bounds[1], step_ = bounds[2];
  first_ = low_, end_ = high_, stride_ = step_;
  const Tracer& tracer = *low_.tracer();
  std::optional<std::int64_t> known = tracer.known_integer(step_.value());
  OperationUse("range", where)
      .expect(known != 0, "the step is 0; it must be above 0, or below to count down");
  if (known && *known < 0 && is_signed(step_.dtype()))
    count_down(*known);
  else if (!tracer.is_known_positive(step_.value()))
    count_either_way();
}

range::range(const Operand& low, const Operand& high, std::source_location where)
    : range(low, high, Operand(1, where), where) {}

// The loop goes over the distance from `low`: from 0 to low - high.
void range::count_down(std::int64_t step) {
  OperationUse site("range", where_);
  is_counted_ = goes_down_ = true;
  first_ = site.tile(Operand(0, where_), low_.dtype());
  end_ = Operand(low_, where_) - Operand(high_, where_);
  stride_ = site.tile(Operand(-std::max(step, -greatest(low_.dtype())), where_), low_.dtype());
}

void range::count_either_way() {
  auto at = [this](const Tile& tile) { return Operand(tile, where_); };
  Operand zero(0, where_), one(1, where_);
  Tile is_none = at(step_) == zero;
  if (!is_signed(step_.dtype())) {
    end_ = where(at(is_none), at(low_), at(high_));
    stride_ = maximum(at(step_), one);
    return;
  }
  is_counted_ = true;
  is_up_ = at(step_) > zero;
  first_ = OperationUse("range", where_).tile(zero, low_.dtype());
  Tile distance = where(at(is_up_), at(at(high_) - at(low_)), at(at(low_) - at(high_)));
  end_ = where(at(is_none), zero, at(distance));
  Operand least(-greatest(step_.dtype()), where_);
  stride_ = maximum(at(abs(at(maximum(at(step_), least)))), one);
}

range::iterator range::begin() {
  turn_ = index_ = first_.tracer()->open_loop(first_, where_);
  if (is_counted_) {
    Operand from(low_, where_), gone(turn_, where_);
    if (goes_down_)
      index_ = from - gone;
    else
      index_ = where(Operand(is_up_, where_), Operand(from + gone, where_),
                     Operand(from - gone, where_));
  }
  return iterator(this);
}

range::iterator& range::iterator::operator++() {
  owner_->first_.tracer()->close_loop(owner_->turn_, owner_->first_, owner_->end_, owner_->stride_);
  owner_ = nullptr;
  return *this;
}

void while_(const std::function<Tile()>& condition, const std::function<void()>& body,
            std::source_location where) {
  OperationUse site("while", where);
  Tracer& tracer = site.tracer();
  auto asked = [&] {
    Tile going = condition();
    tracer.require_usable(going, site.operation(), where);
    site.expect(going.type() == ir::Type::scalar(DType::boolean), "the condition is ", going.type(),
                "; it must be a bool scalar");
    return going.value();
  };
  const int going = tracer.new_variable(asked());
  Tile none = site.tile(Operand(0, where)), one = site.tile(Operand(1, where));
  Tile most = site.tile(Operand(INT64_MAX, where));
  Tile turn = tracer.open_loop(none, where, going);
  body();
  tracer.assign(going, asked());
  tracer.close_loop(turn, none, most, one);
  tracer.drop_variable(going);
}

void return_if(const Operand& condition) {
  OperationUse site("return_if", condition.where);
  site.tracer().return_if(site.tile(condition, DType::boolean), condition.where);
}

void if_(const Operand& condition, const std::function<void()>& then,
         const std::function<void()>& otherwise) {
  OperationUse site("if", condition.where);
  site.tracer().branch(site.tile(condition), then, otherwise, condition.where);
}

}  // namespace tilewright::dsl
