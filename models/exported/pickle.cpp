#include "models/exported/pickle.h"

#include <array>
#include <limits>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "models/exported/program/fields.h"
#include "models/files/reader.h"
#include "models/files/utf8.h"
#include "runtime/base/error.h"

namespace tilewright::exported {
namespace {

using json::excerpt;

// Together they bound what a pickle makes of its bytes: an instruction of few bytes can name what
// takes many.
constexpr std::size_t most_axes = 64;
constexpr std::size_t most_tensors = 100'000;
constexpr std::size_t most_items = 4'000'000;
constexpr std::size_t most_entry_bytes = 1024;  // of a storage's name

// The name of a type of Python's, as GLOBAL has it, and PyTorch's number of the element type.
struct TypeName {
  std::string_view name;
  std::int64_t number;
};
constexpr auto typed_storages = std::to_array<TypeName>({
    {"torch.ByteStorage", 1},
    {"torch.CharStorage", 2},
    {"torch.ShortStorage", 3},
    {"torch.IntStorage", 4},
    {"torch.LongStorage", 5},
    {"torch.HalfStorage", 6},
    {"torch.FloatStorage", 7},
    {"torch.DoubleStorage", 8},
    {"torch.BoolStorage", 12},
    {"torch.BFloat16Storage", 13},
});
// Element types without a storage of their own, which is torch.storage.UntypedStorage then.
constexpr auto untyped_elements = std::to_array<TypeName>({
    {"torch.uint16", 28},
    {"torch.float8_e4m3fn", 29},
    {"torch.float8_e5m2", 30},
    {"torch.float8_e4m3fnuz", 31},
    {"torch.float8_e5m2fnuz", 32},
});
constexpr std::string_view untyped_storage = "torch.storage.UntypedStorage";
constexpr std::string_view dictionary = "collections.OrderedDict";
constexpr std::string_view tensor_of_type = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view tensor_of_bytes = "torch._utils._rebuild_tensor_v3";
constexpr std::string_view parameter = "torch._utils._rebuild_parameter";
constexpr std::string_view marked_parameter = "torch._utils._rebuild_parameter_with_state";

template <std::size_t count>
std::optional<DType> dtype_in(const std::array<TypeName, count>& names, std::string_view name) {
  for (const TypeName& each : names)
    if (each.name == name) return dtype_of_number(each.number);
  return std::nullopt;
}

using ItemId = std::uint32_t;

// A value that the unpickler would hold as an object. Texts are parts of the pickle, but for the
// names of functions, of which there are few.
struct Item {
  enum class Kind : std::uint8_t {
    mark,
    none,
    flag,
    integer,
    text,
    global,
    tuple,
    dict,
    storage,
    tensor
  };
  Kind kind;
  std::int64_t number = 0;         // of integers and flags; bytes of a storage, 0 where not known
  std::string_view text = {};      // of texts; the entry of a storage
  std::string_view module = {};    // of a global: that, and `text` in it; of a storage its type
  std::vector<ItemId> parts = {};  // of a tuple, and of a dict key and value in turn
};

std::string_view describe(Item::Kind kind) {
  using enum Item::Kind;
  switch (kind) {
    case mark: return "a mark";
    case none: return "None";
    case flag: return "a flag";
    case integer: return "an integer";
    case text: return "a string";
    case global: return "a function or a type";
    case tuple: return "a tuple";
    case dict: return "a dictionary";
    case storage: return "a storage";
    case tensor: return "a tensor";
  }
  return "";
}

class Unpickler {
 public:
  Unpickler(std::string_view bytes, const std::string& place) : bytes_(bytes), place_(place) {}

  std::vector<PickledTensor> tensors() {
    expect(take(1) == "\x80" && number(1) == 2,
           "does not begin as a pickle of protocol 2, which "
           "torch.save writes");
    while (step()) {
    }
    expect(at_ == bytes_.size(), "there are ", bytes_.size() - at_, " bytes behind the end");
    expect(stack_.size() == 1, "the end leaves ", stack_.size(), " values; one is wanted");
    return named(stack_[0]);
  }

 private:
  using Kind = Item::Kind;

  template <typename... Parts>
  void expect(bool condition, const Parts&... parts) const {
    require(condition, "[load_exported] ", place_, ": byte ", start_, ": ", parts...);
  }

  std::string_view take(std::uint64_t size) {
    expect(size <= bytes_.size() - at_, "wants ", size, " bytes more; the pickle has ",
           bytes_.size() - at_);
    std::string_view taken = bytes_.substr(at_, size);
    at_ += size;
    return taken;
  }
  std::uint64_t number(int bytes) {
    std::string_view digits = take(static_cast<std::uint64_t>(bytes));
    std::uint64_t value = 0;
    for (std::size_t i = digits.size(); i-- > 0;)
      value = value << 8 | static_cast<std::uint8_t>(digits[i]);
    return value;
  }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    expect(end != bytes_.npos, "a name does not end");
    std::string_view text = take(end - at_);
    take(1);
    return text;
  }

  // One instruction; false at the end. Letters are those of Python's pickle.py.
  bool step() {
    start_ = at_;
    const char code = take(1)[0];
    switch (code) {
      case '.': return false;
      case '(': push({Kind::mark}); break;
      case 'N': push({Kind::none}); break;
      case '\x88': push({Kind::flag, 1}); break;
      case '\x89': push({Kind::flag, 0}); break;
      case 'K': push_integer(number(1)); break;
      case 'M': push_integer(number(2)); break;
      case 'J': push({Kind::integer, static_cast<std::int32_t>(number(4))}); break;
      case '\x8a': push_long(); break;
      case 'X': push_text(take(number(4))); break;
      case 'c': push_global(); break;
      case '}': push({Kind::dict}); break;
      case ')': push({Kind::tuple}); break;
      case '\x85': push_tuple(1); break;
      case '\x86': push_tuple(2); break;
      case '\x87': push_tuple(3); break;
      case 't': push_tuple(above_mark()); break;
      case 'q': remember(number(1)); break;
      case 'r': remember(number(4)); break;
      case 'h': recall(number(1)); break;
      case 'j': recall(number(4)); break;
      case 's': set_items(2); break;
      case 'u': set_items(above_mark()); break;
      case 'Q': push_storage(); break;
      case 'R': call(); break;
      case 'b': set_state(); break;
      default:
        expect(false, "the instruction ", static_cast<int>(static_cast<std::uint8_t>(code)),
               " is not among those that a dictionary of tensors needs");
    }
    return true;
  }

  // The stack.
  const Item& item(ItemId id) const { return items_[id]; }
  void push_id(ItemId id) { stack_.push_back(id); }
  void push(Item item) {
    expect(items_.size() < most_items, "has more than ", most_items, " values");
    push_id(static_cast<ItemId>(items_.size()));
    items_.push_back(std::move(item));
  }
  ItemId top() const {
    expect(!stack_.empty() && item(stack_.back()).kind != Kind::mark, "nothing is on the stack");
    return stack_.back();
  }
  ItemId pop() {
    const ItemId id = top();
    stack_.pop_back();
    return id;
  }
  ItemId pop(Kind kind, std::string_view what) {
    const ItemId id = pop();
    expect(item(id).kind == kind, what, " is ", describe(item(id).kind), "; ", describe(kind),
           " is wanted");
    return id;
  }
  std::vector<ItemId> pop_several(std::size_t count) {
    expect(count <= stack_.size(), "wants ", count, " values; the stack has ", stack_.size());
    std::vector<ItemId> values(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    for (ItemId id : values)
      expect(item(id).kind != Kind::mark, "wants ", count, " values, with a mark between them");
    stack_.resize(stack_.size() - count);
    return values;
  }
  // How many values stand above the last mark, which is taken away.
  std::size_t above_mark() {
    std::size_t count = 0;
    while (count < stack_.size() && item(stack_[stack_.size() - 1 - count]).kind != Kind::mark)
      ++count;
    expect(count < stack_.size(), "there is no mark on the stack");
    stack_.erase(stack_.end() - 1 - static_cast<std::ptrdiff_t>(count));
    return count;
  }

  void push_integer(std::uint64_t value) {
    push({Kind::integer, static_cast<std::int64_t>(value)});
  }
  // An integer of the given number of bytes, in two's complement.
  void push_long() {
    const std::uint64_t size = number(1);
    expect(size <= 8, "an integer has ", size, " bytes; at most 8 are allowed");
    std::uint64_t value = number(static_cast<int>(size));
    const int unused = 64 - 8 * static_cast<int>(size);
    if (unused > 0 && unused < 64)
      value = static_cast<std::uint64_t>(static_cast<std::int64_t>(value << unused) >> unused);
    push_integer(value);
  }
  void push_text(std::string_view text) {
    expect(tokenizer::whole_size(text) == text.size(), "a string is not UTF-8");
    push({Kind::text, 0, text});
  }
  void push_global() {
    std::string_view module = line(), name = line();
    push({Kind::global, 0, name, module});
  }
  void push_tuple(std::size_t count) {
    std::vector<ItemId> parts = pop_several(count);
    push({Kind::tuple, 0, {}, {}, std::move(parts)});
  }

  void remember(std::uint64_t number) { memo_[static_cast<std::uint32_t>(number)] = top(); }
  void recall(std::uint64_t number) {
    auto known = memo_.find(static_cast<std::uint32_t>(number));
    expect(known != memo_.end(), "nothing was remembered as ", number);
    push_id(known->second);
  }

  void set_items(std::size_t count) {
    expect(count % 2 == 0, "a key of a dictionary has no value");
    std::vector<ItemId> parts = pop_several(count);
    const ItemId target = top();
    expect(item(target).kind == Kind::dict, "a key and a value are put into ",
           describe(item(target).kind), "; a dictionary is wanted");
    auto& all = items_[target].parts;
    all.insert(all.end(), parts.begin(), parts.end());
  }

  std::string global_name(const Item& global) const {
    return concat(global.module, ".", global.text);
  }
  std::string name_of(ItemId id, std::string_view what) const {
    expect(item(id).kind == Kind::global, what, " is ", describe(item(id).kind),
           "; a function or a type is wanted");
    return global_name(item(id));
  }
  const Item& part(std::span<const ItemId> parts, std::size_t i, Kind kind,
                   std::string_view what) const {
    const Item& found = item(parts[i]);
    expect(found.kind == kind, what, " is ", describe(found.kind), "; ", describe(kind),
           " is wanted");
    return found;
  }

  // ("storage", type, entry, device, elements), which torch.save has as a persistent id.
  void push_storage() {
    const std::vector<ItemId> parts = item(pop(Kind::tuple, "a persistent id")).parts;
    expect(parts.size() == 5 && part(parts, 0, Kind::text, "a persistent id").text == "storage",
           "a persistent id is not that of a storage");
    const std::string type = name_of(parts[1], "a storage's type");
    const auto dtype = dtype_in(typed_storages, type);
    expect(dtype || type == untyped_storage, "\"", excerpt(type),
           "\" is not a type of storage that ", "is known");
    part(parts, 3, Kind::text, "a storage's device");
    std::int64_t bytes = part(parts, 4, Kind::integer, "a storage's size").number;
    const std::int64_t element = dtype ? size_bytes(*dtype) : 1;
    expect(bytes >= 0 && bytes <= std::numeric_limits<std::int64_t>::max() / element,
           "a storage has ", bytes, " elements");
    Item storage{Kind::storage, bytes * element, part(parts, 2, Kind::text, "an entry").text};
    expect(storage.text.size() <= most_entry_bytes, "a storage has a name of ", storage.text.size(),
           " bytes; at most ", most_entry_bytes, " are allowed");
    storage.parts = {parts[1]};
    push(std::move(storage));
  }

  void call() {
    const ItemId arguments = pop(Kind::tuple, "the argument list of a function");
    const std::string function = name_of(pop(), "what is called");
    const std::vector<ItemId> given = item(arguments).parts;
    if (function == dictionary) {
      expect(given.empty(), dictionary, " is called with ", given.size(), " arguments; none is ",
             "wanted");
      push({Kind::dict});
    } else if (function == parameter || function == marked_parameter) {
      // (data, requires_grad, hooks[, attributes, which say nothing here])
      const std::size_t wanted = function == parameter ? 3 : 4;
      expect(given.size() == wanted, function, " is called with ", given.size(), " arguments");
      part(given, 0, Kind::tensor, "a parameter's data");
      part(given, 1, Kind::flag, "a parameter's requires_grad");
      expect_no_items(given[2]);
      if (wanted == 4) part(given, 3, Kind::dict, "a parameter's attributes");
      push_id(given[0]);
    } else {
      expect(function == tensor_of_type || function == tensor_of_bytes, "it calls \"",
             excerpt(function), "\"; a dictionary of tensors needs no such function");
      push_tensor(function, given);
    }
  }
  void expect_no_items(ItemId id) const {
    expect(item(id).kind == Kind::dict && item(id).parts.empty(), "a tensor has hooks");
  }

  // (storage, offset, sizes, strides, requires_grad, hooks[, dtype][, metadata]).
  void push_tensor(const std::string& function, const std::vector<ItemId>& given) {
    const std::size_t least = function == tensor_of_bytes ? 7 : 6;
    expect(given.size() == least || given.size() == least + 1, function, " is called with ",
           given.size(), " arguments");
    const Item& storage = part(given, 0, Kind::storage, "a tensor's storage");
    auto dtype = dtype_in(typed_storages, name_of(storage.parts[0], "a storage's type"));
    if (function == tensor_of_bytes) {
      const std::string name = name_of(given[6], "a tensor's dtype");
      expect(!dtype, "a tensor of \"", excerpt(name), "\" has a storage of another type");
      dtype = dtype_in(untyped_elements, name);
      expect(dtype.has_value(), "\"", excerpt(name), "\" is not a known element type");
    }
    expect(dtype.has_value(), "a tensor has a storage without a type, and no dtype");
    part(given, 4, Kind::flag, "a tensor's requires_grad");
    expect_no_items(given[5]);
    if (given.size() > least)
      expect(item(given[least]).kind == Kind::none || item(given[least]).parts.empty(),
             "a tensor has metadata, as a conjugate or negative view has");
    expect(tensors_.size() < most_tensors, "has more than ", most_tensors, " tensors");
    PickledTensor tensor{"",
                         *dtype,
                         std::string(storage.text),
                         storage.number,
                         part(given, 1, Kind::integer, "a tensor's offset").number,
                         numbers(given, 2, "a tensor's sizes"),
                         numbers(given, 3, "a tensor's strides")};
    Item described{Kind::tensor, static_cast<std::int64_t>(tensors_.size())};
    tensors_.push_back(std::move(tensor));
    push(std::move(described));
  }
  Shape numbers(const std::vector<ItemId>& given, std::size_t i, std::string_view what) const {
    const Item& tuple = part(given, i, Kind::tuple, what);
    expect(tuple.parts.size() <= most_axes, what, " are ", tuple.parts.size(), "; at most ",
           most_axes, " are allowed");
    Shape result;
    for (std::size_t k = 0; k < tuple.parts.size(); ++k) {
      const std::int64_t number = part(tuple.parts, k, Kind::integer, what).number;
      expect(number >= 0, what, " hold ", number);
      result.push_back(number);
    }
    return result;
  }

  // The attributes of a dictionary: the versions of a module's state, which say nothing here.
  void set_state() {
    pop(Kind::dict, "an object's state");
    expect(item(top()).kind == Kind::dict, "a state is given to ", describe(item(top()).kind),
           "; a dictionary is wanted");
  }

  std::vector<PickledTensor> named(ItemId id) const {
    expect(item(id).kind == Kind::dict, "it is ", describe(item(id).kind),
           "; a dictionary of tensors is wanted");
    const std::vector<ItemId>& parts = item(id).parts;
    expect(parts.size() <= 2 * most_tensors, "has more than ", most_tensors, " names");
    std::vector<PickledTensor> result;
    std::unordered_set<std::string_view> names;
    for (std::size_t i = 0; i < parts.size(); i += 2) {
      std::string_view name = part(parts, i, Kind::text, "a name").text;
      expect(names.insert(name).second, "there are two tensors \"", excerpt(name), '"');
      const Item& value = item(parts[i + 1]);
      expect(value.kind == Kind::tensor, "\"", excerpt(name), "\" is ", describe(value.kind),
             "; a tensor is wanted");
      result.push_back(tensors_[static_cast<std::size_t>(value.number)]);
      result.back().name = name;
    }
    return result;
  }

  std::string_view bytes_;
  const std::string& place_;
  std::size_t at_ = 0, start_ = 0;  // of the next byte, and of the instruction
  std::vector<Item> items_;
  std::vector<ItemId> stack_;
  std::unordered_map<std::uint32_t, ItemId> memo_;
  std::vector<PickledTensor> tensors_;
};

}  // namespace

std::vector<PickledTensor> read_pickled_tensors(std::string_view bytes, const std::string& place) {
  return Unpickler(bytes, place).tensors();
}

}  // namespace tilewright::exported
