// A build without ONNX.
#include "headwise/interop/file_subject.h"
#include "onnx/messages.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Error not_built(const char* operation, const std::string& path,
                const char* given) {
  return FileSubject{.operation = operation, .file = path}.error(
      ErrorCode::unsupported, given, "a build with HEADWISE_ONNX=ON");
}

Error not_read(const std::string& path) {
  return not_built("read_onnx", path,
                   "cannot be read: headwise was built without ONNX support");
}

}  // namespace

Result<OnnxGraph> read_graph(const std::string& path) { return not_read(path); }

Result<Array> read_tensor_message(const std::string& path) {
  return not_read(path);
}

Status write_graph(const std::string& path, const WrittenGraph& /*graph*/) {
  return not_built(
      "write_onnx_layer", path,
      "cannot be written: headwise was built without ONNX support");
}

}  // namespace headwise::inline HEADWISE_ABI
