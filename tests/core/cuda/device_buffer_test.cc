#include "headwise/run/device_buffer.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "cuda/device_tensors.h"

namespace headwise {
namespace {

TEST(DeviceBufferTest, GivesBackWhatWasCopiedToIt) {
  HEADWISE_NEEDS_GPU();
  std::vector<int> numbers(1000);
  std::iota(numbers.begin(), numbers.end(), 7);
  auto buffer = DeviceBuffer::create(4000, Device::cuda()).value();
  EXPECT_EQ(buffer.bytes(), 4000U);
  buffer.copy_from(std::as_bytes(std::span(numbers))).value();
  std::vector<int> back(1000);
  buffer.copy_to(std::as_writable_bytes(std::span(back))).value();
  EXPECT_EQ(back, numbers);
  EXPECT_FALSE(name_of(Device::cuda()).value().empty());
}

TEST(DeviceBufferTest, RefusesAnotherSizeAndTheCpu) {
  HEADWISE_NEEDS_GPU();
  auto buffer = DeviceBuffer::create(8, Device::cuda()).value();
  const std::vector<std::byte> seven(7);
  EXPECT_EQ(buffer.copy_from(seven).error().message(),
            "device buffer: bytes have size 7, expected 8");
  EXPECT_EQ(DeviceBuffer::create(8, {}).error().message(),
            "device buffer: device is cpu, expected Device::cuda(stream)");
}

}  // namespace
}  // namespace headwise
