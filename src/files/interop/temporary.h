// Temporary files and folders, which are written next to their final place and
// then moved there. A process that is killed meanwhile leaves them behind; the
// next one that writes to the same folder removes them.
//
// A process that writes one holds a lock on it (flock). The lock ends with the
// process, so one without a lock is a leftover. If the file system has no
// locks, nothing is removed.
#pragma once

#include <sys/stat.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/version.h"
#include "interop/descriptor.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Whether temporary_name() could give this name.
bool is_temporary_name(std::string_view name);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

// For the files of this component alone.
namespace headwise::internal::inline HEADWISE_ABI {

class Temporary {
 public:
  Temporary() = default;
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  // Removes it with all that is in it, unless it has been released.
  ~Temporary();

  // Creates an empty one in a folder ("a/b/"; empty: the current one) and locks
  // it. The umask applies. 0 or an errno.
  int create_file(const std::string& folder, mode_t mode);
  int create_folder(const std::string& folder);

  // Gives it the owner, the group and the permissions of `old`. If the group
  // cannot be kept, nobody gets new permissions: group and others keep those
  // that both had. 0 or an errno.
  int keep_owner(const struct stat& old) const;

  const std::string& path() const { return path_; }
  // Holds the lock as long as it, or a copy of it, is open.
  Descriptor& descriptor() { return descriptor_; }

  // From now on remove_unfinished_files() leaves it alone. That does not return
  // if a signal handler of another thread is just removing it, for then the
  // program ends.
  void hide_from_signals() { unfinished_.reset(); }
  // It has its final name, or another one took its place: it stays. Returns the
  // path that it had.
  std::string release() { return std::exchange(path_, {}); }

 private:
  struct EndUnfinished {
    void operator()(std::atomic<char*>* path) const;
  };
  using Unfinished = std::unique_ptr<std::atomic<char*>, EndUnfinished>;

  static Unfinished begin_unfinished(const std::string& path);
  template <class Make>
  int create(const std::string& folder, const Make& make);

  Unfinished unfinished_;  // the place where a signal handler finds the path
  std::string path_;
  Descriptor descriptor_{-1};
};

// ".headwise-NUMBER-CHECK", at random; empty, with errno, where the system has
// no random numbers. CHECK follows from the rest, so that nobody else's file or
// folder has such a name by chance.
std::string temporary_name();
// ".headwise-old-NAME-CHECK" in the same folder: where `place` is while another
// folder takes its name.
std::string old_name_of(const std::string& place);

// Removes the leftovers in a folder; empty: the current one. What cannot be
// removed, or belongs to another user, stays.
void remove_leftovers(const std::string& folder);

// Removes a folder and everything in it; links are not followed. What cannot be
// removed stays. 0, or the first errno.
int remove_folder(const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
