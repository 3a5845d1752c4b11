// Programs in the archives that PyTorch 2.6 and 2.7 wrote, with their tensors in files of
// torch.save (tools/torch_saved_cases.py writes the folder torch_saved).
#include <filesystem>

#include "models/exported/archive_layout.h"

#include <gmock/gmock.h>

#include "graph/compile/compile.h"
#include "models/exported/exported_module.h"
#include "tests/errors.h"
#include "tests/models/exported_cases.h"
#include "tests/models/exported_files.h"
#include "tests/models/folders.h"
#include "tests/models/pickles.h"

namespace tilewright::exported_archive_layout_test {
namespace {

using testing::bytes_of;
using testing::case_of;
using testing::expect_near;
using ::testing::HasSubstr;
using testing::named;
using testing::pickle_of;
using testing::ProgramText;
using testing::storage;
using testing::tensor;
using testing::tensors_of;
using testing::zip_archive;
using testing::ZipEntry;

const std::filesystem::path folder = source_folder() / "tests/models/torch_saved";

class TorchSaved : public ::testing::TestWithParam<const char*> {};

TEST_P(TorchSaved, ComputesWhatPyTorchDoes) {
  const auto call = case_of(folder, GetParam());
  const auto path = folder / concat(GetParam(), ".pt2");
  for (Reading reading : {Reading::as_needed, Reading::copied, Reading::mapped})
    expect_near(load_exported(path, {reading})->forward(tensors_of(call["inputs"])),
                call["outputs"]);
  auto module = load_exported(path);
  expect_near(compile(*module)(tensors_of(call["inputs"])), call["outputs"]);
}
INSTANTIATE_TEST_SUITE_P(Programs, TorchSaved,
                         ::testing::Values("layers_2_6", "layers_2_7", "storages_2_6"),
                         [](const auto& of) { return std::string(of.param); });

TEST(ArchiveLayout, OfOlderVersionsIsTold) {
  for (const char* version : {"2_6", "2_7"}) {
    const ProgramSummary summary = inspect_exported(folder / concat("layers_", version, ".pt2"));
    EXPECT_THAT(summary.producer, HasSubstr("PyTorch 2.")) << version;
    ASSERT_EQ(summary.inputs.size(), 1U);
    ASSERT_EQ(summary.inputs[0].dynamic.size(), 1U);
    EXPECT_EQ(summary.inputs[0].dynamic[0].max, 100);
  }
}

// y = x + w, as PyTorch 2.7 would save it; `items` are those of the state's dictionary.
std::vector<ZipEntry> saved_state(const std::string& items) {
  return {{.name = "archive/data.pkl", .content = pickle_of(items)},
          {.name = "archive/byteorder", .content = "little"},
          {.name = "archive/data/0", .content = bytes_of({10, 20})}};
}
std::string saved_file(const std::vector<ZipEntry>& state, bool is_deflated = false) {
  return zip_archive(
      {{.name = "serialized_exported_program.json", .content = ProgramText{}.text()},
       {.name = "serialized_state_dict.pt",
        .content = state.empty() ? "" : zip_archive(state, 64),
        .is_deflated = is_deflated},
       {.name = "serialized_constants.pt", .content = zip_archive({{"a/data.pkl", pickle_of("")}})},
       {.name = "serialized_example_inputs.pt", .content = "whatever"},
       {.name = "version", .content = "8.7"}});
}

class SavedFile : public ::testing::Test {
 protected:
  std::string error_of_file(const std::string& bytes) {
    return error_of([&] { load_exported(folder_.write("net.pt2", bytes)); });
  }
  std::string error_of_items(const std::string& items) {
    return error_of_file(saved_file(saved_state(items)));
  }
  ScratchFolder folder_;
};

TEST_F(SavedFile, IsRead) {
  auto module = load_exported(
      folder_.write("net.pt2", saved_file(saved_state(named("net.weight", tensor())))));
  Tensor x = Tensor::from(std::vector<float>{1, 2}, {2});
  EXPECT_EQ(module->forward({x})[0].to_vector<float>(), (std::vector<float>{11, 22}));
}

TEST_F(SavedFile, WithTensorsThatReachOutOfTheirStorageIsRefused) {
  auto refused = [&](const std::string& made) { return error_of_items(named("net.weight", made)); };
  EXPECT_THAT(refused(tensor(storage(), "K\x01")),
              HasSubstr("serialized_state_dict.pt: \"net.weight\": it is f32 [2] with strides [1] "
                        "from element 1 on; entry \"data/0\" has 8 bytes"));
  EXPECT_THAT(refused(tensor(storage(), "J\xff\xff\xff\xff")), HasSubstr("from element -1 on"));
  EXPECT_THAT(refused(tensor(storage("FloatStorage", "1"))),
              HasSubstr("the archive has no entry \"data/1\""));
  EXPECT_THAT(refused(tensor(storage("FloatStorage", "../0"))),
              HasSubstr("the archive has no entry \"data/../0\""));
  EXPECT_THAT(refused(tensor(storage("DoubleStorage"))),
              HasSubstr("its storage has 16 bytes; entry \"data/0\" has 8"));
  EXPECT_THAT(refused(tensor(storage("IntStorage"))),
              HasSubstr("is i32 [2]; its program has it as f32 [2]"));
  EXPECT_THAT(refused(tensor(storage(), std::string("K\0", 2), "K\x01\x85")),
              HasSubstr("is f32 [1]; its program has it as f32 [2]"));
  EXPECT_THAT(error_of_items(named("weight", tensor())), HasSubstr("has no tensor \"net.weight\""));
}

TEST_F(SavedFile, WithArchivesWithinThatAreNoneIsRefused) {
  const auto state = saved_state(named("net.weight", tensor()));
  EXPECT_THAT(error_of_file(saved_file({})), HasSubstr("has no tensor \"net.weight\""));
  EXPECT_THAT(error_of_file(saved_file(state, true)),
              HasSubstr("net.pt2: serialized_state_dict.pt: is deflated"));
  EXPECT_THAT(error_of_file(saved_file({{"a/other", "x"}})), HasSubstr("no entry \"data.pkl\""));
  auto swapped = state;
  swapped[1].content = "big";
  EXPECT_THAT(error_of_file(saved_file(swapped)), HasSubstr("another order than little endian"));
  EXPECT_THAT(error_of_file(zip_archive({{"serialized_exported_program.json", "{}"}})),
              HasSubstr("\"torch_version\" is missing"));
  EXPECT_THAT(
      error_of_file(zip_archive({{"serialized_exported_program.json", ProgramText{}.text()}})),
      HasSubstr("has no entry \"serialized_state_dict.pt\""));
  ProgramText old;
  old.version = R"({"major": 7, "minor": 3})";
  EXPECT_THAT(error_of_file(zip_archive({{"serialized_exported_program.json", old.text()}})),
              HasSubstr("it has version 7 of PyTorch's schema"));
}

TEST_F(SavedFile, WithADamagedStorageIsRefused) {
  std::string file = saved_file(saved_state(named("net.weight", tensor())));
  file[file.find(bytes_of({10, 20}))] ^= 1;
  EXPECT_THAT(error_of_file(file), HasSubstr("\"data/0\" has another checksum"));
}

TEST_F(SavedFile, IsRefusedWhereverItIsCutOff) {
  const std::string whole = saved_file(saved_state(named("net.weight", tensor())));
  for (std::size_t size = 0; size < whole.size(); size += 7)
    EXPECT_THAT(error_of_file(whole.substr(0, size)), HasSubstr("[load_exported]")) << size;
}

}  // namespace
}  // namespace tilewright::exported_archive_layout_test
