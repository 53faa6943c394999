// Each allocation of each reader and writer fails once: an error comes back,
// nothing leaks (as the sanitizer sees it), and nothing is left half.
#include <gtest/gtest.h>

#include "headwise/interop/checkpoint.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/params.h"
#include "headwise/interop/sharded_safetensors.h"
#include "interop/files.h"
#include "support/failures.h"

namespace headwise {
namespace {

using testing_support::failing_allocation;
using testing_support::failures_of;

TEST(OutOfMemoryTest, EveryAllocationOfAReaderMayFail) {
  const Bytes file = file_bytes(data_path("big_endian_fortran.npy"));
  const std::string stored = data_path("stored.npz");
  const std::string npy = data_path("f4.npy");
  EXPECT_GT(failures_of([&] { return parse_npy(file, "x.npy"); }), 3);
  EXPECT_GT(failures_of([&] { return read_npy(npy); }), 3);
  EXPECT_GT(failures_of([&] { return read_npz(stored); }), 10);
  const auto array = read_npy(npy);
  ASSERT_TRUE(array);
  EXPECT_GT(failures_of([&] { return to_float<2>(*array, "test", "x"); }), 0);
}

TEST(OutOfMemoryTest, EveryAllocationOfASafetensorsFileMayFail) {
  const std::string path = data_path("every_type.safetensors");
  const Bytes bytes = file_bytes(path);
  EXPECT_GT(failures_of([&] { return parse_safetensors(bytes, "x"); }), 50);
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    EXPECT_GT(failures_of([&] { return open_safetensors(path, access); }), 50);
  }
  const auto file = open_safetensors(path);
  ASSERT_TRUE(file);
  EXPECT_GT(failures_of([&] { return file->tensor("f32"); }), 1);
  EXPECT_GT(failures_of([&] { return file->array("f32"); }), 1);
  std::map<std::string, AnyView> views;
  for (const auto& [name, entry] : file->tensors()) {
    views.emplace(name, file->tensor(name).value().view);
  }
  const TempFolder folder;
  const std::string out = folder / "x.safetensors";
  const auto write = [&] {
    return write_safetensors(out, views, file->metadata());
  };
  EXPECT_GT(failures_of(write), 50);
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_GT(failures_of([&] { return format_safetensors(views); }), 50);
  const std::string index = folder / "x.safetensors.index.json";
  put_file(index, bytes_of(R"({"metadata":{"a":1},"weight_map":)"
                           R"({"f32":"x.safetensors"}})"));
  EXPECT_GT(failures_of([&] { return open_sharded_safetensors(index); }), 50);
}

TEST(OutOfMemoryTest, EveryAllocationOfALayoutMayFail) {
  const std::vector<float> zeros(12 * 4);
  const TensorView<const float, 2> packed(zeros.data(), {12, 4});
  const TensorView<const float, 2> square(zeros.data(), {4, 4});
  const TensorView<const float, 1> bias(zeros.data(), {12});
  const TempFolder folder;
  const std::string path = folder / "x.safetensors";
  ASSERT_TRUE(write_safetensors(path, {{"in_proj_weight", packed},
                                       {"in_proj_bias", bias},
                                       {"out_proj.weight", square}}));
  const ParamNames names = {.required = {"w_q.weight"}};
  EXPECT_GT(failures_of([&] { return read_layer_params(path, names); }), 100);
  LayerParams layer = read_layer_params(path, names).value();
  layer.num_heads = 2;
  const Layout& keras = layouts()[7];
  EXPECT_EQ(keras.name, "keras");
  EXPECT_GT(failures_of([&] { return lay_out(layer, 0, keras); }), 10);
}

// A file that is wrong is an error of its own or one of memory, no more.
TEST(OutOfMemoryTest, EveryAllocationOfAWrongHeaderMayFail) {
  Bytes bytes = file_bytes(data_path("every_type.safetensors"));
  for (const std::size_t at : {9u, 200u, 900u, 1010u}) {
    bytes[at] ^= std::byte{1};
    for (long nth = 1;; ++nth) {
      failing_allocation() = nth;
      const auto file = parse_safetensors(bytes, "x");
      const bool all_served = failing_allocation() > 0;
      failing_allocation() = 0;
      ASSERT_FALSE(file);
      if (all_served) {
        EXPECT_EQ(file.error().code(), ErrorCode::bad_data);
        break;
      }
      EXPECT_FALSE(file.error().message().empty());
    }
    bytes[at] ^= std::byte{1};
  }
}

TEST(OutOfMemoryTest, EveryAllocationOfAWriterMayFailAndTheOldFileStays) {
  const auto array = read_npy(data_path("f4.npy"));
  ASSERT_TRUE(array);
  const AnyView view = array->view();
  const std::map<std::string, AnyView> views = {{"a", view}, {"b", view}};
  const TempFolder folder;
  const std::string npy = folder / "x.npy";
  const std::string npz = folder / "x.npz";
  EXPECT_GT(failures_of([&] { return write_npy(npy, view); }), 3);
  EXPECT_GT(failures_of([&] { return write_npz(npz, views); }), 10);
  EXPECT_EQ(folder.count(), 2u);
  const ParamNames names = {.required = {"w_q.weight"}};
  const std::string path = folder.path();
  ASSERT_TRUE(write_npy(folder / "fc_q.weight.npy", view));
  std::filesystem::remove(npy);
  EXPECT_GT(failures_of([&] { return read_params(path, names); }), 10);
}

TEST(OutOfMemoryTest, EveryAllocationOfACheckpointMayFail) {
  const auto array = read_npy(data_path("f4.npy"));
  ASSERT_TRUE(array);
  OptimizerState optimizer{3, {}};
  optimizer.values.emplace(
      "exp_avg/w_q.weight",
      Tensor<float, 1>::create({array->data.size() / sizeof(float)}).value());
  const CheckpointView view{.step = 3,
                            .config = {{"task", "recall"}},
                            .params = {{"w_q.weight", array->view()}},
                            .optimizer = &optimizer,
                            .records = {{"loss", {1, 2, 3}}}};
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  EXPECT_GT(failures_of([&] { return write_checkpoint(path, view); }), 10);
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_GT(failures_of([&] { return read_checkpoint(path); }), 10);
}

}  // namespace
}  // namespace headwise
