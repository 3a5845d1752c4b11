// Rotary positions as config.json describes them, in the members of transformers 4 and 5.
#include "models/decoder/rope/rope.h"
#include "runtime/base/error.h"

namespace tilewright {
namespace {

constexpr std::string_view kinds_of_layers[] = {"full_attention", "sliding_attention"};

struct NamedType {
  std::string_view name;
  RopeType type;
};
constexpr NamedType types[] = {{"default", RopeType::plain},     {"linear", RopeType::linear},
                               {"dynamic", RopeType::dynamic},   {"yarn", RopeType::yarn},
                               {"longrope", RopeType::longrope}, {"su", RopeType::longrope},
                               {"llama3", RopeType::llama3}};

RopeType type_of(const ConfigFields& object) {
  std::string name = object.text("rope_type", object.text("type", "default"));
  std::string names;
  for (const NamedType& known : types) {
    if (known.name == name) return known.type;
    names += concat(names.empty() ? "\"" : ", \"", known.name, '"');
  }
  raise_error(concat("[", object.operation(), "] ", object.what(), ": ",
                     object.full_name("rope_type"), " is \"", json::excerpt(name), "\"; known are ",
                     names));
}

// Reads a file's object; `outside` is the configuration around it.
RopeConfig read_rope(const ConfigFields& object, const ConfigFields& outside,
                     std::int64_t max_positions, RopeConfig rope) {
  object.has("type");  // beside rope_type it says the same
  rope.type = type_of(object);
  rope.theta = object.number("rope_theta", rope.theta);
  rope.rotary_share = object.number("partial_rotary_factor", rope.rotary_share);
  bool has_original = rope.type == RopeType::yarn || rope.type == RopeType::longrope ||
                      rope.type == RopeType::llama3;
  if (has_original) {
    constexpr std::string_view name = "original_max_position_embeddings";
    std::int64_t inside = object.integer(name, max_positions);
    rope.original_positions = outside.integer(name, inside);
  }
  auto ratio = [&] {
    return static_cast<double>(max_positions) / static_cast<double>(rope.original_positions);
  };
  switch (rope.type) {
    case RopeType::plain: break;
    case RopeType::linear:
    case RopeType::dynamic: rope.factor = object.number("factor"); break;
    case RopeType::yarn:
      rope.factor = object.number("factor", ratio());
      rope.beta_fast = object.number("beta_fast", 32);
      rope.beta_slow = object.number("beta_slow", 1);
      rope.mscale = object.number("mscale", 0);
      rope.mscale_all_dim = object.number("mscale_all_dim", 0);
      rope.truncate = object.boolean("truncate", true);
      break;
    case RopeType::longrope:
      rope.factor = object.number("factor", ratio());
      rope.short_factors = object.numbers("short_factor");
      rope.long_factors = object.numbers("long_factor");
      break;
    case RopeType::llama3:
      rope.factor = object.number("factor");
      rope.low_freq_factor = object.number("low_freq_factor");
      rope.high_freq_factor = object.number("high_freq_factor");
      break;
  }
  if ((rope.type == RopeType::yarn || rope.type == RopeType::longrope) &&
      object.has("attention_factor"))
    rope.attention_factor = object.number("attention_factor");
  object.refuse_unread({});
  return rope;
}

// Beside an object a member outside of it is a copy. Families with a name of their own have copies
// of other values there, as do files with an object for each kind of layer.
void require_copy(const ConfigFields& fields, const ConfigFields& object, std::string_view name,
                  std::string_view own_name) {
  bool has_own = own_name != name && fields.has(own_name);
  if (has_own || !fields.has(name) || !object.has(name)) return;
  double outside = fields.number(name), inside = object.number(name);
  require(outside == inside, "[", fields.operation(), "] ", fields.what(), ": ", name, " is ",
          outside, " and ", object.full_name(name), " is ", inside,
          "; one of them, or the same in both, is needed");
}

}  // namespace

std::vector<RopeConfig> read_ropes(const ConfigFields& fields, std::int64_t max_positions,
                                   const RopeDefaults& defaults) {
  // Files of some families have the members under names of their own, and copies under these.
  double theta = fields.number("rope_theta", defaults.theta);
  double share = fields.number("partial_rotary_factor", defaults.rotary_share);
  RopeConfig rope{.pairs = defaults.pairs,
                  .theta = fields.number(defaults.theta_name, theta),
                  .rotary_share = fields.number(defaults.share_name, share)};
  fields.has("original_max_position_embeddings");  // used by the types that need it
  auto scaling = fields.object("rope_scaling"), parameters = fields.object("rope_parameters");
  require(!scaling || !parameters, "[", fields.operation(), "] ", fields.what(),
          ": rope_scaling and rope_parameters are both set; one of them is needed");
  const auto& object = scaling ? scaling : parameters;
  if (!object) return {rope};
  std::vector<RopeConfig> ropes;
  for (std::string_view kind : kinds_of_layers) {
    auto of_kind = object->object(kind);
    if (!of_kind) continue;
    RopeConfig start = rope;
    if (kind == kinds_of_layers[1] && defaults.sliding_theta != 0)
      start.theta = defaults.sliding_theta;
    ropes.push_back(read_rope(*of_kind, fields, max_positions, start));
  }
  if (ropes.empty()) {
    require_copy(fields, *object, "rope_theta", defaults.theta_name);
    require_copy(fields, *object, "partial_rotary_factor", defaults.share_name);
    return {read_rope(*object, fields, max_positions, rope)};
  }
  require(ropes.size() == std::size(kinds_of_layers), "[", fields.operation(), "] ", fields.what(),
          ": ", object->full_name(""),
          "full_attention or sliding_attention is missing; where one "
          "is there, both are needed");
  object->refuse_unread({});
  return ropes;
}

}  // namespace tilewright
