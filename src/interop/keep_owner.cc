#include "interop/keep_owner.h"

#include <unistd.h>

#include <cerrno>

namespace headwise::inline HEADWISE_ABI {
namespace {

// Without setuid and setgid for a file; for a folder they set the owner of new
// entries.
mode_t permissions_of(const struct stat& old) {
  return old.st_mode & (S_ISDIR(old.st_mode) ? 07777 : 0777);
}

// If the group cannot be kept: the new group and others get only the
// permissions that both the old group and others had.
mode_t without_group(mode_t mode) {
  const mode_t both = (mode >> 3) & mode & S_IRWXO;
  return (mode & S_IRWXU) | (both << 3) | both;
}

}  // namespace

int keep_owner(int descriptor, const struct stat& old) {
  constexpr auto kSameOwner = static_cast<uid_t>(-1);
  // Only root may give a file away; a member of the group may keep that.
  const bool kept = ::fchown(descriptor, old.st_uid, old.st_gid) == 0 ||
                    ::fchown(descriptor, kSameOwner, old.st_gid) == 0;
  struct stat now {};
  if (!kept && ::fstat(descriptor, &now) != 0) {
    return errno;
  }
  const mode_t mode = permissions_of(old);
  const bool has_group = kept || now.st_gid == old.st_gid;
  return ::fchmod(descriptor, has_group ? mode : without_group(mode)) == 0
             ? 0
             : errno;
}

}  // namespace headwise::inline HEADWISE_ABI
