#include "headwise/interop/sharded_safetensors.h"

#include <utility>

#include "base/out_of_memory.h"
#include "interop/error_text.h"
#include "interop/input_file.h"
#include "interop/read_bytes.h"
#include "interop/safetensors_header.h"
#include "interop/safetensors_index.h"
#include "interop/safetensors_reader.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "open_sharded_safetensors";

Result<ShardedSafetensors::ShardNames> read_index(InputFile file) {
  const auto bytes =
      read_bytes(file, kMaxSafetensorsHeader + 1, /*certain=*/false);
  if (!bytes) {
    return bytes.error();
  }
  if (bytes->size() > kMaxSafetensorsHeader) {
    return Error{ErrorCode::bad_data,
                 file.subject() + ": an index of more than " +
                     std::to_string(kMaxSafetensorsHeader) +
                     " bytes is not read"};
  }
  return parse_safetensors_index(
      {reinterpret_cast<const char*>(bytes->data()), bytes->size()},
      file.subject());
}

}  // namespace

Result<ShardedSafetensors> open_sharded_safetensors(const std::string& index,
                                                    FileAccess access) {
  return catching_out_of_memory([&]() -> Result<ShardedSafetensors> {
    Result<InputFile> file = InputFile::open(kOperation, index);
    if (!file) {
      return file.error();
    }
    ShardedSafetensors model;
    model.subject_ = file->subject();
    auto names = read_index(*std::move(file));
    if (!names) {
      return names.error();
    }
    model.shard_names_ = *std::move(names);
    const std::string folder = index.substr(0, index.find_last_of('/') + 1);
    for (const auto& [tensor, name] : model.shard_names_) {
      auto shard = model.shards_.find(name);
      if (shard == model.shards_.end()) {
        auto input = InputFile::open_named_by_file(kOperation, folder + name);
        if (!input) {
          return input.error();
        }
        auto opened = SafetensorsReader::read(*std::move(input), access);
        if (!opened) {
          return opened.error();
        }
        shard = model.shards_.emplace(name, *std::move(opened)).first;
      }
      if (!shard->second.tensors().contains(tensor)) {
        return Error{ErrorCode::bad_data, model.subject_ + ": tensor " +
                                              printable(tensor) +
                                              " is not in " + printable(name)};
      }
    }
    return model;
  });
}

Result<const SafetensorsFile*> ShardedSafetensors::shard_of(
    std::string_view name) const try {
  const auto shard = shard_names_.find(name);
  if (shard == shard_names_.end()) {
    return Error{ErrorCode::out_of_range,
                 subject_ + ": there is no tensor " + printable(name)};
  }
  return &shards_.find(shard->second)->second;
} catch (...) {
  return caught_out_of_memory();
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
