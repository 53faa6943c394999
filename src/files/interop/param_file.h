// Parameters by name, whatever they lie in: a folder of NAME.npy, one such
// file, a .npz, a .safetensors or several with an index, or a .gguf.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/layouts.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/param_inspection.h"
#include "interop/gguf_file.h"
#include "interop/npz_entries.h"
#include "interop/param_rows.h"
#include "interop/sharded_safetensors.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

class ParamFile {
 public:
  // Errors that do not come from a reader are about `operation`. `access` is
  // that of safetensors; of an .npz that is not read, only the headers are.
  static Result<ParamFile> open(std::string_view operation,
                                const std::string& path,
                                FileAccess access = FileAccess::read);

  // Arrays in memory; messages use `name` as the file.
  static ParamFile of_arrays(std::string name, NamedArrays arrays);

  const std::string& path() const { return path_; }
  const std::set<std::string>& names() const { return names_; }
  // What errors about the parameter of this name are about.
  FileSubject subject_of(std::string_view operation,
                         const std::string& name) const;
  Result<Array> read(const std::string& name) const;
  // In the file's own bytes where they can be used; valid while this object
  // lives, too.
  Result<SafetensorsTensor> tensor(const std::string& name) const;
  // Of a table with two axes; valid without this object.
  Result<ParamRows> rows(std::string_view operation,
                         const std::string& name) const;
  // Null unless it is one.
  const GgufFile* gguf() const { return std::get_if<GgufFile>(&arrays_); }
  // Of all names. Reads the files of a folder.
  HEADWISE_HIDDEN Result<ParamEntries> entries() const;
  Result<ShapesByName> shapes() const;

  // The paths of all files, the index of several first, and that which holds
  // one parameter.
  std::vector<std::string> files() const;
  HEADWISE_HIDDEN std::string file_of(const std::string& name) const;
  // The entries of a mapped .npz that are no arrays.
  HEADWISE_HIDDEN std::vector<std::string> skipped() const;
  // Of .safetensors; where shards say different things the first is heard.
  SafetensorsMetadata metadata() const;

 private:
  struct Folder {};

  std::string path_;
  std::set<std::string> names_;
  std::variant<Folder, NamedArrays, NpzEntries, SafetensorsFile,
               ShardedSafetensors, GgufFile>
      arrays_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop

// For the files of this component alone.
namespace headwise::internal::inline HEADWISE_ABI {

ShapesByName shapes_of(const ParamEntries& entries);

}  // namespace headwise::internal::inline HEADWISE_ABI
