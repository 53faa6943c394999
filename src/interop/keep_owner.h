// The owner, group and permissions of what is replaced, for what replaces it.
#pragma once

#include <sys/stat.h>

#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

// Gives the open file or folder the owner, the group and the permissions of
// `old`. Where the group cannot be kept, nobody may do what he could not do
// before: group and others keep the rights that both had. 0 or an errno.
int keep_owner(int descriptor, const struct stat& old);

}  // namespace headwise::inline HEADWISE_ABI
