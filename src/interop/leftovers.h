// Temporary files and folders, which are written next to their final place and
// then moved there. A process that is killed meanwhile leaves them behind; the
// next one that writes to the same folder removes them.
//
// A process that writes one holds a lock on it (flock). The lock ends with the
// process, so one without a lock is a leftover. If the file system has no
// locks, nothing is removed.
#pragma once

#include <string>
#include <string_view>

#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Whether temporary_name() could give this name.
bool is_temporary_name(std::string_view name);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

// For the files of this component alone.
namespace headwise::internal::inline HEADWISE_ABI {

// ".headwise-NUMBER", at random; empty, with errno, where the system has no
// random numbers.
std::string temporary_name();

// Locks the file or folder that was just made, as long as the descriptor is
// open. False where another process has removed it: make another.
bool hold_temporary(int descriptor, const std::string& path);

// Removes the leftovers in a folder; empty: the current one. What cannot be
// removed, or belongs to another user, stays.
void remove_leftovers(const std::string& folder);

// Removes a folder and everything in it; links are not followed. What cannot be
// removed stays.
void remove_folder(const std::string& path);

}  // namespace headwise::internal::inline HEADWISE_ABI
