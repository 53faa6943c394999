// A build without ONNX: no model can be read, and so nothing else be called.
#include "headwise/interop/file_subject.h"
#include "headwise/onnx/arrays.h"
#include "headwise/onnx/model.h"
#include "headwise/onnx/write_layer.h"

namespace headwise::inline HEADWISE_ABI {

struct OnnxAttention::Parts {};

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

Error not_run() { return not_read("model"); }

}  // namespace

Result<OnnxModel> OnnxModel::read(const std::string& path) {
  return not_read(path);
}
std::span<const OnnxPort> OnnxModel::inputs() const { return {}; }
std::span<const OnnxPort> OnnxModel::outputs() const { return {}; }
Result<std::vector<OnnxAttentionNode>> OnnxModel::attention_nodes() const {
  return not_run();
}
Result<std::vector<std::string>> OnnxModel::operators_not_run() const {
  return not_run();
}
Result<std::vector<Array>> OnnxModel::run(std::span<const Array> /*inputs*/,
                                          const Executor* /*executor*/,
                                          std::optional<std::size_t>) const {
  return not_run();
}
Result<std::vector<OnnxAttention>> OnnxModel::attention(
    std::span<const Array> /*inputs*/, std::span<const std::size_t> /*nodes*/,
    const Executor* /*executor*/, std::optional<std::size_t>) const {
  return not_run();
}

TensorView<const float, 4> OnnxAttention::query() const { return {}; }
TensorView<const float, 4> OnnxAttention::key() const { return {}; }
TensorView<const float, 4> OnnxAttention::value() const { return {}; }
AttentionOptions OnnxAttention::options() const { return {}; }
bool OnnxAttention::same_options(const OnnxAttention& /*other*/) const {
  return true;
}
bool OnnxAttention::relates_positions() const { return false; }

Result<Array> read_onnx_tensor(const std::string& path) {
  return not_read(path);
}
Result<Array> rounded_to(const Array& /*array*/, DType /*dtype*/) {
  return not_run();
}
Result<ArrayDifference> difference(const Array& /*got*/, const Array& /*want*/,
                                   const Tolerance& /*tolerance*/) {
  return not_run();
}
Status write_onnx_layer(const std::string& path,
                        const MultiHeadAttention& /*layer*/,
                        const OnnxLayerOptions& /*options*/) {
  return not_built(
      "write_onnx_layer", path,
      "cannot be written: headwise was built without ONNX support");
}

}  // namespace headwise::inline HEADWISE_ABI
