#include "interop/atomic_folder.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "interop/files.h"
#include "interop/folder.h"
#include "interop/temporary.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

namespace fs = std::filesystem;

// A folder `place` with the old files, and a new one that is to replace it.
class AtomicFolderTest : public testing::TestWithParam<bool> {
 protected:
  AtomicFolderTest() {
    fs::create_directories(place() + "/inner");
    put_file(place() + "/a", bytes_of("old a"));
    put_file(place() + "/inner/b", bytes_of("old b"));
  }

  std::string place() const { return folder_ / "place"; }
  // The new files.
  static constexpr auto fill = [](const std::string& fresh) {
    put_file(fresh + "/a", bytes_of("new a"));
    fs::create_directory(fresh + "/other");
    put_file(fresh + "/other/c", bytes_of("new c"));
    return ok();
  };
  Status written(bool may_exchange) const {
    return write_folder_atomically({.operation = "test",
                                    .place = place(),
                                    .old = {},
                                    .last = "a",
                                    .may_exchange = may_exchange},
                                   fill);
  }
  // `also` is another file of the new ones.
  Status write_in_place(const FolderEntries& old,
                        const std::string& also = {}) const {
    return write_folder_atomically(
        {.operation = "test", .place = place(), .old = old, .last = "a"},
        [&](const std::string& fresh) {
          if (!also.empty()) {
            put_file(fresh + "/" + also, bytes_of("new"));
          }
          return fill(fresh);
        });
  }
  void expect_new_files() const {
    EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
    EXPECT_EQ(file_bytes(place() + "/other/c"), bytes_of("new c"));
    EXPECT_FALSE(fs::exists(place() + "/inner"));
    EXPECT_EQ(folder_.count(), 1u);
  }

  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(All, AtomicFolderTest, testing::Bool(),
                         [](const auto& may_exchange) {
                           return may_exchange.param ? "by_exchange"
                                                     : "by_two_renames";
                         });

TEST_P(AtomicFolderTest, TakesThePlaceOfTheOldOneWhole) {
  ASSERT_EQ(::chmod(place().c_str(), 0750), 0);
  ASSERT_TRUE(written(GetParam()));
  expect_new_files();
  struct stat status {};
  ASSERT_EQ(::stat(place().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0750u);
}

TEST_P(AtomicFolderTest, TakesAPlaceWhereNothingIs) {
  fs::remove_all(place());
  ASSERT_TRUE(written(GetParam()));
  expect_new_files();
}

TEST_P(AtomicFolderTest, KilledAtAnyMomentLeavesOneFolderWhole) {
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (written(GetParam())) {
      }
      ::_exit(1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 * kill));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it failed";
    recover_folder(place());
    const bool is_new = file_bytes(place() + "/a") == bytes_of("new a");
    EXPECT_EQ(fs::exists(place() + "/other/c"), is_new);
    EXPECT_EQ(fs::exists(place() + "/inner/b"), !is_new);
  }
  ASSERT_TRUE(written(GetParam()));
  expect_new_files();
}

// Next to each other: each may take the old folder of another for a leftover.
TEST_F(AtomicFolderTest, ManyProcessesMayReplaceFoldersNextToEachOther) {
  constexpr std::size_t kProcesses = 4;
  constexpr int kTimes = 300;
  std::array<pid_t, kProcesses> processes{};
  for (std::size_t n = 0; n < kProcesses; ++n) {
    processes[n] = ::fork();
    if (processes[n] == 0) {
      const std::string mine = folder_ / std::to_string(n);
      int failed = 0;
      for (int time = 0; time < kTimes; ++time) {
        const Status s = write_folder_atomically(
            {.operation = "test", .place = mine, .old = {}, .last = "a"}, fill);
        failed += s ? 0 : 1;
      }
      ::_exit(failed == 0 ? 0 : 1);
    }
  }
  for (const pid_t process : processes) {
    int status = 0;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(folder_.count(), kProcesses + 1);
}

TEST_F(AtomicFolderTest, IsRemovedWhereItDoesNotTakeThePlace) {
  EXPECT_THAT(
      write_folder_atomically(
          {.operation = "test", .place = place() + "/", .old = {}, .last = "a"},
          [](const std::string& fresh) -> Status {
            HEADWISE_TRY(fill(fresh));
            return Error{ErrorCode::io_error, {.file = fresh + "/a"}};
          }),
      HasError({.code = ErrorCode::io_error, .file = place() + "/a"}));
  EXPECT_EQ(folder_.count(), 1u);
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
}

TEST_F(AtomicFolderTest, TheOldOneComesBackWhereItsProcessWasKilledBetween) {
  const std::string old = internal::old_name_of(place());
  fs::rename(place(), old);
  recover_folder(place() + "/");
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
  EXPECT_EQ(folder_.count(), 1u);
  // The new one is there: the old one was only to be removed.
  fs::create_directory(old);
  put_file(old + "/a", bytes_of("older"));
  recover_folder(place());
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
  EXPECT_EQ(folder_.count(), 1u);
}

TEST_F(AtomicFolderTest, ItsFilesMoveIntoAFolderThatKeepsItsOthers) {
  ASSERT_TRUE(write_in_place({.own = {"a"}, .foreign = {"inner/b"}}));
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
  EXPECT_EQ(file_bytes(place() + "/other/c"), bytes_of("new c"));
  EXPECT_EQ(file_bytes(place() + "/inner/b"), bytes_of("old b"));
  EXPECT_EQ(folder_.count(), 1u);
  ASSERT_TRUE(
      write_in_place({.own = {"inner/b", "not there"}, .foreign = {"x"}}));
  EXPECT_FALSE(fs::exists(place() + "/inner/b"));
  EXPECT_EQ(folder_.count(), 1u);
}

// A folder in place of the last file, a link in place of a folder.
TEST_F(AtomicFolderTest, FilesThatCannotMoveLeaveTheOldOnes) {
  TempFolder elsewhere;
  put_file(elsewhere / "c", bytes_of("mine"));
  fs::create_directory(place() + "/z");
  fs::create_directory_symlink(elsewhere.path(), place() + "/other");
  for (const auto& [wrong, number] :
       {std::pair("other/c", ENOTDIR), std::pair("z", EISDIR)}) {
    EXPECT_THAT(write_in_place({.own = {"inner/b"}, .foreign = {"x"}}, "z"),
                HasError({.code = ErrorCode::io_error,
                          .operation = "test",
                          .file = place() + "/" + wrong,
                          .system_error = number}));
    EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
    EXPECT_EQ(file_bytes(place() + "/inner/b"), bytes_of("old b"));
    EXPECT_EQ(file_bytes(elsewhere / "c"), bytes_of("mine"));
    EXPECT_EQ(folder_.count(), 1u);
    fs::remove(place() + "/other");
  }
}

TEST_F(AtomicFolderTest, FilesToKeepStayUnlessThereAreNewOnes) {
  put_file(place() + "/kept", bytes_of("kept"));
  const std::vector<std::string> keep = {"a", "kept", "not there"};
  for (const bool is_foreign : {false, true}) {
    const FolderEntries old{
        .own = {"a", "kept", "inner/b"},
        .foreign = std::vector<std::string>(is_foreign ? 1 : 0, "x")};
    const FolderSave save{.operation = "test",
                          .place = place(),
                          .old = old,
                          .last = "a",
                          .keep = keep};
    ASSERT_TRUE(write_folder_atomically(save, fill));
    EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
    EXPECT_EQ(file_bytes(place() + "/kept"), bytes_of("kept"));
    EXPECT_FALSE(fs::exists(place() + "/inner/b"));
    EXPECT_EQ(folder_.count(), 1u);
  }
}

TEST_F(AtomicFolderTest, IsCreatedWithinAMountPoint) {
  if (!is_mount_point("/dev/shm")) {
    GTEST_SKIP() << "nothing is mounted at /dev/shm";
  }
  EXPECT_FALSE(is_mount_point(place()));
  for (const std::string& at : {std::string("/dev/shm"), place()}) {
    std::string folder;
    EXPECT_FALSE(write_folder_atomically(
        {.operation = "test", .place = at, .old = {}, .last = "a"},
        [&](const std::string& fresh) {
          folder = fresh;
          return Status(ErrorCode::io_error);
        }));
    EXPECT_EQ(lies_in(folder, at), at == "/dev/shm") << folder;
  }
}

TEST_F(AtomicFolderTest, ALinkToAFolderStays) {
  fs::create_directory_symlink(place(), folder_ / "link");
  ASSERT_TRUE(write_folder_atomically(
      {.operation = "test", .place = folder_ / "link", .old = {}, .last = "a"},
      fill));
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
}

TEST_F(AtomicFolderTest, AFolderThatCannotBeMadeIsNamed) {
  for (const std::string name : {"place/a", "place/a/b"}) {
    EXPECT_THAT(write_folder_atomically({.operation = "test",
                                         .place = folder_ / name,
                                         .old = {},
                                         .last = "a"},
                                        fill),
                HasError({.code = ErrorCode::io_error,
                          .operation = "test",
                          .file = place() + "/a",
                          .system_error = ENOTDIR}))
        << name;
  }
}

}  // namespace
}  // namespace headwise::testing_support
