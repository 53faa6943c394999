// An open GGUF file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "headwise/base/result.h"
#include "headwise/interop/array.h"
#include "interop/gguf.h"

#pragma GCC visibility push(default)
namespace headwise::internal::inline HEADWISE_ABI {

// Copies share the file, which is mapped: its bytes are read as they are used.
class GgufFile {
 public:
  // Errors: io_error, those of read_gguf().
  static Result<GgufFile> open(std::string_view operation,
                               const std::string& path);

  const GgufContents& contents() const;
  // Keeps the bytes of the file where they are.
  std::shared_ptr<const void> owner() const { return state_; }
  // A tensor that the file has; quantised ones as float32. Errors: unsupported
  // for a type that is not read, out_of_memory.
  HEADWISE_HIDDEN Result<Array> read(const std::string& name) const;

 private:
  struct State;
  HEADWISE_HIDDEN explicit GgufFile(std::shared_ptr<const State> state)
      : state_(std::move(state)) {}

  std::shared_ptr<const State> state_;
};

}  // namespace headwise::internal::inline HEADWISE_ABI
#pragma GCC visibility pop
