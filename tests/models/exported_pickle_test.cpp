// Pickles as torch.save writes them, and as a stranger might.
#include "models/exported/pickle.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "tests/errors.h"
#include "tests/models/pickles.h"

namespace tilewright::exported_pickle_test {
namespace {

using exported::PickledTensor;
using exported::read_pickled_tensors;
using ::testing::AnyOf;
using testing::begun;
using testing::global;
using ::testing::HasSubstr;
using testing::little;
using testing::named;
using testing::pickle_of;
using testing::storage;
using testing::tensor;
using testing::text;

std::string said(const std::string& bytes) {
  return error_of([&] { read_pickled_tensors(bytes, "net.pt2: data.pkl"); });
}
// The error for a pickle whose only instructions, before the end, are these.
std::string said_of(const std::string& instructions) { return said(begun(instructions + ".")); }

TEST(Pickle, OfADictionaryGivesHowItsTensorsLie) {
  const std::string parameter = global("torch._utils", "_rebuild_parameter") + tensor() + "\x88" +
                                global("collections", "OrderedDict") + ")R\x87R";
  const auto tensors =
      read_pickled_tensors(pickle_of(named("a", tensor()) + named("b.weight", parameter) +
                                     named("c", tensor(storage("BFloat16Storage", "7", 6), "K\x01",
                                                       "K\x02K\x03\x86", "K\x03K\x01\x86"))),
                           "data.pkl");
  ASSERT_EQ(tensors.size(), 3U);
  EXPECT_EQ(tensors[0].name, "a");
  EXPECT_EQ(tensors[0].dtype, f32);
  EXPECT_EQ(tensors[0].storage, "0");
  EXPECT_EQ(tensors[0].storage_bytes, 8);
  EXPECT_EQ(tensors[0].sizes, Shape({2}));
  EXPECT_EQ(tensors[1].name, "b.weight");
  EXPECT_EQ(tensors[2].dtype, bf16);
  EXPECT_EQ(tensors[2].storage, "7");
  EXPECT_EQ(tensors[2].storage_bytes, 12);
  EXPECT_EQ(tensors[2].offset, 1);
  EXPECT_EQ(tensors[2].strides, Shape({3, 1}));
}

TEST(Pickle, OfAModulesStateMayHaveVersions) {
  const std::string ordered = global("collections", "OrderedDict") + ")R";
  const std::string state =
      "}" + text("_metadata") + ordered + text("") + "}" + text("version") + "K\x01sss";
  const auto tensors = read_pickled_tensors(
      begun(ordered + "(" + named("w", tensor()) + "u" + state + "b."), "data.pkl");
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].name, "w");
}

TEST(Pickle, OfAParameterMayHaveAttributes) {
  const std::string attributes = "}" + text("_dynamo_static_input_type") + text("unguarded") + "s";
  auto made = [&](const std::string& state) {
    return global("torch._utils", "_rebuild_parameter_with_state") + "(" + tensor() + "\x88" +
           global("collections", "OrderedDict") + ")R" + state + "tR";
  };
  EXPECT_EQ(read_pickled_tensors(pickle_of(named("w", made(attributes))), "data.pkl").size(), 1U);
  EXPECT_THAT(said_of(made("N")), HasSubstr("a parameter's attributes is None"));
}

TEST(Pickle, MayHaveElementsWithoutATypeOfStorage) {
  const std::string bytes = "(" + text("storage") + global("torch.storage", "UntypedStorage") +
                            text("0") + text("cpu") + "K\x04tQ";
  const std::string made = global("torch._utils", "_rebuild_tensor_v3") + "(" + bytes +
                           "K\x01K\x01\x85K\x01\x85\x89" + global("collections", "OrderedDict") +
                           ")R" + global("torch", "uint16") + "tR";
  const auto tensors = read_pickled_tensors(pickle_of(named("w", made)), "data.pkl");
  ASSERT_EQ(tensors.size(), 1U);
  EXPECT_EQ(tensors[0].dtype, DType::u16);
  EXPECT_EQ(tensors[0].storage_bytes, 4);
}

TEST(Pickle, ReadsNumbersOfAllWidths) {
  for (auto [number, value] : {std::pair<std::string, std::int64_t>{"K\xc8", 200},
                               {"M" + little(60'000, 2), 60'000},
                               {"J" + little(70'000, 4), 70'000},
                               {"\x8a\x05" + little(std::uint64_t{1} << 33, 5), 1LL << 33},
                               {std::string("\x8a\0", 2), 0}}) {
    const auto tensors =
        read_pickled_tensors(pickle_of(named("w", tensor(storage(), number))), "data.pkl");
    EXPECT_EQ(tensors.at(0).offset, value);
  }
}

// Nothing is called, whatever it is.
TEST(Pickle, ThatCallsAnythingElseIsRefused) {
  for (const char* function : {"system", "_rebuild_tensor", "getattr"})
    EXPECT_THAT(said_of(global("os", function) + text("true") + "\x85R"),
                HasSubstr(concat("calls \"os.", function, "\"; a dictionary of tensors needs no")));
  EXPECT_THAT(said_of(global("builtins", "eval") + text("1") + "\x85R"),
              HasSubstr("calls \"builtins.eval\""));
  EXPECT_THAT(said_of(global("torch._utils", "_rebuild_device_tensor_from_numpy") + ")R"),
              HasSubstr("_rebuild_device_tensor_from_numpy"));
  EXPECT_THAT(said_of(text("torch._utils") + ")R"), HasSubstr("what is called is a string"));
  EXPECT_THAT(said_of(global("collections", "OrderedDict") + "K\x01\x85R"),
              HasSubstr("collections.OrderedDict is called with 1 arguments"));
  EXPECT_THAT(said_of(global("collections", "OrderedDict") + "NR"),
              HasSubstr("the argument list of a function is None; a tuple is wanted"));
}

TEST(Pickle, ThatIsNoDictionaryOfTensorsIsRefused) {
  EXPECT_THAT(said(""), HasSubstr("wants 1 bytes more; the pickle has 0"));
  EXPECT_THAT(said("\x80\x04}."), HasSubstr("a pickle of protocol 2"));
  EXPECT_THAT(said("(lp0\n."), HasSubstr("a pickle of protocol 2"));
  EXPECT_THAT(said_of("N"), HasSubstr("it is None; a dictionary of tensors is wanted"));
  EXPECT_THAT(said_of(tensor()), HasSubstr("it is a tensor; a dictionary"));
  EXPECT_THAT(said_of(""), HasSubstr("the end leaves 0 values"));
  EXPECT_THAT(said_of("}}"), HasSubstr("the end leaves 2 values"));
  EXPECT_THAT(said(begun("}.}.")), HasSubstr("there are 2 bytes behind the end"));
  EXPECT_THAT(said(pickle_of(text("w") + "K\x01")), HasSubstr("\"w\" is an integer; a tensor"));
  EXPECT_THAT(said(pickle_of(text("w") + "}")), HasSubstr("\"w\" is a dictionary; a tensor"));
  EXPECT_THAT(said(pickle_of("K\x01" + tensor())), HasSubstr("a name is an integer"));
  EXPECT_THAT(said(pickle_of(named("w", tensor()) + named("w", tensor()))),
              HasSubstr("there are two tensors \"w\""));
}

TEST(Pickle, ThatMisusesTheStackIsRefused) {
  for (const char* code : {"q\x01", "s", "u", "t", "R", "b", "Q", "\x85", "\x86", "\x87"})
    EXPECT_THAT(said_of(code), HasSubstr("[load_exported] net.pt2: data.pkl: byte 2: ")) << code;
  EXPECT_THAT(said_of("(q\x01"), HasSubstr("nothing is on the stack"));
  EXPECT_THAT(said_of("K\x01(\x86"), HasSubstr("with a mark between them"));
  EXPECT_THAT(said_of("h\x05"), HasSubstr("nothing was remembered as 5"));
  EXPECT_THAT(said_of("j\xff\xff\xff\xff"), HasSubstr("nothing was remembered as 4294967295"));
  EXPECT_THAT(said_of("}(K\x01u"), HasSubstr("a key of a dictionary has no value"));
  EXPECT_THAT(said_of("NK\x01K\x02s"), HasSubstr("put into None; a dictionary is wanted"));
  EXPECT_THAT(said_of("N}b"), HasSubstr("a state is given to None"));
  EXPECT_THAT(said_of("}Nb"), HasSubstr("an object's state is None"));
  for (char code : {'l', 'd', 'i', 'o', 'P', 'I', 'V', 'G', '\x81', '\x82', '\x93', '\x94', '\0'})
    EXPECT_THAT(said_of(std::string(1, code)), HasSubstr("is not among those")) << code;
}

TEST(Pickle, WithTextsAndNumbersThatLieIsRefused) {
  EXPECT_THAT(said_of("X\xff\xff\xff\xff"), HasSubstr("wants 4294967295 bytes more"));
  EXPECT_THAT(said_of("X" + little(2, 4) + "\xff\xfe"), HasSubstr("a string is not UTF-8"));
  EXPECT_THAT(said_of("ctorch"), HasSubstr("a name does not end"));
  EXPECT_THAT(said_of("\x8a\x09" + std::string(9, '\1')), HasSubstr("an integer has 9 bytes"));
}

TEST(Pickle, WithStoragesThatCannotBeIsRefused) {
  EXPECT_THAT(said_of(")Q"), HasSubstr("a persistent id is not that of a storage"));
  EXPECT_THAT(said_of("(" + text("storage") + "N(NN\x87"), HasSubstr("with a mark between them"));
  EXPECT_THAT(said_of(storage("ComplexFloatStorage")),
              HasSubstr("\"torch.ComplexFloatStorage\" is not a type of storage that is known"));
  EXPECT_THAT(said_of(storage("FloatStorage", "0", -1)), HasSubstr("a storage has -1 elements"));
  EXPECT_THAT(said_of(storage("FloatStorage", std::string(2000, '0'))),
              HasSubstr("has a name of 2000 bytes"));
  EXPECT_THAT(said_of("(" + text("storage") + global("torch", "FloatStorage") + text("0") +
                      text("cpu") + "\x8a\x08" + little(INT64_MAX, 8) + "tQ"),
              HasSubstr("elements"));
}

TEST(Pickle, WithTensorsThatCannotBeIsRefused) {
  EXPECT_THAT(said_of(tensor("N")), HasSubstr("a tensor's storage is None"));
  EXPECT_THAT(said_of(tensor(storage(), "N")), HasSubstr("a tensor's offset is None"));
  EXPECT_THAT(said_of(tensor(storage(), "K\x01", "N")), HasSubstr("a tensor's sizes is None"));
  EXPECT_THAT(said_of(tensor(storage(), "K\x01", text("2") + "\x85")),
              HasSubstr("a tensor's sizes is a string; an integer"));
  EXPECT_THAT(said_of(tensor(storage(), "K\x01", "J\xff\xff\xff\xff\x85")),
              HasSubstr("a tensor's sizes hold -1"));
  std::string many = "(";
  for (int i = 0; i < 65; ++i) many += "K\x01";
  EXPECT_THAT(said_of(tensor(storage(), "K\x01", many + "t")),
              HasSubstr("a tensor's sizes are 65; at most 64"));
  EXPECT_THAT(said_of(global("torch._utils", "_rebuild_tensor_v2") + storage() + "\x85R"),
              HasSubstr("_rebuild_tensor_v2 is called with 1 arguments"));
  EXPECT_THAT(said_of(global("torch._utils", "_rebuild_parameter") + "NNN\x87R"),
              HasSubstr("a parameter's data is None"));
}

// A few bytes of input must take little memory to read.
TEST(Pickle, ThatSaysMuchInFewBytesIsBounded) {
  std::string nested = "N";
  for (int i = 0; i < 1'000'000; ++i) nested += "\x85";
  EXPECT_THAT(said_of(nested), HasSubstr("it is a tuple"));
  EXPECT_THAT(said_of(std::string(5'000'000, '}')), HasSubstr("has more than 4000000 values"));
  std::string tensors = tensor();
  const std::size_t call = tensors.rfind('R');
  tensors = tensors.substr(0, call) + "q\x01";
  const std::string again = global("torch._utils", "_rebuild_tensor_v2") + "q\x02" + "h\x01R";
  std::string all = tensors + again;
  for (int i = 0; i < 100'001; ++i) all += "h\x02h\x01R";
  EXPECT_THAT(said_of(all), HasSubstr("has more than 100000 tensors"));
}

TEST(Pickle, IsRefusedWhereverItIsCutOff) {
  const std::string whole = pickle_of(named("a", tensor()) + named("b", tensor()));
  EXPECT_EQ(said(whole), "no error");
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THAT(said(whole.substr(0, size)), HasSubstr("[load_exported] net.pt2: data.pkl: byte "));
}

TEST(Pickle, SurvivesEveryChangedByte) {
  const std::string whole = pickle_of(named("a", tensor()) + named("b", tensor()));
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (int value = 0; value < 256; ++value) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(value);
      ASSERT_THAT(said(damaged), AnyOf("no error", HasSubstr("[load_exported] "))) << i;
    }
}

}  // namespace
}  // namespace tilewright::exported_pickle_test
