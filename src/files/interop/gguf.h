// GGUF, the files of llama.cpp: metadata by key, and tensors by name.
// Little-endian, versions 2 and 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

inline constexpr std::string_view kGgufMagic = "GGUF";

// A value, or those of a list. Texts are parts of the file; numbers of every
// type are doubles, bools 0 or 1.
struct GgufValue {
  std::vector<std::string_view> texts;
  std::vector<double> numbers;
};
using GgufMetadata = std::map<std::string_view, GgufValue>;

struct GgufTensor {
  std::vector<std::size_t> shape;  // the outer axis first
  std::uint32_t type = 0;          // gguf_types.h
  std::string_view bytes{};        // none of a type that is not known
};

struct GgufContents {
  GgufMetadata metadata;
  std::map<std::string_view, GgufTensor> tensors{};
};

// `bytes`, all of the file, must outlive what is read. Errors: bad_data;
// unsupported for other versions and byte orders, and for lists of lists.
Result<GgufMetadata> read_gguf_metadata(std::string_view bytes,
                                        const FileSubject& subject);
HEADWISE_HIDDEN Result<GgufContents> read_gguf(std::string_view bytes,
                                               const FileSubject& subject);

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
