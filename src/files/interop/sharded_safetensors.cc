#include "interop/sharded_safetensors.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/safetensors_header.h"
#include "interop/safetensors_index.h"
#include "interop/safetensors_reader.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kShardedSafetensors = "open_sharded_safetensors";

// "/a/b" of "/a/b/c"
std::string folder_of_file(const std::string& canonical) {
  return canonical.substr(0, canonical.find_last_of('/'));
}

Result<ShardedSafetensors::ShardNames> read_index(InputFile file) {
  HEADWISE_ASSIGN(const auto bytes, read_at_most(file, kMaxSafetensorsHeader));
  return parse_safetensors_index(text_of(bytes), file.subject());
}

// The folders that a link to a shard may lead to: the index's own, that of the
// index itself where it is a link, and the one in which the Hugging Face hub's
// cache keeps the files of its snapshots
// (models--NAME/snapshots/REVISION/INDEX, models--NAME/blobs).
std::array<std::string, 3> folders_of_links(const std::string& index) {
  const std::string folder = canonical_path(folder_of(index));
  return {folder, folder_of_file(canonical_path(index)),
          canonical_path(folder + "/../../blobs")};
}

bool is_link(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISLNK(status.st_mode);
}

// Where the file of a shard is. A link is followed where it stays in those
// folders; any other is left for the reader to refuse.
std::string place_of_shard(const std::string& index, const std::string& name) {
  std::string path = folder_of(index) + name;
  if (!is_link(path)) {
    return path;
  }
  std::string target = canonical_path(path);
  const auto folders = folders_of_links(index);
  const bool allowed =
      std::ranges::find(folders, folder_of_file(target)) != folders.end();
  return allowed ? target : path;
}

}  // namespace

Result<ShardedSafetensors> open_sharded_safetensors(const std::string& index,
                                                    FileAccess access) {
  return catching_out_of_memory([&]() -> Result<ShardedSafetensors> {
    HEADWISE_ASSIGN(auto file, InputFile::open(kShardedSafetensors, index));
    ShardedSafetensors model;
    model.subject_ = file.subject();
    HEADWISE_ASSIGN(model.shard_names_, read_index(std::move(file)));
    for (const auto& [tensor, name] : model.shard_names_) {
      auto shard = model.shards_.find(name);
      if (shard == model.shards_.end()) {
        HEADWISE_ASSIGN(auto input,
                        InputFile::open_named_by_file(
                            kShardedSafetensors, place_of_shard(index, name)));
        HEADWISE_ASSIGN(auto opened,
                        SafetensorsReader::read(std::move(input), access));
        shard = model.shards_.emplace(name, std::move(opened)).first;
      }
      if (!shard->second.tensors().contains(tensor)) {
        return model.subject_.of_entry(printable(tensor))
            .bad_data(message("is not in {}", printable(name)));
      }
    }
    return model;
  });
}

Result<const SafetensorsFile*> ShardedSafetensors::shard_of(
    std::string_view name) const {
  const auto shard = shard_names_.find(name);
  if (shard == shard_names_.end()) {
    return subject_.error(ErrorCode::out_of_range,
                          message("has no tensor {}", printable(name)));
  }
  return &shards_.find(shard->second)->second;
}

Result<SafetensorsTensor> ShardedSafetensors::tensor(
    std::string_view name) const {
  return catching_out_of_memory([&]() -> Result<SafetensorsTensor> {
    const auto shard = shard_of(name);
    return shard ? (*shard)->tensor(name) : shard.error();
  });
}

Result<Array> ShardedSafetensors::array(std::string_view name) const {
  return catching_out_of_memory([&]() -> Result<Array> {
    const auto shard = shard_of(name);
    return shard ? (*shard)->array(name) : shard.error();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
