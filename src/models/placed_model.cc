#include "models/placed_model.h"

#include "headwise/interop/atomic_file.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "models/model_folder.h"

namespace headwise::inline HEADWISE_ABI {

Status copy_file(std::string_view operation, const std::string& from,
                 const std::string& to) {
  auto file = InputFile::open(operation, from);
  HEADWISE_TRY(file);
  const auto bytes = file->read_all();
  return bytes ? write_file_atomically(to, *bytes) : bytes.error();
}

Status keep_files(std::string_view operation, const std::string& from,
                  const std::string& to, std::span<const std::string> names) {
  for (const std::string& name : names) {
    const std::string old = path_in(from, name);
    const std::string kept = path_in(to, name);
    if (!is_regular_file(old) || link_file(old, kept)) {
      continue;
    }
    // A file system without hard links.
    HEADWISE_TRY(copy_file(operation, old, kept));
  }
  return ok();
}

Status put_in_place(std::string_view operation, NewFolder& fresh,
                    const std::string& folder, const std::string& source,
                    const std::string& config) {
  const auto foreign = first_foreign_file(operation, folder, source);
  HEADWISE_TRY(foreign);
  if (!*foreign) {
    return fresh.take_place();
  }
  HEADWISE_TRY(remove_model_files(operation, folder, source));
  return fresh.move_files(config);
}

}  // namespace headwise::inline HEADWISE_ABI
