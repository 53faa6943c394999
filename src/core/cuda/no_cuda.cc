#include <string>
#include <string_view>

#include "attention/device_backend.h"
#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/run/device_buffer.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

Error absent(std::string_view operation = "") try {
  return value_error(operation, "device",
                     "cuda, but headwise was built without it",
                     "a build with -DHEADWISE_CUDA=ON", ErrorCode::unsupported);
} catch (...) {
  return caught_out_of_memory();
}

}  // namespace

Result<std::unique_ptr<DeviceBackend>> make_device_backend(
    const AttentionSpec& /*spec*/, DType /*dtype*/, const Device& /*device*/) {
  return absent("attention");
}

void DeviceBuffer::Free::operator()(void* /*data*/) const {}

Result<DeviceBuffer> DeviceBuffer::create(std::size_t /*bytes*/,
                                          const Device& /*device*/) {
  return absent();
}

// NOLINTBEGIN(readability-convert-member-functions-to-static): a stub's
Status DeviceBuffer::copy_from(std::span<const std::byte> /*from*/) {
  return absent();
}
Status DeviceBuffer::copy_to(std::span<std::byte> /*to*/) const {
  return absent();
}
// NOLINTEND(readability-convert-member-functions-to-static)
Status wait_for(const Device& /*device*/) { return absent(); }
Result<std::string> name_of(const Device& /*device*/) { return absent(); }

}  // namespace headwise::inline HEADWISE_ABI
