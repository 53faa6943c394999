// Makes a SafetensorsFile of whatever holds its bytes. Errors begin with the
// subject of the file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "headwise/base/result.h"
#include "headwise/interop/file_subject.h"
#include "headwise/interop/safetensors.h"
#include "interop/input_file.h"

namespace headwise::inline HEADWISE_ABI {

class SafetensorsReader {
 public:
  static Result<SafetensorsFile> read(InputFile file, FileAccess access);
  // `bytes` are valid as long as `owner` lives.
  static Result<SafetensorsFile> parse(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner,
                                       FileSubject subject);

 private:
  static Result<SafetensorsFile> read_stream(InputFile input);
};

}  // namespace headwise::inline HEADWISE_ABI
