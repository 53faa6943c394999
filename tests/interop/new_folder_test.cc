#include "interop/new_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "interop/files.h"
#include "interop/folder.h"
#include "support/errors.h"

namespace headwise::testing_support {
namespace {

namespace fs = std::filesystem;

// A folder `place` with the old files, and a new one that is to replace it.
class NewFolderTest : public testing::TestWithParam<FolderExchange> {
 protected:
  NewFolderTest() {
    fs::create_directories(place() + "/inner");
    put_file(place() + "/a", bytes_of("old a"));
    put_file(place() + "/inner/b", bytes_of("old b"));
  }

  std::string place() const { return folder_ / "place"; }
  NewFolder started() const {
    auto made = NewFolder::create("test", place());
    EXPECT_TRUE(made) << made.error().message();
    put_file(made->path() + "/a", bytes_of("new a"));
    fs::create_directory(made->path() + "/other");
    put_file(made->path() + "/other/c", bytes_of("new c"));
    return *std::move(made);
  }
  void expect_new_files() const {
    EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
    EXPECT_EQ(file_bytes(place() + "/other/c"), bytes_of("new c"));
    EXPECT_FALSE(fs::exists(place() + "/inner"));
    EXPECT_EQ(folder_.count(), 1u);
  }

  TempFolder folder_;
};

INSTANTIATE_TEST_SUITE_P(All, NewFolderTest,
                         testing::Values(FolderExchange::if_possible,
                                         FolderExchange::never),
                         [](const auto& how) {
                           return how.param == FolderExchange::never
                                      ? "by_two_renames"
                                      : "by_exchange";
                         });

TEST_P(NewFolderTest, TakesThePlaceOfTheOldOneWhole) {
  ASSERT_EQ(::chmod(place().c_str(), 0750), 0);
  {
    NewFolder fresh = started();
    EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
    ASSERT_TRUE(fresh.take_place(GetParam()));
  }
  expect_new_files();
  struct stat status {};
  ASSERT_EQ(::stat(place().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0750u);
}

TEST_P(NewFolderTest, TakesAPlaceWhereNothingIs) {
  fs::remove_all(place());
  ASSERT_TRUE(started().take_place(GetParam()));
  expect_new_files();
}

TEST_P(NewFolderTest, KilledAtAnyMomentLeavesOneFolderWhole) {
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      while (started().take_place(GetParam())) {
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
  ASSERT_TRUE(started().take_place(GetParam()));
  expect_new_files();
}

TEST_F(NewFolderTest, IsRemovedWhereItDoesNotTakeThePlace) {
  started();
  EXPECT_EQ(folder_.count(), 1u);
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
}

TEST_F(NewFolderTest, TheOldOneComesBackWhereItsProcessWasKilledBetween) {
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

TEST_F(NewFolderTest, ItsFilesMoveIntoAFolderThatKeepsItsOthers) {
  {
    NewFolder fresh = started();
    ASSERT_TRUE(fresh.move_files({}, "a"));
  }
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
  EXPECT_EQ(file_bytes(place() + "/other/c"), bytes_of("new c"));
  EXPECT_EQ(file_bytes(place() + "/inner/b"), bytes_of("old b"));
  EXPECT_EQ(folder_.count(), 1u);
  const std::vector<std::string> replaced = {"inner/b", "not there"};
  ASSERT_TRUE(started().move_files(replaced, "a"));
  EXPECT_FALSE(fs::exists(place() + "/inner/b"));
  EXPECT_EQ(folder_.count(), 1u);
}

// A folder in place of the last file, a link in place of a folder.
TEST_F(NewFolderTest, FilesThatCannotMoveLeaveTheOldOnes) {
  TempFolder elsewhere;
  put_file(elsewhere / "c", bytes_of("mine"));
  fs::create_directory(place() + "/z");
  fs::create_directory_symlink(elsewhere.path(), place() + "/other");
  const std::vector<std::string> replaced = {"inner/b"};
  for (const auto& [wrong, number] :
       {std::pair("other/c", ENOTDIR), std::pair("z", EISDIR)}) {
    {
      NewFolder fresh = started();
      put_file(fresh.path() + "/z", bytes_of("new z"));
      EXPECT_THAT(fresh.move_files(replaced, "a"),
                  HasError({.code = ErrorCode::io_error,
                            .operation = "test",
                            .file = place() + "/" + wrong,
                            .system_error = number}));
    }
    EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("old a"));
    EXPECT_EQ(file_bytes(place() + "/inner/b"), bytes_of("old b"));
    EXPECT_EQ(file_bytes(elsewhere / "c"), bytes_of("mine"));
    EXPECT_EQ(folder_.count(), 1u);
    fs::remove(place() + "/other");
  }
}

TEST_F(NewFolderTest, IsCreatedWithinAMountPoint) {
  if (!is_mount_point("/dev/shm")) {
    GTEST_SKIP() << "nothing is mounted at /dev/shm";
  }
  const auto fresh = NewFolder::create("test", "/dev/shm");
  ASSERT_TRUE(fresh);
  EXPECT_TRUE(fresh->path().starts_with("/dev/shm/"));
  EXPECT_TRUE(fresh->is_within_its_place());
  EXPECT_FALSE(is_mount_point(place()));
  EXPECT_FALSE(started().is_within_its_place());
}

TEST_F(NewFolderTest, ALinkToAFolderStays) {
  fs::create_directory_symlink(place(), folder_ / "link");
  auto fresh = NewFolder::create("test", folder_ / "link");
  ASSERT_TRUE(fresh);
  put_file(fresh->path() + "/a", bytes_of("new a"));
  ASSERT_TRUE(fresh->take_place());
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(file_bytes(place() + "/a"), bytes_of("new a"));
}

TEST_F(NewFolderTest, AFolderThatCannotBeMadeIsNamed) {
  for (const std::string name : {"place/a", "place/a/b"}) {
    const auto fresh = NewFolder::create("test", folder_ / name);
    EXPECT_THAT(fresh, HasError({.code = ErrorCode::io_error,
                                 .operation = "test",
                                 .file = place() + "/a",
                                 .system_error = ENOTDIR}))
        << name;
  }
  const NewFolder fresh = started();
  EXPECT_EQ(fresh.in_place({ErrorCode::io_error, {.file = fresh.path() + "/a"}})
                .details()
                .file,
            place() + "/a");
}

}  // namespace
}  // namespace headwise::testing_support
