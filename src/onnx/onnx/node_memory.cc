#include "onnx/node_memory.h"

#include <limits>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();
thread_local std::size_t bytes_left = kUnlimited;

}  // namespace

NodeMemory::NodeMemory(std::size_t bytes) { bytes_left = bytes; }
NodeMemory::~NodeMemory() { bytes_left = kUnlimited; }

Status NodeMemory::take(std::size_t bytes) {
  // The largest number stands for more than can be counted.
  if (bytes > bytes_left || bytes == kUnlimited) {
    return Error::no_memory_for(bytes);
  }
  bytes_left -= bytes_left == kUnlimited ? 0 : bytes;
  return ok();
}

void NodeMemory::use(std::size_t bytes) {
  if (!take(bytes)) {
    throw Exceeded(bytes);
  }
}

}  // namespace headwise::inline HEADWISE_ABI
