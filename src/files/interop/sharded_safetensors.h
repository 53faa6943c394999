// A model in several safetensors files, the shards, and the index that says
// which shard each tensor is in (`model.safetensors.index.json`):
//
//   {"metadata": {"total_size": 24},
//    "weight_map": {"w_q.weight": "model-00001-of-00002.safetensors", ..}}
//
// Shards are files in the folder of the index, named without a path
// (NAME.safetensors). A symbolic link may lead to a file in that folder, in the
// folder that the index is in if the index itself is a link, or in the blobs of
// a Hugging Face hub cache (../../blobs, next to the snapshots). Any other link
// is refused, so that no index and no archive of a model can reach outside its
// folder.
//
// Each shard is read and checked as described in safetensors.h, and each tensor
// of the index must be in the shard that the index names. Tensors that the
// index does not name are ignored, and so is everything in the index except its
// weight_map. An index has at most 100 MB.
//
// Errors: those of safetensors.h; bad_data also for an index that is not as
// above, a shard's name that is a path, and a tensor that is not where the
// index says.
//   open_sharded_safetensors: m.safetensors.index.json: tensor w_k.weight is
//   not in model-00001-of-00002.safetensors
//
// Example:
//   auto model =
//       open_sharded_safetensors("model.safetensors.index.json").value();
//   Array w_q = model.array("w_q.weight").value();
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"
#include "headwise/version.h"

namespace headwise::inline HEADWISE_ABI {

class ShardedSafetensors {
 public:
  using ShardNames = std::map<std::string, std::string, std::less<>>;
  using Shards = std::map<std::string, SafetensorsFile, std::less<>>;

  // The name of each tensor's shard.
  const ShardNames& shard_names() const { return shard_names_; }
  const Shards& shards() const { return shards_; }

  Result<SafetensorsTensor> tensor(std::string_view name) const;
  Result<Array> array(std::string_view name) const;

 private:
  friend Result<ShardedSafetensors> open_sharded_safetensors(
      const std::string& index, FileAccess access);
  ShardedSafetensors() = default;

  Result<const SafetensorsFile*> shard_of(std::string_view name) const;

  FileSubject subject_;
  ShardNames shard_names_;
  Shards shards_;
};

Result<ShardedSafetensors> open_sharded_safetensors(
    const std::string& index, FileAccess access = FileAccess::read);

}  // namespace headwise::inline HEADWISE_ABI
