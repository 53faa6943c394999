// GGUF, the files of llama.cpp: their metadata by key, which come before the
// tensors. Little-endian, versions 2 and 3.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

inline constexpr std::string_view kGgufMagic = "GGUF";

// A value of the metadata, or a list of one type, checked when the file was
// read. Without bytes it is none.
struct GgufValue {
  std::size_t type = 0;
  bool is_list = false;
  std::uint64_t count = 1;
  std::string_view bytes;  // in the file; of a text without its length

  // Nothing for another type; whole numbers of every type are numbers.
  std::optional<std::string_view> text() const;
  std::optional<bool> boolean() const;
  std::optional<std::uint64_t> natural() const;
  std::optional<std::vector<std::string_view>> texts() const;
  std::optional<std::vector<double>> numbers() const;
};

using GgufMetadata = std::map<std::string_view, GgufValue>;

// `bytes`, all of the file, must outlive the metadata. Errors: bad_data;
// unsupported for other versions and byte orders, and for lists of lists.
Result<GgufMetadata> read_gguf_metadata(std::string_view bytes,
                                        const FileSubject& subject);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
