// Each allocation of each reader and writer fails once: an error comes back,
// nothing leaks (as the sanitizer sees it), and nothing is left half.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "headwise/interop/array.h"
#include "headwise/interop/atomic_file.h"
#include "headwise/interop/checkpoint.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/params.h"
#include "headwise/interop/token_text.h"
#include "interop/files.h"
#include "interop/sharded_safetensors.h"
#include "support/failures.h"

namespace headwise::testing_support {
namespace {

TEST(OutOfMemoryTest, EveryAllocationOfAReaderMayFail) {
  const Bytes file = file_bytes(data_path("big_endian_fortran.npy"));
  const std::string stored = data_path("stored.npz");
  const std::string npy = data_path("f4.npy");
  EXPECT_GT(failures_of([&] { return parse_npy(file, "x.npy"); }), 3);
  EXPECT_GT(failures_of([&] { return read_npy(npy); }), 3);
  EXPECT_GT(failures_of([&] { return read_npz(stored); }), 10);
  const Bytes zip = file_bytes(stored);
  EXPECT_GT(failures_of([&] { return parse_npz(zip, "x.npz"); }), 10);
  EXPECT_GT(failures_of([] { return parse_tokens("1 2\n3\n", "x.txt"); }), 3);
}

TEST(OutOfMemoryTest, EveryAllocationOfAnArrayMayFail) {
  const Array array = read_npy(data_path("f4.npy")).value();
  const AnyView view = array.view();
  const Array whole = read_npy(data_path("i4.npy")).value();
  Array infinite = array;
  const float infinity = std::numeric_limits<float>::infinity();
  std::memcpy(infinite.data.data(), &infinity, sizeof infinity);
  Array zeros = whole;
  std::ranges::fill(zeros.data, std::byte{0});
  Array huge = whole;
  huge.dtype = DType::uint64;
  huge.shape = {1};
  huge.data.assign(8, std::byte{0xff});
  expect_failures(
      {{"to_float", [&] { return to_float<2>(array, "test", "x"); }},
       {"to_bool", [&] { return to_bool<2>(zeros, "test", "x"); }},
       {"to_int64", [&] { return to_int64<2>(whole, "test", "x"); }},
       {"format_npy", [&] { return format_npy(view); }}});
  expect_failures_of_errors(
      {{"to_float", [&] { return to_float<3>(array, "test", "x"); }},
       {"to_bool", [&] { return to_bool<2>(array, "test", "x"); }},
       {"to_int64", [&] { return to_int64<1>(huge, "test", "x"); }},
       {"check_finite", [&] { return check_finite(infinite, "test", "x"); }}});
}

TEST(OutOfMemoryTest, EveryAllocationOfASafetensorsFileMayFail) {
  const std::string path = data_path("every_type.safetensors");
  const Bytes bytes = file_bytes(path);
  EXPECT_GT(failures_of([&] { return parse_safetensors(bytes, "x"); }), 50);
  for (const FileAccess access : {FileAccess::read, FileAccess::mapped}) {
    EXPECT_GT(failures_of([&] { return open_safetensors(path, access); }), 50);
  }
  const auto file = open_safetensors(path).value();
  EXPECT_GT(failures_of([&] { return file.tensor("f32"); }), 1);
  EXPECT_GT(failures_of([&] { return file.array("f32"); }), 1);
  std::map<std::string, AnyView> views;
  for (const auto& [name, entry] : file.tensors()) {
    views.emplace(name, file.tensor(name).value().view);
  }
  const TempFolder folder;
  const std::string out = folder / "x.safetensors";
  const auto write = [&] {
    return write_safetensors(out, views, file.metadata());
  };
  EXPECT_GT(failures_of(write), 50);
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_GT(failures_of([&] { return format_safetensors(views); }), 50);
  expect_failures_of_errors({{"tensor", [&] { return file.tensor("none"); }},
                             {"array", [&] { return file.array("none"); }}});
  const std::string index = folder / "x.safetensors.index.json";
  put_file(index, bytes_of(R"({"metadata":{"a":1},"weight_map":)"
                           R"({"f32":"x.safetensors"}})"));
  EXPECT_GT(failures_of([&] { return open_sharded_safetensors(index); }), 50);
  const auto shards = open_sharded_safetensors(index).value();
  EXPECT_GT(failures_of([&] { return shards.tensor("f32"); }), 1);
  EXPECT_GT(failures_of([&] { return shards.array("f32"); }), 1);
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
  const auto array = read_npy(data_path("f4.npy")).value();
  const AnyView view = array.view();
  const std::map<std::string, AnyView> views = {{"a", view}, {"b", view}};
  const TempFolder folder;
  const std::string npy = folder / "x.npy";
  const std::string npz = folder / "x.npz";
  EXPECT_GT(failures_of([&] { return write_npy(npy, view); }), 3);
  EXPECT_GT(failures_of([&] { return write_npz(npz, views); }), 10);
  const Bytes bytes = bytes_of("x");
  const auto write = [&] { return write_file_atomically(npy, bytes); };
  EXPECT_GT(failures_of(write), 3);
  EXPECT_EQ(folder.count(), 2u);
  const std::string nowhere = folder / "none/x.npy";
  expect_failures_of_errors({{"write_file_atomically", [&] {
                                return write_file_atomically(nowhere, bytes);
                              }}});
  const ParamNames names = {.required = {"w_q.weight"}};
  const std::string path = folder.path();
  ASSERT_TRUE(write_npy(folder / "fc_q.weight.npy", view));
  std::filesystem::remove(npy);
  EXPECT_GT(failures_of([&] { return read_params(path, names); }), 10);
}

TEST(OutOfMemoryTest, EveryAllocationOfACheckpointMayFail) {
  const auto array = read_npy(data_path("f4.npy")).value();
  OptimizerState optimizer{3, {}};
  optimizer.values.emplace(
      "exp_avg/w_q.weight",
      Tensor<float, 1>::create({array.data.size() / sizeof(float)}).value());
  const CheckpointView view{.step = 3,
                            .config = {{"task", "recall"}},
                            .params = {{"w_q.weight", array.view()}},
                            .optimizer = &optimizer,
                            .records = {{"loss", {1, 2, 3}}}};
  const TempFolder folder;
  const std::string path = folder / "c.npz";
  EXPECT_GT(failures_of([&] { return write_checkpoint(path, view); }), 10);
  EXPECT_EQ(folder.count(), 1u);
  EXPECT_GT(failures_of([&] { return read_checkpoint(path); }), 10);
  const Checkpoint checkpoint = read_checkpoint(path).value();
  expect_failures_of_errors(
      {{"check_model", [&] { return check_model(checkpoint, path, {}, {}); }}});
}

}  // namespace
}  // namespace headwise::testing_support
