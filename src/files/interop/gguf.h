// GGUF, the files of llama.cpp: metadata by key, and the list of tensors.
// Little-endian, versions 2 and 3.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

inline constexpr std::string_view kGgufMagic = "GGUF";

enum class GgufType : std::uint32_t {
  uint8,
  int8,
  uint16,
  int16,
  uint32,
  int32,
  float32,
  boolean,
  text,
  array,
  uint64,
  int64,
  float64,
};

// A value of the metadata. It was checked when the file was read.
struct GgufValue {
  GgufType type = GgufType::uint8;
  GgufType element = GgufType::uint8;  // of an array
  std::uint64_t count = 1;             // of an array: its elements
  std::string_view bytes;              // in the file, the elements alone

  // Nothing for another type; whole numbers of every type are numbers.
  std::optional<std::string_view> text() const;
  std::optional<bool> boolean() const;
  std::optional<std::uint64_t> natural() const;
  std::optional<std::vector<std::string_view>> texts() const;
  std::optional<std::vector<double>> numbers() const;
};

struct GgufTensor {
  std::string_view name;
  std::vector<std::uint64_t> dims;  // the innermost first
  std::uint32_t type = 0;           // of ggml
  std::uint64_t offset = 0;         // in the data
};

class GgufFile {
 public:
  // `bytes` must outlive the file. Errors: bad_data; unsupported for other
  // versions and byte orders.
  static Result<GgufFile> parse(std::string_view bytes,
                                const FileSubject& subject);

  // Null if there is no such key.
  const GgufValue* find(std::string_view key) const;
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  // Where the data of the tensors begin.
  std::uint64_t data_begin() const { return data_begin_; }

 private:
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
  std::uint64_t data_begin_ = 0;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
