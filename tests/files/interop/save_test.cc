// What a save leaves when it is killed or the disk is full: the old file or
// the new one, whole.
//
// HEADWISE_KILLS: how many saves of each format are killed (20);
// script/kill-saves asks for 200.
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <random>
#include <thread>

#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/params.h"
#include "headwise/interop/safetensors.h"
#include "interop/files.h"
#include "interop/temporary.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kElements = 200'000;

// What a file of one array is written and read by.
struct Format {
  std::string name;
  std::function<Status(const std::string&, const AnyView&)> write;
  std::function<Result<Array>(const std::string&)> read;
};

std::ostream& operator<<(std::ostream& out, const Format& format) {
  return out << format.name;
}

std::vector<Format> formats() {
  return {{"npy", write_npy, read_npy},
          {"npz",
           [](const std::string& path, const AnyView& view) {
             return write_npz(path, {{"a", view}});
           },
           [](const std::string& path) -> Result<Array> {
             auto arrays = read_npz(path);
             return arrays ? arrays->at("a") : Result<Array>(arrays.error());
           }},
          {"safetensors",
           [](const std::string& path, const AnyView& view) {
             return write_safetensors(path, {{"a", view}});
           },
           [](const std::string& path) -> Result<Array> {
             const auto file = open_safetensors(path);
             return file ? file->array("a") : Result<Array>(file.error());
           }}};
}

class SaveTest : public testing::TestWithParam<Format> {
 protected:
  Status save(float value, std::size_t count = kElements) const {
    const std::vector<float> values(count, value);
    return GetParam().write(path(),
                            TensorView<const float, 1>(values.data(), {count}));
  }
  // The value that every element of the file has; -1 when they differ, or it
  // cannot be read.
  float saved(std::size_t count = kElements) const {
    const auto array = GetParam().read(path());
    if (!array || array->shape != std::vector<std::size_t>{count}) {
      ADD_FAILURE() << (array ? "another shape" : array.error().message());
      return -1;
    }
    const std::vector<float> values = elements_of<float>(array->data);
    return std::ranges::count(values, values[0]) ==
                   static_cast<std::ptrdiff_t>(count)
               ? values[0]
               : -1;
  }
  std::string path() const { return folder_ / "x"; }
  auto cannot_write(int reason) const {
    return HasError({.code = ErrorCode::io_error,
                     .operation = "write_file_atomically",
                     .file = path(),
                     .system_error = reason});
  }

  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(All, SaveTest, testing::ValuesIn(formats()),
                         [](const auto& format) { return format.param.name; });

long kills() {
  const char* const text = std::getenv("HEADWISE_KILLS");
  return text == nullptr ? 20 : std::strtol(text, nullptr, 10);
}

// A process that does `work` until it is killed.
template <class Work>
pid_t started(const Work& work) {
  const pid_t process = ::fork();
  if (process == 0) {
    while (work()) {
    }
    ::_exit(1);
  }
  return process;
}

TEST_P(SaveTest, KilledAtAnyMomentLeavesTheOldFileOrTheNew) {
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(save(0));
  const std::chrono::duration<double> once =
      std::chrono::steady_clock::now() - begin;
  std::mt19937 random(7);
  std::uniform_real_distribution<double> moment(0, 3);
  int found[2] = {};
  long left_behind = 0;
  for (long kill = 0; kill < kills(); ++kill) {
    const pid_t child = started([this] { return save(1) && save(0); });
    ASSERT_GT(child, 0);
    std::this_thread::sleep_for(once * moment(random));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a save failed";
    const float value = saved();
    ASSERT_TRUE(value == 0 || value == 1) << value << " after kill " << kill;
    ++found[value == 1];
    // What was being written when its process was killed stays beside the
    // file; the next save removes it.
    ASSERT_LE(folder_.count(), 2u);
    for (const auto& file :
         std::filesystem::directory_iterator(folder_.path())) {
      const std::string name = file.path().filename();
      if (name != "x") {
        EXPECT_THAT(name, StartsWith(".headwise-"));
        ++left_behind;
      }
    }
  }
  std::cout << kills() << " kills: " << found[0] << " left one file, "
            << found[1] << " the other, " << left_behind
            << " in the middle of a save\n";
  EXPECT_GT(left_behind, 0) << "no kill came in the middle of a save";
  ASSERT_TRUE(save(2));
  EXPECT_EQ(saved(), 2);
  EXPECT_EQ(folder_.count(), 1u);
}

// How `work` ended in a process of its own, which may change what it likes.
template <class Work>
int exit_code_of(const Work& work) {
  const pid_t process = ::fork();
  if (process == 0) {
    ::_exit(work());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  return WEXITSTATUS(status);
}

constexpr int kNotPermitted = 77;

TEST_P(SaveTest, FullDiskIsAnErrorAndTheOldFileStays) {
  constexpr std::size_t kFew = 1000;
  const int code = exit_code_of([&] {
    // A disk of 256 KiB, which nobody else sees.
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", folder_.path().c_str(), "tmpfs", 0, "size=256k") != 0) {
      return kNotPermitted;
    }
    EXPECT_TRUE(save(1, kFew));
    const Status full = save(2);
    EXPECT_THAT(full, cannot_write(ENOSPC));
    EXPECT_EQ(saved(kFew), 1);
    EXPECT_EQ(folder_.count(), 1u);
    EXPECT_TRUE(save(3, kFew));
    EXPECT_EQ(saved(kFew), 3);
    return HasFailure() ? 1 : 0;
  });
  if (code == kNotPermitted) {
    GTEST_SKIP() << "no disk may be mounted here";
  }
  EXPECT_EQ(code, 0);
}

TEST_P(SaveTest, LimitOnFileSizesIsAnErrorAndTheOldFileStays) {
  constexpr std::size_t kFew = 1000;
  ASSERT_TRUE(save(1, kFew));
  const int code = exit_code_of([&] {
    const rlimit limit{1 << 16, 1 << 16};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      return 2;
    }
    const Status written = save(2);
    return testing::Value(written, cannot_write(EFBIG)) ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(saved(kFew), 1);
  EXPECT_EQ(folder_.count(), 1u);
}

// As a folder of .npy files is read: what a killed save left is none of them.
TEST(SaveLeftoverTest, WhatAKilledSaveLeftIsNoParameter) {
  const TempFolder folder;
  const std::vector<float> values(4, 1.0f);
  const TensorView<const float, 2> view(values.data(), {2, 2});
  ASSERT_TRUE(write_npy(folder / "w_q.weight.npy", view));
  put_file(folder / temporary_name(), bytes_of("\x93NUMPY"));
  const auto params =
      read_params(folder.path(), ParamNames{.required = {"w_q.weight"}})
          .value();
  EXPECT_EQ(params.size(), 1u);
}

}  // namespace
}  // namespace headwise::testing_support
