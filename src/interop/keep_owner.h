// Copies the owner, group and permissions of a file or folder to its
// replacement.
#pragma once

#include <sys/stat.h>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Gives the open file or folder the owner, the group and the permissions of
// `old`. If the group cannot be kept, nobody gets new permissions: group and
// others keep those that both had. Returns 0 or an errno.
int keep_owner(int descriptor, const struct stat& old);

}  // namespace headwise::inline HEADWISE_ABI
