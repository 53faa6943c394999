#include "models/placed_model.h"

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/check.h"
#include "headwise/interop/atomic_file.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/input_file.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Result<std::vector<std::string>> names_to_keep(
    std::string_view operation, const std::string& folder,
    const std::string& fresh, std::span<const std::string> keep) {
  std::vector<std::string> names;
  for (const std::string& name : keep) {
    if (!is_plain_name(name)) {
      return value_error(operation, "keep", printable(name),
                         "the name of a file");
    }
    const auto old = is_regular_file(operation, path_in(folder, name));
    const auto made = kind_of_entry(operation, path_in(fresh, name));
    HEADWISE_TRY(old);
    HEADWISE_TRY(made);
    if (*old && *made == EntryKind::nothing) {
      names.push_back(name);
    }
  }
  return names;
}

// Gives the new folder the files of the old one.
Status link_files(std::string_view operation, const std::string& from,
                  const std::string& to, std::span<const std::string> names) {
  for (const std::string& name : names) {
    const std::string old = path_in(from, name);
    const std::string kept = path_in(to, name);
    if (!link_file(old, kept)) {  // a file system without hard links
      HEADWISE_TRY(copy_file(operation, old, kept));
    }
  }
  return ok();
}

// The files can be moved though the folder cannot: it is a mount point, or a
// folder of a container's image.
bool may_move_files(const Error& error) {
  const int number = error.details().system_error;
  return number == EBUSY || number == EXDEV;
}

}  // namespace

Status copy_file(std::string_view operation, const std::string& from,
                 const std::string& to) {
  auto file = InputFile::open(operation, from);
  HEADWISE_TRY(file);
  const auto bytes = file->read_all();
  return bytes ? write_file_atomically(to, *bytes) : bytes.error();
}

Status put_in_place(std::string_view operation, NewFolder& fresh,
                    const std::string& folder, const Placement& placement) {
  const auto keep =
      names_to_keep(operation, folder, fresh.path(), placement.keep);
  HEADWISE_TRY(keep);
  if (placement.old.foreign.empty() && !fresh.is_within_its_place()) {
    if (Status s = link_files(operation, folder, fresh.path(), *keep); !s) {
      return fresh.in_place(s.error());
    }
    const Status s = fresh.take_place();
    if (s || !may_move_files(s.error())) {
      return s;
    }
    for (const std::string& name : *keep) {
      HEADWISE_TRY(remove_file(operation, path_in(fresh.path(), name)));
    }
  }
  std::vector<std::string> replaced = placement.old.own;
  std::erase_if(replaced, [&](const std::string& name) {
    return std::ranges::find(*keep, name) != keep->end();
  });
  return fresh.move_files(replaced, placement.config);
}

}  // namespace headwise::inline HEADWISE_ABI
