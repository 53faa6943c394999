#include "interop/gguf_types.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "headwise/base/half.h"

namespace headwise::internal::inline HEADWISE_ABI {
namespace {

float half_at(const unsigned char* at) {
  Float16 number;
  std::memcpy(&number, at, sizeof(number));
  return widened(number);
}

void widen_f32(const unsigned char* block, float* to) {
  std::memcpy(to, block, sizeof(*to));
}
void widen_f16(const unsigned char* block, float* to) { *to = half_at(block); }
void widen_bf16(const unsigned char* block, float* to) {
  BFloat16 number;
  std::memcpy(&number, block, sizeof(number));
  *to = widened(number);
}

int signed_at(const unsigned char* at) { return static_cast<signed char>(*at); }

void widen_q8_0(const unsigned char* block, float* to) {
  const float scale = half_at(block);
  for (std::size_t n = 0; n < 32; ++n) {
    to[n] = scale * static_cast<float>(signed_at(block + 2 + n));
  }
}

// 16 bytes: the low halves, then the high ones.
template <class Use>
void each_nibble(const unsigned char* bytes, const Use& use) {
  for (std::size_t n = 0; n < 16; ++n) {
    use(n, bytes[n] & 15);
    use(n + 16, bytes[n] >> 4);
  }
}

void widen_q4_0(const unsigned char* block, float* to) {
  const float scale = half_at(block);
  each_nibble(block + 2, [&](std::size_t n, int q) {
    to[n] = scale * static_cast<float>(q - 8);
  });
}

void widen_q4_1(const unsigned char* block, float* to) {
  const float scale = half_at(block);
  const float least = half_at(block + 2);
  each_nibble(block + 4, [&](std::size_t n, int q) {
    to[n] = scale * static_cast<float>(q) + least;
  });
}

// Of 8 groups of 32: a scale and a subtrahend of 6 bits each, in 12 bytes.
void widen_q4_k(const unsigned char* block, float* to) {
  const float scale = half_at(block);
  const float least = half_at(block + 2);
  const unsigned char* const packed = block + 4;
  const unsigned char* const quants = block + 16;
  for (std::size_t group = 0; group < 8; ++group) {
    const std::size_t j = group % 4;
    const int of_scale = group < 4
                             ? packed[j] & 63
                             : (packed[j + 8] & 15) | (packed[j] >> 6) << 4;
    const int of_least = group < 4
                             ? packed[j + 4] & 63
                             : packed[j + 8] >> 4 | (packed[j + 4] >> 6) << 4;
    const float by = scale * static_cast<float>(of_scale);
    const float less = least * static_cast<float>(of_least);
    for (std::size_t n = 0; n < 32; ++n) {
      const int both = quants[group / 2 * 32 + n];
      const int q = group % 2 == 0 ? both & 15 : both >> 4;
      to[group * 32 + n] = by * static_cast<float>(q) - less;
    }
  }
}

// Of 16 groups of 16: a scale of 8 bits; numbers of 6 bits, 4 in one place and
// 2 in another.
void widen_q6_k(const unsigned char* block, float* to) {
  const float scale = half_at(block + 208);
  for (std::size_t n = 0; n < 256; ++n) {
    const std::size_t half = n / 128;        // of the block
    const std::size_t quarter = n / 32 % 4;  // of the half
    const int low = block[half * 64 + quarter % 2 * 32 + n % 32];
    const int high = block[128 + half * 32 + n % 32];
    const int q =
        (quarter < 2 ? low & 15 : low >> 4) | (high >> 2 * quarter & 3) << 4;
    to[n] = scale * static_cast<float>(signed_at(block + 192 + n / 16)) *
            static_cast<float>(q - 32);
  }
}

constexpr auto kTypes =
    std::to_array<GgufType>({{0, "F32", 1, 4, widen_f32, DType::float32},
                             {1, "F16", 1, 2, widen_f16, DType::float16},
                             {30, "BF16", 1, 2, widen_bf16, DType::bfloat16},
                             {8, "Q8_0", 32, 34, widen_q8_0},
                             {2, "Q4_0", 32, 18, widen_q4_0},
                             {3, "Q4_1", 32, 20, widen_q4_1},
                             {12, "Q4_K", 256, 144, widen_q4_k},
                             {14, "Q6_K", 256, 210, widen_q6_k}});

struct OtherType {
  std::uint32_t number;
  std::string_view name;
};
constexpr auto kOthers = std::to_array<OtherType>(
    {{6, "Q5_0"},    {7, "Q5_1"},     {9, "Q8_1"},    {10, "Q2_K"},
     {11, "Q3_K"},   {13, "Q5_K"},    {15, "Q8_K"},   {16, "IQ2_XXS"},
     {17, "IQ2_XS"}, {18, "IQ3_XXS"}, {19, "IQ1_S"},  {20, "IQ4_NL"},
     {21, "IQ3_S"},  {22, "IQ2_S"},   {23, "IQ4_XS"}, {24, "I8"},
     {25, "I16"},    {26, "I32"},     {27, "I64"},    {28, "F64"},
     {29, "IQ1_M"},  {34, "TQ1_0"},   {35, "TQ2_0"},  {39, "MXFP4"}});

}  // namespace

const GgufType* find_gguf_type(std::uint32_t number) {
  const auto* const found =
      std::ranges::find(kTypes, number, &GgufType::number);
  return found == kTypes.end() ? nullptr : found;
}

const GgufType* find_gguf_type(DType dtype) {
  const auto* const found =
      std::ranges::find(kTypes, std::optional(dtype), &GgufType::dtype);
  return found == kTypes.end() ? nullptr : found;
}

std::string gguf_type_name(std::uint32_t number) {
  if (const GgufType* const type = find_gguf_type(number)) {
    return std::string(type->name);
  }
  const auto* const other =
      std::ranges::find(kOthers, number, &OtherType::number);
  return other == kOthers.end() ? std::to_string(number)
                                : std::string(other->name);
}

std::string_view gguf_type_names() {
  return "F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q4_K, Q6_K";
}

}  // namespace headwise::internal::inline HEADWISE_ABI
