#include "headwise/interop/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "headwise/interop/journal.h"
#include "interop/atomic_folder.h"
#include "interop/files.h"
#include "interop/temporary.h"
#include "support/errors.h"

namespace {

int synced_folders = 0;

}  // namespace

// In place of the system's.
extern "C" int fsync(int descriptor) {
  struct stat status {};
  synced_folders +=
      ::fstat(descriptor, &status) == 0 && S_ISDIR(status.st_mode);
  return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace headwise::testing_support {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

// Runs `child` in a process of its own; how it ended.
template <class Child>
int status_of(const Child& child) {
  const pid_t process = ::fork();
  if (process == 0) {
    ::_exit(child());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(process, &status, 0), process);
  return status;
}

TEST(AtomicFileTest, WritesANewFileWithThePermissionsOfTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  const Status written =
      write_file_atomically(folder / "new", bytes_of("text"));
  ::umask(before);
  ASSERT_TRUE(written) << written.error().message();
  EXPECT_EQ(file_bytes(folder / "new"), bytes_of("text"));
  EXPECT_EQ(mode_of(folder / "new"), 0640u);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(AtomicFileTest, TheFolderOfANewNameIsSavedToo) {
  const TempFolder folder;
  synced_folders = 0;
  ASSERT_TRUE(write_file_atomically(folder / "file", bytes_of("text")));
  EXPECT_EQ(synced_folders, 1);
}

TEST(AtomicFileTest, ReplacesAFileAndKeepsItsPermissions) {
  const TempFolder folder;
  put_file(folder / "file", bytes_of("a longer text"));
  ASSERT_EQ(::chmod((folder / "file").c_str(), 0751), 0);
  const Bytes first = bytes_of("ab");
  const Bytes second = bytes_of("c");
  const std::array<std::span<const std::byte>, 3> pieces = {first, {}, second};
  ASSERT_TRUE(write_file_atomically(folder / "file", pieces));
  EXPECT_EQ(file_bytes(folder / "file"), bytes_of("abc"));
  EXPECT_EQ(mode_of(folder / "file"), 0751u);
  EXPECT_EQ(folder.count(), 1u);
}

TEST(AtomicFileTest, RightsOfAGroupThatCannotBeKeptAreGivenToNobody) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root may give a file to another group";
  }
  constexpr uid_t kUser = 65534;
  constexpr gid_t kGroup = 4242;
  const TempFolder folder;
  ASSERT_EQ(::chown(folder.path().c_str(), kUser, kUser), 0);
  for (const auto& [before, after] : {std::pair{0640u, 0600u},
                                      {0664u, 0644u},
                                      {0604u, 0600u},
                                      {0666u, 0666u},
                                      {0600u, 0600u}}) {
    const std::string path = folder / "file";
    put_file(path, bytes_of("old"));
    ASSERT_EQ(::chown(path.c_str(), kUser, kGroup), 0);
    ASSERT_EQ(::chmod(path.c_str(), before), 0);
    const int status = status_of([&] {
      if (::setgroups(0, nullptr) != 0 ||
          ::setresgid(kUser, kUser, kUser) != 0 ||
          ::setresuid(kUser, kUser, kUser) != 0) {
        return 2;
      }
      return write_file_atomically(path, bytes_of("new")) ? 0 : 1;
    });
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), 0);
    EXPECT_EQ(file_bytes(path), bytes_of("new"));
    EXPECT_EQ(mode_of(path), after) << std::oct << before;
    std::filesystem::remove(path);
  }
}

TEST(AtomicFileTest, WhatAKilledProcessLeftIsRemoved) {
  const TempFolder folder;
  const std::string file = folder / temporary_name();
  const std::string inner = folder / temporary_name();
  const std::string locked = folder / temporary_name();
  put_file(file, bytes_of("half a file"));
  std::filesystem::create_directories(inner + "/1_Pooling");
  put_file(inner + "/1_Pooling/config.json", bytes_of("{}"));
  // Whoever holds the lock is still writing.
  put_file(locked, bytes_of("being written"));
  const int held = ::open(locked.c_str(), O_RDONLY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);
  std::filesystem::create_symlink("headwise-8", folder / temporary_name());
  ASSERT_EQ(::mkfifo((folder / temporary_name()).c_str(), 0600), 0);
  ASSERT_TRUE(write_file_atomically(folder / "file", bytes_of("text")));
  EXPECT_EQ(folder.count(), 4u);
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_FALSE(std::filesystem::exists(inner));
  EXPECT_EQ(file_bytes(locked), bytes_of("being written"));
  ::close(held);
  ASSERT_TRUE(write_file_atomically(folder / "file", bytes_of("text")));
  EXPECT_FALSE(std::filesystem::exists(locked));
  EXPECT_EQ(folder.count(), 3u);
}

TEST(AtomicFileTest, WhatUsersNameLikeATemporaryFileStays) {
  const TempFolder folder;
  for (const char* name :
       {".headwise-", ".headwise-7a", ".headwise-123", ".headwise-20240101",
        ".headwise-1-0123456789abcdef", "headwise-8"}) {
    std::filesystem::create_directories(folder / name);
    put_file(folder / (std::string(name) + "/thesis.md"), bytes_of("mine"));
    put_file(folder / (std::string(name) + "0"), bytes_of("mine"));
  }
  const std::size_t before = folder.count();
  ASSERT_TRUE(write_file_atomically(folder / "file", bytes_of("text")));
  EXPECT_EQ(folder.count(), before + 1);
  EXPECT_TRUE(std::filesystem::exists(folder / ".headwise-123/thesis.md"));
}

TEST(AtomicFileTest, ASignalHandlerRemovesWhatIsBeingWritten) {
  const TempFolder folder;
  const pid_t process = ::fork();
  if (process == 0) {
    std::signal(SIGTERM, [](int signal) {
      remove_unfinished_files();
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    });
    std::filesystem::create_directory(folder / "model");
    static_cast<void>(write_folder_atomically(
        {.operation = "test", .place = folder / "model", .old = {}, .last = {}},
        [&](const std::string& fresh) {
          put_file(fresh + "/config.json", bytes_of("{}"));
          return write_file_atomically(
              folder / "file", 2,
              [](std::size_t n) -> Result<std::span<const std::byte>> {
                if (n == 1) {
                  std::raise(SIGTERM);
                }
                return std::span<const std::byte>();
              });
        }));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(process, &status, 0), process);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  EXPECT_EQ(folder.count(), 1u);  // model
}

TEST(AtomicFileTest, ALinkThatHasTheNameOfAnOwnFileIsReplaced) {
  const TempFolder folder;
  put_file(folder / "victim", bytes_of("precious"));
  std::filesystem::create_symlink("victim", folder / "scores.json.partial");
  Journal journal(folder / "scores.json", {{"model", "abc"}});
  EXPECT_FALSE(journal.state());
  ASSERT_TRUE(journal.keep(Json::object()));
  EXPECT_EQ(file_bytes(folder / "victim"), bytes_of("precious"));
  EXPECT_TRUE(journal.state());
  // The user's own link stays.
  std::filesystem::create_symlink("victim", folder / "link");
  ASSERT_TRUE(write_file_atomically(folder / "link", bytes_of("new")));
  EXPECT_EQ(file_bytes(folder / "victim"), bytes_of("new"));
}

TEST(AtomicFileTest, ManyProcessesMayWriteToOneFolder) {
  const TempFolder folder;
  constexpr int kProcesses = 4;
  std::array<pid_t, kProcesses> processes{};
  for (int n = 0; n < kProcesses; ++n) {
    processes[static_cast<std::size_t>(n)] = ::fork();
    if (processes[static_cast<std::size_t>(n)] == 0) {
      int failures = 0;
      for (int time = 0; time < 100; ++time) {
        const std::string path = folder / std::to_string(n);
        failures += write_file_atomically(path, bytes_of("text")) ? 0 : 1;
      }
      ::_exit(failures == 0 ? 0 : 1);
    }
  }
  for (const pid_t process : processes) {
    int status = 0;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  EXPECT_EQ(folder.count(), std::size_t{kProcesses});
}

TEST(AtomicFileTest, SymbolicLinkStaysAndItsTargetIsReplaced) {
  const TempFolder folder;
  std::filesystem::create_directory(folder / "sub");
  put_file(folder / "sub/target", bytes_of("old"));
  std::filesystem::create_symlink("sub/target", folder / "link");
  std::filesystem::create_symlink("link", folder / "link_to_link");
  ASSERT_TRUE(write_file_atomically(folder / "link_to_link", bytes_of("new")));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link_to_link"));
  EXPECT_EQ(file_bytes(folder / "sub/target"), bytes_of("new"));
  std::filesystem::create_symlink("nothing_yet", folder / "dangling");
  ASSERT_TRUE(write_file_atomically(folder / "dangling", bytes_of("made")));
  EXPECT_EQ(file_bytes(folder / "nothing_yet"), bytes_of("made"));
  std::filesystem::create_symlink("round", folder / "round");
  EXPECT_FALSE(write_file_atomically(folder / "round", bytes_of("x")));
}

TEST(AtomicFileTest, FullDeviceIsAnErrorThatNamesItAndTheReason) {
  if (::access("/dev/full", W_OK) != 0) {
    GTEST_SKIP() << "there is no /dev/full";
  }
  EXPECT_THAT(write_file_atomically("/dev/full", bytes_of("x")),
              HasError({.code = ErrorCode::io_error,
                        .operation = "write_file_atomically",
                        .file = "/dev/full",
                        .system_error = ENOSPC}));
  EXPECT_TRUE(write_file_atomically("/dev/null", bytes_of("x")));
}

TEST(AtomicFileTest, PathsThatCannotBeWrittenAreErrors) {
  const TempFolder folder;
  for (const std::string& path :
       {folder.path(), folder / "no/such/folder", folder / "new/",
        std::string(), std::string("a\0b", 3),
        folder / std::string(300, 'x')}) {
    EXPECT_FALSE(write_file_atomically(path, bytes_of("x"))) << path;
  }
  EXPECT_EQ(folder.count(), 0u);
}

TEST(AtomicFileTest, LongestFileNameCanBeWritten) {
  const TempFolder folder;
  EXPECT_TRUE(
      write_file_atomically(folder / std::string(255, 'x'), bytes_of("x")));
}

TEST(AtomicFileTest, LimitOnFileSizesIsAnErrorAndTheOldFileStaysWhole) {
  const TempFolder folder;
  put_file(folder / "file", bytes_of("old"));
  const Bytes large(1 << 20, std::byte{1});
  const int status = status_of([&] {
    const rlimit limit{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) {
      return 2;
    }
    const Status written = write_file_atomically(folder / "file", large);
    const bool told =
        !written && written.error().details().system_error == EFBIG;
    // No signal is left behind, and none is held back any more.
    sigset_t signals;
    sigpending(&signals);
    const bool pending = sigismember(&signals, SIGXFSZ) != 0;
    pthread_sigmask(SIG_SETMASK, nullptr, &signals);
    return told && !pending && sigismember(&signals, SIGXFSZ) == 0 ? 0 : 1;
  });
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(file_bytes(folder / "file"), bytes_of("old"));
  EXPECT_EQ(folder.count(), 1u);
}

TEST(AtomicFileTest, APieceThatFailsIsTheErrorAndTheOldFileStays) {
  const TempFolder folder;
  put_file(folder / "file", bytes_of("old"));
  const Bytes text = bytes_of("new");
  const auto piece = [&](std::size_t n) -> Result<std::span<const std::byte>> {
    if (n == 2) {
      return Error{ErrorCode::bad_data};
    }
    return std::span<const std::byte>(text);
  };
  const Status written = write_file_atomically(folder / "file", 3, piece);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code(), ErrorCode::bad_data);
  EXPECT_EQ(file_bytes(folder / "file"), bytes_of("old"));
  EXPECT_EQ(folder.count(), 1u);
  ASSERT_TRUE(write_file_atomically(folder / "file", 2, piece));
  EXPECT_EQ(file_bytes(folder / "file"), bytes_of("newnew"));
}

TEST(AtomicFileTest, PipeIsWrittenToDirectly) {
  const TempFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  Bytes received;
  std::thread reader([&] { received = file_bytes(pipe); });
  const Bytes sent(300000, std::byte{7});
  EXPECT_TRUE(write_file_atomically(pipe, sent));
  reader.join();
  EXPECT_EQ(received, sent);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

TEST(AtomicFileTest, PipeThatNobodyReadsIsAnErrorNotASignal) {
  const int status = status_of([] {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
      return 2;
    }
    ::close(ends[0]);
    const std::string path = "/dev/fd/" + std::to_string(ends[1]);
    return write_file_atomically(path, bytes_of("x")) ? 1 : 0;
  });
  ASSERT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(AtomicFileTest, StandardOutputIsWrittenToWhereItStands) {
  const TempFolder folder;
  const std::string path = folder / "output";
  const int status = status_of([&] {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT, 0600);
    if (::dup2(file, STDOUT_FILENO) < 0 || ::write(file, "first ", 6) != 6) {
      return 2;
    }
    return write_file_atomically("/dev/stdout", bytes_of("second")) ? 0 : 1;
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(file_bytes(path), bytes_of("first second"));
}

}  // namespace
}  // namespace headwise::testing_support
