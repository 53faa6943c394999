// Each allocation of each reader and writer fails once: an error comes back,
// nothing leaks (as the sanitizer sees it), and nothing is left half.
#include <gtest/gtest.h>

#include "headwise/interop/checkpoint.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/params.h"
#include "interop/files.h"
#include "support/failures.h"

namespace headwise {
namespace {

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
