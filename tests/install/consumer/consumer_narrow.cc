// A program that links a headwise without the loops over narrow numbers
// (HEADWISE_NARROW=OFF): what needs them is an error, never another result.
#include <headwise/headwise.h>

#include <array>
#include <iostream>
#include <string>

namespace hw = headwise;

namespace {

bool refused(const char* what, const hw::Status& status) {
  const std::string message = status ? "no error" : status.error().message();
  std::cout << what << ": " << message << '\n';
  return message.find("HEADWISE_NARROW=ON") != std::string::npos;
}

template <class T>
hw::Status attend(const hw::AttentionOptions& options) {
  static constexpr hw::Extents<4> kExtents = {1, 2, 1, 4};
  const auto x = hw::Tensor<T, 4>::create(kExtents).value();
  auto output = hw::Tensor<T, 4>::create(kExtents).value();
  return hw::attention(x.view(), x.view(), x.view(), output.view(), options);
}

hw::Status cache_of(hw::DType dtype) {
  const auto cache = hw::KvCache::create(
      {.num_kv_heads = 1, .head_dim = 4, .dtype = dtype, .max_tokens = 16});
  return cache ? hw::Status() : hw::Status(cache.error());
}

hw::Status linear_in_bf16() {
  const auto linear =
      hw::Linear::from_params(hw::Tensor<float, 2>::create({4, 4}).value(),
                              hw::Tensor<float, 1>::create({4}).value());
  const auto pairs = linear.value().in_bf16();
  return pairs ? hw::Status() : hw::Status(pairs.error());
}

}  // namespace

int main() {
  const bool float32 = attend<float>({}) && cache_of(hw::DType::float32);
  const std::array all = {
      float32,
      refused("float16", attend<hw::Float16>({})),
      refused("bfloat16", attend<hw::BFloat16>({})),
      refused("bf16", attend<float>({.arithmetic = hw::Arithmetic::bf16})),
      refused("int8 cache", cache_of(hw::DType::int8)),
      refused("bfloat16 cache", cache_of(hw::DType::bfloat16)),
      refused("linear", linear_in_bf16()),
  };
  for (const bool as_expected : all) {
    if (!as_expected) {
      return 1;
    }
  }
  return 0;
}
