#include "attention/device_backend.h"

namespace headwise {

Result<std::unique_ptr<DeviceBackend>> make_device_backend(
    const AttentionSpec& /*spec*/, DType /*dtype*/, const Device& /*device*/) {
  return Error{ErrorCode::unsupported,
               "attention: device is cuda, but headwise was built without it, "
               "expected a build with -DHEADWISE_CUDA=ON"};
}

}  // namespace headwise
