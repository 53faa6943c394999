#include "models/model_digest.h"

#include <string_view>
#include <vector>

#include "base/out_of_memory.h"
#include "headwise/interop/sha256.h"
#include "headwise/models/sentence_encoder.h"
#include "interop/find_params.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/param_file.h"
#include "models/model_folder.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kModelDigest = "model";

Result<std::vector<std::string>> files_of_params(const std::string& folder) {
  HEADWISE_ASSIGN(const auto path, find_params(kModelDigest, folder));
  HEADWISE_ASSIGN(const auto file,
                  ParamFile::open(kModelDigest, path, FileAccess::mapped));
  return file.files();
}

// Adds the names and digests of the files in `folder`/`within` that are read
// besides the parameters, and of those in its folders.
Status add_digests(const std::string& folder, const std::string& within,
                   std::string& digests) {
  HEADWISE_ASSIGN(const auto names,
                  names_in_folder(kModelDigest, path_in(folder, within)));
  for (const std::string& name : names) {
    const std::string below = within + name;
    const std::string path = path_in(folder, below);
    const bool is_read = is_settings_file(name) || name == kClassifierFile;
    HEADWISE_ASSIGN(const auto kind, is_read
                                         ? kind_behind_links(kModelDigest, path)
                                         : kind_of_entry(kModelDigest, path));
    if (is_read && kind == EntryKind::file) {
      HEADWISE_ASSIGN(const auto digest, sha256_of_file(path));
      digests += " " + below + " " + digest;
    } else if (within.empty() && kind == EntryKind::folder) {
      HEADWISE_TRY(add_digests(folder, below + "/", digests));
    }
  }
  return ok();
}

}  // namespace

Result<std::string> digest_of_params(const SentenceEncoder& encoder) try {
  HEADWISE_ASSIGN(const auto files,
                  files_of_params(encoder.settings().transformer_folder));
  std::string digests;
  for (const std::string& file : files) {
    HEADWISE_ASSIGN(const auto digest, sha256_of_file(file));
    digests += digest;
  }
  return files.size() == 1 ? digests : sha256_of(digests);
} catch (...) {
  return caught_out_of_memory();
}

Result<std::string> digest_of_model(const std::string& folder,
                                    const SentenceEncoder& encoder) try {
  HEADWISE_ASSIGN(auto digests, digest_of_params(encoder));
  HEADWISE_TRY(add_digests(folder, "", digests));
  for (const DenseSettings& dense : encoder.settings().dense) {
    HEADWISE_ASSIGN(
        const auto digest,
        sha256_of_file(path_in(dense.folder, std::string(kParamsFile))));
    digests += digest;
  }
  return sha256_of(digests);
} catch (...) {
  return caught_out_of_memory();
}

Result<std::size_t> params_bytes(const std::string& folder) try {
  HEADWISE_ASSIGN(const auto files, files_of_params(folder));
  std::size_t bytes = 0;
  for (const std::string& path : files) {
    HEADWISE_ASSIGN(const auto file, InputFile::open(kModelDigest, path));
    bytes += file.size().value_or(0);
  }
  return bytes;
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace headwise::inline HEADWISE_ABI
