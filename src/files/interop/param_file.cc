#include "interop/param_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "headwise/base/half.h"
#include "headwise/interop/npy.h"
#include "interop/element_bytes.h"
#include "interop/error_text.h"
#include "interop/folder.h"
#include "interop/gguf_types.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kNpy = ".npy";

// The files NAME.npy of a folder, by NAME.
Result<std::set<std::string>> npy_names(std::string_view operation,
                                        const std::string& path) {
  HEADWISE_ASSIGN(const auto all, names_in_folder(operation, path));
  std::set<std::string> names;
  for (const std::string& name : all) {
    if (name.size() > kNpy.size() && name.ends_with(kNpy)) {
      names.insert(name.substr(0, name.size() - kNpy.size()));
    }
  }
  return names;
}

template <class Map>
std::set<std::string> keys_of(const Map& map) {
  std::set<std::string> keys;
  for (const auto& [key, value] : map) {
    keys.insert(key);
  }
  return keys;
}

std::string npy_path(const std::string& folder, const std::string& name) {
  return folder + "/" + name + ".npy";
}

// One array, by the name of its file.
Result<NamedArrays> read_one(const std::string& path) {
  HEADWISE_ASSIGN(auto array, read_npy(path));
  std::string name = path.substr(folder_of(path).size());
  name.resize(name.size() - kNpy.size());
  NamedArrays arrays;
  arrays.emplace(std::move(name), std::move(array));
  return arrays;
}

bool is_folder(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

}  // namespace

Result<ParamFile> ParamFile::open(std::string_view operation,
                                  const std::string& path, FileAccess access) {
  ParamFile file;
  file.path_ = path;
  // Takes what was opened and its names.
  const auto hold = [&](auto opened, const auto& names) -> Result<ParamFile> {
    file.names_ = names;
    file.arrays_ = std::move(opened);
    return std::move(file);
  };
  if (is_folder(path)) {
    auto names = npy_names(operation, path);
    return names ? hold(Folder{}, *names) : names.error();
  }
  if (path.ends_with(".safetensors")) {
    auto opened = open_safetensors(path, access);
    return opened ? hold(*opened, keys_of(opened->tensors())) : opened.error();
  }
  if (path.ends_with(".safetensors.index.json")) {
    auto opened = open_sharded_safetensors(path, access);
    return opened ? hold(*opened, keys_of(opened->shard_names()))
                  : opened.error();
  }
  if (path.ends_with(".gguf")) {
    HEADWISE_ASSIGN(auto opened, GgufFile::open(operation, path));
    const auto& tensors = opened.contents().tensors;
    std::set<std::string> names;
    for (const auto& [name, tensor] : tensors) {
      names.emplace(name);
    }
    return hold(std::move(opened), names);
  }
  HEADWISE_ASSIGN(const auto regular, is_regular_file(operation, path));
  if (access == FileAccess::mapped && !path.ends_with(kNpy) && regular) {
    HEADWISE_ASSIGN(auto entries, read_npz_entries(path));
    const auto names = keys_of(entries.arrays);
    return hold(std::move(entries), names);
  }
  HEADWISE_ASSIGN(auto opened,
                  path.ends_with(kNpy) ? read_one(path) : read_npz(path));
  const auto names = keys_of(opened);
  return hold(std::move(opened), names);
}

ParamFile ParamFile::of_arrays(std::string name, NamedArrays arrays) {
  ParamFile file;
  file.path_ = std::move(name);
  file.names_ = keys_of(arrays);
  file.arrays_ = std::move(arrays);
  return file;
}

FileSubject ParamFile::subject_of(std::string_view operation,
                                  const std::string& name) const {
  const std::string shown = printable(name);
  return std::holds_alternative<Folder>(arrays_)
             ? FileSubject{std::string(operation), npy_path(path_, shown)}
             : FileSubject{std::string(operation), path_, shown};
}

Result<Array> ParamFile::read(const std::string& name) const {
  if (const auto* arrays = std::get_if<NamedArrays>(&arrays_)) {
    return arrays->at(name);
  }
  if (const auto* file = std::get_if<SafetensorsFile>(&arrays_)) {
    return file->array(name);
  }
  if (const auto* model = std::get_if<ShardedSafetensors>(&arrays_)) {
    return model->array(name);
  }
  if (std::holds_alternative<NpzEntries>(arrays_)) {
    return read_npz_array(path_, name);
  }
  if (const GgufFile* const file = gguf()) {
    return file->read(name);
  }
  const std::string path = npy_path(path_, name);
  Status s = check_regular_file("read_npy", path);
  return s ? read_npy(path) : s.error();
}

Result<SafetensorsTensor> ParamFile::tensor(const std::string& name) const {
  if (const auto* arrays = std::get_if<NamedArrays>(&arrays_)) {
    return SafetensorsTensor{arrays->at(name).view(), nullptr, true};
  }
  if (const auto* file = std::get_if<SafetensorsFile>(&arrays_)) {
    return file->tensor(name);
  }
  if (const auto* model = std::get_if<ShardedSafetensors>(&arrays_)) {
    return model->tensor(name);
  }
  HEADWISE_ASSIGN(auto array, read(name));
  auto kept = std::make_shared<const Array>(std::move(array));
  return SafetensorsTensor{kept->view(), kept, false};
}

Result<ParamRows> ParamFile::rows(std::string_view operation,
                                  const std::string& name) const {
  if (const GgufFile* const file = gguf()) {
    const GgufTensor& tensor = file->contents().tensors.at(name);
    const GgufType* const type = find_gguf_type(tensor.type);
    if (type != nullptr && tensor.shape.size() == 2) {
      return ParamRows{tensor.shape[0], tensor.shape[1], tensor.bytes.data(),
                       type, file->owner()};
    }
  }
  HEADWISE_ASSIGN(auto found, tensor(name));
  if (const GgufType* const type = find_gguf_type(found.view.dtype());
      type != nullptr && found.bytes != nullptr && found.view.rank() == 2) {
    return ParamRows{found.view.extents()[0], found.view.extents()[1],
                     found.view.data(), type, std::move(found.bytes)};
  }
  HEADWISE_ASSIGN(const auto array, read(name));
  HEADWISE_ASSIGN(auto table, to_float<2>(array, operation, name));
  const auto kept = std::make_shared<const Tensor<float, 2>>(std::move(table));
  return ParamRows{kept->extent(0), kept->extent(1), kept->data(),
                   find_gguf_type(DType::float32), kept};
}

namespace {

template <class Number>
void widen_all(const unsigned char* from, std::size_t count, float* to) {
  const auto* const numbers = reinterpret_cast<const Number*>(from);
  std::transform(numbers, numbers + count, to,
                 [](Number n) { return widened(n); });
}

}  // namespace

void ParamRows::copy_part(std::size_t row, std::size_t first, std::size_t count,
                          float* to) const {
  const auto* const from =
      static_cast<const unsigned char*>(data) +
      (row * features + first) / type->elements * type->bytes;
  if (type->dtype == DType::float32) {
    std::memcpy(to, from, count * sizeof(float));
  } else if (type->dtype == DType::bfloat16) {
    widen_all<BFloat16>(from, count, to);
  } else if (type->dtype == DType::float16) {
    widen_all<Float16>(from, count, to);
  } else {
    for (std::size_t n = 0; n < count / type->elements; ++n) {
      type->widen(from + n * type->bytes, to + n * type->elements);
    }
  }
}

Result<ParamEntries> ParamFile::entries() const {
  if (const auto* headers = std::get_if<NpzEntries>(&arrays_)) {
    return headers->arrays;
  }
  ParamEntries entries;
  const auto* const file = std::get_if<SafetensorsFile>(&arrays_);
  const auto* const model = std::get_if<ShardedSafetensors>(&arrays_);
  for (const std::string& name : names_) {
    if (file != nullptr || model != nullptr) {
      const SafetensorsFile& holder =
          file != nullptr ? *file
                          : model->shards().at(model->shard_names().at(name));
      const auto& [dtype, shape, begin, end] = holder.tensors().at(name);
      entries.emplace(name, ParamEntry{dtype, shape, end - begin});
      continue;
    }
    if (std::holds_alternative<Folder>(arrays_)) {
      const std::string path = npy_path(path_, name);
      HEADWISE_TRY(check_regular_file("read_npy", path));
      HEADWISE_ASSIGN(const auto npy, NpyFile::open(path));
      entries.emplace(name, ParamEntry{npy.dtype(), npy.shape(),
                                       *array_bytes(npy.shape(), npy.dtype())});
      continue;
    }
    if (const GgufFile* const file = gguf()) {
      const GgufTensor& tensor = file->contents().tensors.at(name);
      const GgufType* const type = find_gguf_type(tensor.type);
      entries.emplace(
          name, ParamEntry{type != nullptr && type->dtype ? *type->dtype
                                                          : DType::float32,
                           tensor.shape, tensor.bytes.size()});
      continue;
    }
    const AnyView view = std::get<NamedArrays>(arrays_).at(name).view();
    entries.emplace(name,
                    ParamEntry{view.dtype(),
                               {view.extents().begin(), view.extents().end()},
                               *array_bytes(view.extents(), view.dtype())});
  }
  return entries;
}

Result<ShapesByName> ParamFile::shapes() const {
  const auto all = entries();
  return all ? shapes_of(*all) : Result<ShapesByName>(all.error());
}

std::vector<std::string> ParamFile::files() const {
  std::vector<std::string> files;
  if (std::holds_alternative<Folder>(arrays_)) {
    for (const std::string& name : names_) {
      files.push_back(npy_path(path_, name));
    }
    return files;
  }
  files.push_back(path_);
  if (const auto* model = std::get_if<ShardedSafetensors>(&arrays_)) {
    for (const auto& [name, shard] : model->shards()) {
      files.push_back(folder_of(path_) + name);
    }
  }
  return files;
}

std::string ParamFile::file_of(const std::string& name) const {
  if (std::holds_alternative<Folder>(arrays_)) {
    return npy_path(path_, name);
  }
  const auto* const model = std::get_if<ShardedSafetensors>(&arrays_);
  return model == nullptr ? path_
                          : folder_of(path_) + model->shard_names().at(name);
}

std::vector<std::string> ParamFile::skipped() const {
  const auto* const headers = std::get_if<NpzEntries>(&arrays_);
  return headers == nullptr ? std::vector<std::string>() : headers->others;
}

SafetensorsMetadata ParamFile::metadata() const {
  SafetensorsMetadata metadata;
  if (const auto* file = std::get_if<SafetensorsFile>(&arrays_)) {
    metadata = file->metadata();
  }
  if (const auto* model = std::get_if<ShardedSafetensors>(&arrays_)) {
    for (const auto& [name, shard] : model->shards()) {
      metadata.insert(shard.metadata().begin(), shard.metadata().end());
    }
  }
  return metadata;
}

ShapesByName shapes_of(const ParamEntries& entries) {
  ShapesByName shapes;
  for (const auto& [name, entry] : entries) {
    shapes.emplace(name, entry.shape);
  }
  return shapes;
}

}  // namespace headwise::internal::inline HEADWISE_ABI
