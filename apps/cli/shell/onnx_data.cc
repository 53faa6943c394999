#include "onnx_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/interop/npy.h"
#include "headwise/interop/npz.h"
#include "headwise/onnx/arrays.h"
#include "outcome.h"

namespace headwise::cli {
namespace {

// Where tensors are looked for.
struct DataPlace {
  std::string path;
  std::set<std::string> files;  // of the folder
  NamedArrays arrays;           // of .npz files
};

// Of a folder: a pipe there would wait for a writer.
Status check_regular(const std::filesystem::path& path) {
  std::error_code unknown;
  const auto kind = std::filesystem::status(path, unknown).type();
  if (kind == std::filesystem::file_type::regular ||
      kind == std::filesystem::file_type::not_found) {
    return ok();  // opening it says what is wrong
  }
  return FileSubject{"--data", path.string()}.bad_data("is not a regular file");
}

Result<DataPlace> open_place(const std::string& path) {
  DataPlace place{.path = path, .files = {}, .arrays = {}};
  std::vector<std::string> archives;
  std::error_code failed;
  if (path.ends_with(".npz")) {
    archives.push_back(path);
  } else {
    for (auto entry = std::filesystem::directory_iterator(path, failed);
         !failed && entry != std::filesystem::directory_iterator();
         entry.increment(failed)) {
      const std::string name = entry->path().filename().string();
      place.files.insert(name);
      if (name.ends_with(".npz")) {
        HEADWISE_TRY(check_regular(entry->path()));
        archives.push_back(entry->path().string());
      }
    }
    if (failed) {
      return system_error({.operation = "--data", .file = path},
                          failed.value());
    }
  }
  std::ranges::sort(archives);
  for (const std::string& archive : archives) {
    HEADWISE_ASSIGN(auto arrays, read_npz(archive));
    place.arrays.merge(arrays);
  }
  return place;
}

// NumPy's files have no bfloat16, so float32 is rounded to a 16-bit type that
// the model declares.
Result<Array> as_declared(Array array, const OnnxPort& port) {
  const bool sixteen_bit = port.dtype && (*port.dtype == DType::bfloat16 ||
                                          *port.dtype == DType::float16);
  if (sixteen_bit && array.dtype == DType::float32) {
    return rounded_to(array, *port.dtype);
  }
  return array;
}

Result<std::optional<Array>> find_tensor(DataPlace& place,
                                         std::string_view kind,
                                         std::size_t number,
                                         const OnnxPort& port) {
  const std::string name = fmt::format("{}_{}", kind, number);
  const auto path = [&place](const std::string& file) {
    return (std::filesystem::path(place.path) / file).string();
  };
  if (place.files.contains(name + ".pb")) {
    HEADWISE_ASSIGN(auto array, read_onnx_tensor(path(name + ".pb")));
    return std::optional(std::move(array));
  }
  Result<Array> array = Array{};
  if (place.files.contains(name + ".npy")) {
    HEADWISE_TRY(check_regular(path(name + ".npy")));
    array = read_npy(path(name + ".npy"));
  } else if (const auto found = place.arrays.find(name);
             found != place.arrays.end()) {
    array = std::move(found->second);
  } else if (const auto named = place.arrays.find(port.name);
             named != place.arrays.end()) {
    array = std::move(named->second);
  } else {
    return std::optional<Array>();
  }
  HEADWISE_TRY(array);
  array = as_declared(*std::move(array), port);
  HEADWISE_TRY(array);
  return std::optional(*std::move(array));
}

}  // namespace

OptionRow memory_limit_option(std::size_t& mebibytes) {
  return {"--memory-limit", &mebibytes, count(),
          "memory limit for intermediate tensors, in MiB (default: 16, plus 16 "
          "times the inputs and the model's tensors)"};
}

std::optional<std::size_t> memory_limit_of(std::size_t mebibytes) {
  constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() >> 20;
  return mebibytes == 0 ? std::optional<std::size_t>()
                        : std::optional(std::min(mebibytes, kMost) << 20);
}

Result<OnnxData> OnnxData::read(const std::string& path,
                                const OnnxModel& model) {
  HEADWISE_ASSIGN(auto place, open_place(path));
  OnnxData data;
  for (std::size_t i = 0; i < model.inputs().size(); ++i) {
    const OnnxPort& port = model.inputs()[i];
    HEADWISE_ASSIGN(auto found, find_tensor(place, "input", i, port));
    if (!found) {
      return option_error(
          "--data", message("has no input {}, which is {}", i, port.name),
          message("input_{}.pb or .npy, or a .npz file with it", i));
    }
    data.inputs.push_back(*std::move(found));
  }
  for (std::size_t i = 0; i < model.outputs().size(); ++i) {
    HEADWISE_ASSIGN(auto found,
                    find_tensor(place, "output", i, model.outputs()[i]));
    data.outputs.push_back(std::move(found));
  }
  return data;
}

}  // namespace headwise::cli
