#include "headwise/interop/atomic_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "interop/files.h"

namespace headwise {
namespace {

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

TEST(AtomicFileTest, WritesANewFileWithThePermissionsOfTheUmask) {
  const TempFolder folder;
  const mode_t before = ::umask(027);
  const Status written =
      write_file_atomically(folder / "new", bytes_of("text"));
  ::umask(before);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(file_bytes(folder / "new"), bytes_of("text"));
  EXPECT_EQ(mode_of(folder / "new"), 0640u);
  EXPECT_EQ(folder.count(), 1u);
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
  const Status full = write_file_atomically("/dev/full", bytes_of("x"));
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ErrorCode::io_error);
  EXPECT_EQ(full.error().message,
            "write_file_atomically: /dev/full: No space left on device");
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
    const bool told = !written && written.error().message.find(
                                      "File too large") != std::string::npos;
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
}  // namespace headwise
