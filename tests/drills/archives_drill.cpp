// Programs that PyTorch exported as a stranger would send them: cut off, with sizes and places that
// lie, bombs, cycles, unknown operators and element types, names that lead out of the archive,
// counts beyond all bounds. `inspect` and `run` read each of them: the answer is a sentence, within
// the time and the memory of any drill.
#include "tests/drills/archives.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "runtime/base/error.h"
#include "tests/drills/cases.h"
#include "tests/drills/child.h"
#include "tests/models/exported_files.h"
#include "tests/scratch_folder.h"

namespace tilewright::drills {
namespace {

using namespace tilewright::testing;

// x, of two floats, for y = x + w and y = relu(x + w).
std::string inputs_file() {
  std::string header = R"({"x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", file;
  append_number(file, header.size(), 8);
  return file + header + bytes_of({1, 2});
}
std::vector<Outcome> run_both(const std::string& name, const std::string& bytes) {
  ScratchFolder folder;
  folder.write(name, bytes);
  folder.write("in.safetensors", inputs_file());
  return {run(tilewright_command(folder.path(), {"inspect", name})),
          run(tilewright_command(folder.path(), {"run", name, "--inputs", "in.safetensors"}))};
}

}  // namespace

void expect_safe(const std::string& name, const std::string& bytes, Verdict verdict) {
  auto is_control = [](char c) {
    return (static_cast<unsigned char>(c) < 32 && c != '\n' && c != '\t') || c == 127;
  };
  const std::vector<Outcome> outcomes = run_both(name, bytes);
  for (const Outcome& outcome : outcomes) {
    expect_answer(outcome, static_cast<std::int64_t>(bytes.size()));
    EXPECT_TRUE(std::ranges::none_of(outcome.err, is_control)) << outcome.text();
    EXPECT_LT(outcome.err.size(), 8000U) << outcome.text();
    EXPECT_EQ(outcome.err.find("bug in Tilewright"), std::string::npos) << outcome.text();
  }
  if (verdict == Verdict::refused) {
    EXPECT_NE(outcomes[1].status, 0) << outcomes[1].text();
  }
}
void expect_read(const std::string& name, const std::string& bytes) {
  for (const Outcome& outcome : run_both(name, bytes))
    EXPECT_EQ(outcome.status, 0) << outcome.text();
}

namespace {

void expect_refused(const std::string& bytes) { expect_safe("m.pt2", bytes, Verdict::refused); }

TEST(Archives, AreReadWhereNothingIsWrong) { expect_read("m.pt2", exported_file()); }

TEST(Archives, ThatAreCutOffAreRefused) {
  constexpr std::uint64_t places = 40;
  each_case(places, [](std::uint64_t number) {
    const std::string whole = exported_file();
    expect_refused(whole.substr(0, whole.size() * number / places));
  });
}

// The entries of an exported program, of which one may lie.
std::vector<ZipEntry> zip_entries() {
  ProgramText program;
  return {{.name = "net/archive_format", .content = "pt2"},
          {.name = "net/byteorder", .content = "little"},
          {.name = "net/data/weights/weight_0", .content = bytes_of({10, 20})},
          {.name = "net/data/weights/model_weights_config.json",
           .content = weights_table(weight_row("net.weight", "weight_0",
                                               tensor_facts(sizes_of({2}), 7, sizes_of({1}))))},
          {.name = "net/models/model.json", .content = program.text()}};
}

TEST(Archives, WhoseDirectoriesLieAreRefused) {
  constexpr std::uint32_t numbers[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff};
  constexpr std::uint64_t fields = 6;
  each_case(5 * fields * std::size(numbers), [&](std::uint64_t number) {
    std::vector<ZipEntry> entries = zip_entries();
    ZipEntry& entry = entries[number % 5];
    const std::uint32_t value = numbers[number / 5 / fields];
    switch (number / 5 % fields) {
      case 0: entry.stored_bytes = value; break;
      case 1: entry.size_bytes = value; break;
      case 2: entry.checksum = value; break;
      case 3: entry.offset = value; break;
      case 4: entry.method = static_cast<std::uint16_t>(value | 2); break;
      default: entry.flags = static_cast<std::uint16_t>(value | 1); break;
    }
    // An unused entry may have any checksum, and an offset of 0 means the first entry.
    const bool may_be = (number % 5 == 0 && entry.checksum) || entry.offset == 0U;
    expect_safe("m.pt2", zip_archive(entries, 64), may_be ? Verdict::either : Verdict::refused);
  });
}

std::string with_entry(const std::string& name, const std::string& content, bool is_deflated) {
  std::vector<ZipEntry> entries = zip_entries();
  std::erase_if(entries, [&](const ZipEntry& e) { return e.name == "net/" + name; });
  entries.push_back({.name = "net/" + name, .content = content, .is_deflated = is_deflated});
  return zip_archive(entries, 64);
}

std::string zip_of_many(int entries) {
  std::vector<ZipEntry> all;
  for (int i = 0; i < entries; ++i) all.push_back({.name = concat("net/", i), .content = ""});
  return zip_archive(all);
}

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += text;
  return all;
}

TEST(Archives, ThatWouldBurstOrLeadOutAreRefused) {
  constexpr int many = 60'000'000;
  const std::function<std::string()> all[] = {
      [] { return with_entry("models/model.json", std::string(many, ' '), true); },
      [] { return with_entry("models/model.json", std::string(many, '['), true); },
      [] { return with_entry("models/model.json", repeated("{\"a\":", 1 << 20), true); },
      [] { return with_entry("models/model.json", "\"" + std::string(many, 'x') + "\"", true); },
      [] { return with_entry("models/model.json", "[" + repeated("0,", 1 << 24) + "0]", true); },
      [] { return with_entry("byteorder", std::string(many, 'l'), true); },
      [] {
        return with_entry("data/weights/model_weights_config.json", std::string(many, ' '), true);
      },
      [] { return with_entry("data/weights/weight_0", std::string(1 << 20, '\0'), true) + "x"; },
      [] { return with_entry("models/../../../etc/passwd", "x", false); },
      [] { return with_entry("/etc/passwd", "x", false) + "x"; },
      [] { return with_entry("data\\weights\\weight_0", "x", false); },
      [] { return with_entry(std::string("data/weights/w\0x", 16), "x", false); },
      [] { return with_entry("data/./weights/weight_0", "x", false); },
      [] { return with_entry("data/weights/\xff\xfe", "x", false); },
      [] { return with_entry(std::string(60'000, 'n'), "x", false); },
      [] { return with_entry("serialized_exported_program.json", "{}", false); },
      [] { return with_entry("byteorder", "big", false); },
      [] { return with_entry("models/model.json", exported_file(), false); },
      [] { return with_entry("models/model.json", "", false); },
      [] { return with_entry("models/model.json", "\xef\xbb\xbf{}", false); },
      [] { return zip_of_many(1); },
      [] { return zip_of_many(65'534); },
      [] { return exported_file() + exported_file(); },
      [] { return "\x1b]0;gone\x07" + exported_file(); },
  };
  each_case(std::size(all), [&](std::uint64_t number) { expect_refused(all[number]()); });
}

std::string with_nodes(const std::string& nodes) {
  ProgramText program;
  program.nodes = nodes;
  return exported_file(program);
}
std::string add(const std::string& a, const std::string& b, const std::string& result) {
  return node("torch.ops.aten.add.Tensor",
              {tensor_argument("self", a), tensor_argument("other", b)}, result);
}
std::string filled(const std::string& sizes) {
  return with_nodes(node("torch.ops.aten.full.default",
                         {argument("size", R"({"as_ints": [)" + sizes + "]}"),
                          argument("fill_value", R"({"as_float": 1.0})")},
                         "y"));
}
std::string with_weight(const std::string& row) {
  return exported_file({}, {{"data/weights/model_weights_config.json", weights_table(row)}});
}
std::string with_weight_facts(const std::string& facts) {
  return with_weight(weight_row("net.weight", "weight_0", facts));
}

// Weights that repeat one element, each with other sizes.
std::string weights_of_one_element() {
  std::string rows =
      weight_row("net.weight", "weight_0", tensor_facts(sizes_of({2}), 7, sizes_of({1})));
  for (int i = 0; i < 40; ++i)
    rows += "," + weight_row(concat("w", i), "weight_0",
                             tensor_facts(sizes_of({(1 << 24) - i}), 7, sizes_of({0})));
  return with_weight(rows);
}

TEST(Archives, WithGraphsAndWeightsThatCannotBeAreRefused) {
  const std::string size = sizes_of({2}), one = sizes_of({1});
  const std::string all[] = {
      with_nodes(add("x", "b", "a") + ", " + add("a", "x", "b") + ", " + add("a", "b", "y")),
      with_nodes(add("y", "x", "y")),
      with_nodes(add("x", "p_w", "x")),
      with_nodes(add("x", "p_w", "y") + ", " + add("x", "p_w", "y")),
      with_nodes(add("nothing", "x", "y")),
      with_nodes(""),
      with_nodes(node("torch.ops.aten.novel.default", {tensor_argument("self", "x")}, "y")),
      with_nodes(node("os.system", {tensor_argument("self", "x")}, "y")),
      with_nodes(node("\\u001b]0;gone\\u0007", {tensor_argument("self", "x")}, "y")),
      with_nodes(node("torch.ops.higher_order.while_loop", {tensor_argument("self", "x")}, "y")),
      with_nodes(add("x", "p_w", "y") + ", " + repeated("{}, ", 200'000) + "{}"),
      with_nodes(repeated("[", 100'000)),
      filled("1099511627776"),
      filled("-1"),
      filled("1099511627776, 1099511627776"),
      filled("9223372036854775807"),
      with_weight_facts(tensor_facts(size, 99, one)),
      with_weight_facts(tensor_facts(size, -1, one)),
      with_weight_facts(tensor_facts(sizes_of({3}), 7, one)),
      with_weight_facts(tensor_facts(sizes_of({-2}), 7, one)),
      with_weight_facts(tensor_facts(size, 7, sizes_of({-1}))),
      with_weight_facts(tensor_facts(size, 7, sizes_of({1, 1}))),
      with_weight_facts(tensor_facts(size, 7, one, 1)),
      with_weight_facts(tensor_facts(size, 7, one, -1)),
      with_weight_facts(tensor_facts(size, 7, one, 2'000'000'000)),
      with_weight_facts(
          tensor_facts(sizes_of({2'000'000'000, 2'000'000'000}), 7, sizes_of({0, 0}))),
      with_weight_facts(tensor_facts(sizes_of({2'000'000'000}), 7, sizes_of({0}))),
      with_weight(weight_row("net.weight", "../../../etc/passwd", tensor_facts(size, 7, one))),
      with_weight(weight_row("net.weight", "/etc/passwd", tensor_facts(size, 7, one))),
      with_weight(weight_row("net.weight", "../models/model.json", tensor_facts(size, 7, one))),
      with_weight(weight_row("net.weight", "weight_0", tensor_facts(size, 7, one), true)),
      with_weight(weight_row("other", "weight_0", tensor_facts(size, 7, one))),
      with_weight(""),
      weights_of_one_element(),
  };
  each_case(std::size(all), [&](std::uint64_t number) { expect_refused(all[number]); });
}

std::string integers_among_many_names() {
  constexpr int integers = 20'000, others = 600'000;
  ProgramText program;
  std::string names;
  for (int i = 0; i < integers; ++i)
    program.inputs += concat(R"(,{"user_input":{"arg":{"as_sym_int":{"as_name":"k)", i, R"("}}}})");
  for (int i = 0; i < others; ++i) names += concat("\"p", i, "\":0,");
  for (int i = 0; i < integers; ++i)
    names += concat(i == 0 ? "" : ",", "\"k", i, R"(":{"as_int":3})");
  std::string text = program.text();
  const std::string_view none = R"("sym_int_values": {)";
  return with_entry("models/model.json", text.insert(text.find(none) + none.size(), names), false);
}
// Inputs whose sizes are functions of a symbol each, all with a range.
std::string functions_of_sizes() {
  ProgramText program;
  for (int i = 0; i < 10'000; ++i) {
    const std::string function = concat("Mul(Integer(", i + 2, "), Symbol('s", i, "'))");
    program.tensors += concat(
        ", \"x", i, "\": ", tensor_facts(R"([{"as_expr": {"expr_str": ")" + function + "\"}}]"));
    program.inputs += concat(R"(,{"user_input": {"arg": {"as_tensor": {"name": "x)", i, R"("}}}})");
    program.ranges +=
        concat(i == 0 ? "" : ", ", '"', i + 2, "*s", i, R"(": {"min_val": 0, "max_val": 100})");
  }
  return exported_file(program);
}
// y = a graph of x that an operator runs, after its other arguments.
std::string graph_of_negations(const std::string& target, std::vector<std::string> arguments) {
  constexpr int count = 40'000;
  std::string nodes, last = "a";
  for (int i = 0; i < count; ++i) {
    const std::string next = concat("v", i);
    nodes += (i == 0 ? "" : ",") +
             node("torch.ops.aten.neg.default", {tensor_argument("self", last)}, next);
    last = next;
  }
  const std::string graph = R"({"name": "g", "graph": {"inputs": [{"as_tensor": {"name": "a"}}],
      "outputs": [{"as_tensor": {"name": ")" +
                            last + R"("}}], "tensor_values": {}, "nodes": [)" + nodes + "]}}";
  arguments.push_back(argument("", R"({"as_graph": )" + graph + "}"));
  arguments.push_back(tensor_argument("", "x"));
  return with_nodes(node(target, arguments, "y"));
}
std::string many_views_of_one_entry() {
  std::string rows =
      weight_row("net.weight", "weight_0", tensor_facts(sizes_of({2}), 7, sizes_of({1})));
  for (int i = 0; i < 40'000; ++i)
    rows += "," + weight_row(concat("w", i), "weight_0",
                             tensor_facts(sizes_of({0}), 7, sizes_of({1}), i));
  return with_weight(rows);
}

TEST(Archives, OfManyPartsAreReadInTime) {
  const std::string no = R"({"as_bool": false})", yes = R"({"as_bool": true})";
  const std::function<std::string()> all[] = {
      integers_among_many_names,
      many_views_of_one_entry,
      functions_of_sizes,
      [&] {
        return graph_of_negations("torch.ops.higher_order.wrap_with_set_grad_enabled",
                                  {argument("", no)});
      },
      [&] {
        return graph_of_negations(
            "torch.ops.higher_order.wrap_with_autocast",
            {argument("", R"({"as_string": "cpu"})"), argument("", R"({"as_scalar_type": 13})"),
             argument("", yes), argument("", no)});
      },
  };
  each_case(std::size(all),
            [&](std::uint64_t number) { expect_safe("m.pt2", all[number](), Verdict::either); });
}

// Each number of a program's or a weight's description, as something else.
TEST(Archives, WithOtherNumbersAreSafe) {
  const std::string values[] = {"NaN",
                                "-Infinity",
                                "1e999",
                                "-1",
                                "1e300",
                                "99999999999999999999",
                                "9223372036854775807",
                                "null",
                                "[]",
                                "\"\\u0007\""};
  each_case(60, [&](std::uint64_t number) {
    Chance chance(number);
    std::vector<ZipEntry> entries = zip_entries();
    std::string& text = entries[chance.below(2) == 0 ? 3 : 4].content;
    std::vector<std::size_t> places;
    for (std::size_t at = text.find(": "); at != text.npos; at = text.find(": ", at + 1))
      if (text[at + 2] >= '0' && text[at + 2] <= '9') places.push_back(at + 2);
    const std::size_t at = places[chance.below(places.size())];
    const std::string& value = values[number % std::size(values)];
    text.replace(at, text.find_first_not_of("0123456789", at) - at, value);
    const bool is_no_json = value == "NaN" || value == "-Infinity";
    expect_safe("m.pt2", zip_archive(entries, 64), is_no_json ? Verdict::refused : Verdict::either);
  });
}

}  // namespace
}  // namespace tilewright::drills
