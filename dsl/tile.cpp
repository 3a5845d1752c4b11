// Values and variables of the language, and control flow over them.
#include "dsl/tile.h"

#include "dsl/trace/operands.h"

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
  Site site("var", where);
  site.tracer().require_usable(value, site.operation(), where);
  tracer_ = &site.tracer();
  serial_ = tracer_->serial();
  slot_ = tracer_->new_variable(value.value());
}

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
  Site site("assign", where);
  site.tracer().require_usable(value, site.operation(), where);
  ir::Type type = get().type();
  site.expect(value.type() == type, "the variable is ", type, ", the new value ", value.type(),
              "; a variable keeps its type: cast or broadcast the value");
  tracer_->assign(slot_, value.value());
}

Var& Var::operator=(const Operand& value) {
  if (value.is_number())
    assign(Site("assign", value.where).fit(value, get().type(), "the new value"), value.where);
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
  Site site("range", where);
  std::vector<Tile> bounds = site.unify(std::vector<Operand>{low, high, step});
  for (const Tile& bound : bounds)
    site.expect(bound.shape().empty() && is_integer(bound.dtype()), "a bound is ", bound.type(),
                "; it must be an integer scalar");
  return bounds;
}

}  // namespace

range::range(const Operand& low, const Operand& high, const Operand& step,
             std::source_location where)
    : where_(where) {
  std::vector<Tile> bounds = loop_bounds(low, high, step, where);
  low_ = bounds[0], high_ = bounds[1], step_ = bounds[2];
}

range::range(const Operand& low, const Operand& high, std::source_location where)
    : range(low, high, Operand(1, where), where) {}

range::iterator range::begin() {
  index_ = low_.tracer()->open_loop(low_, where_);
  return iterator(this);
}

range::iterator& range::iterator::operator++() {
  owner_->low_.tracer()->close_loop(owner_->index_, owner_->low_, owner_->high_, owner_->step_);
  owner_ = nullptr;
  return *this;
}

void if_(const Operand& condition, const std::function<void()>& then,
         const std::function<void()>& otherwise) {
  Site site("if", condition.where);
  site.tracer().branch(site.tile(condition), then, otherwise, condition.where);
}

}  // namespace tilewright::dsl
