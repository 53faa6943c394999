// Temporary files and folders, which are written next to their final place and
// then moved there. A process that is killed meanwhile leaves them behind; the
// next one that writes to the same folder removes them.
//
// A process that writes one holds a lock on it (flock). The lock ends with the
// process, so one without a lock is a leftover. If the file system has no
// locks, nothing is removed.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Whether temporary_name() could give this name.
bool is_temporary_name(std::string_view name);

// A temporary file or folder, as long as remove_unfinished_files() removes it.
// reset(): from now on it stays. That does not return if a signal handler of
// another thread is just removing it, for then the program ends.
struct EndUnfinished {
  void operator()(std::atomic<char*>* path) const;
};
using Unfinished = std::unique_ptr<std::atomic<char*>, EndUnfinished>;

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

// For the files of this component alone.
namespace headwise::internal::inline HEADWISE_ABI {

Unfinished begin_unfinished(const std::string& path);

// ".headwise-NUMBER-CHECK", at random; empty, with errno, where the system has
// no random numbers. CHECK follows from the rest, so that nobody else's file or
// folder has such a name by chance.
std::string temporary_name();
// ".headwise-old-NAME-CHECK" in the same folder: where `place` is while another
// folder takes its name.
std::string old_name_of(const std::string& place);

// Locks the file or folder that was just made, as long as the descriptor is
// open. False where another process has removed it: make another.
bool hold_temporary(int descriptor, const std::string& path);

// Removes the leftovers in a folder; empty: the current one. What cannot be
// removed, or belongs to another user, stays.
void remove_leftovers(const std::string& folder);

// Removes a folder and everything in it; links are not followed. What cannot be
// removed stays. 0, or the first errno.
int remove_folder(const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
