// A build without ONNX.
#include "headwise/interop/file_subject.h"
#include "onnx/messages.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Error not_built(const std::string& path) {
  return FileSubject{.operation = "read_onnx", .file = path}.error(
      ErrorCode::unsupported, "cannot be read: this headwise has no ONNX",
      "a build with HEADWISE_ONNX=ON");
}

}  // namespace

Result<OnnxGraph> read_graph(const std::string& path) {
  return not_built(path);
}

Result<Array> read_tensor_message(const std::string& path) {
  return not_built(path);
}

}  // namespace headwise::inline HEADWISE_ABI
