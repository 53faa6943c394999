// 16-bit tensors through a cache: they are widened exactly and stored as floats
// are, and each element of the output is rounded once.

#include <algorithm>
#include <cmath>
#include <vector>

#include "decode/decoder.h"
#include "support/errors.h"
#include "support/half_tensors.h"
#include "support/matchers.h"

namespace headwise::testing_support {
namespace {

template <class T>
struct HalfText {
  explicit HalfText(const Text& text)
      : query(narrowed_to<T>(text.query)),
        key(narrowed_to<T>(text.key)),
        value(narrowed_to<T>(text.value)) {}

  // The same numbers as floats.
  Text widened() const {
    Text text(query.extent(1));
    text.query = widened_to_float(query);
    text.key = widened_to_float(key);
    text.value = widened_to_float(value);
    return text;
  }

  Tensor<T, 4> query;
  Tensor<T, 4> key;
  Tensor<T, 4> value;
};

// Numbers at the ends of the types, where the mask does not hide them from all.
Text text_with_special_numbers(std::size_t length) {
  Text text(length, 30);
  text.value(0, 40, 1, 3) = INFINITY;
  text.value(0, 41, 0, 2) = 0x1p-133F;
  text.value(0, 42, 0, 2) = 0x1.8p-20F;
  text.key(0, 90, 0, 1) = NAN;
  text.key(0, 91, 1, 1) = 60000;
  return text;
}

struct Rows {
  std::vector<float> output;  // widened
  std::vector<float> lse;
};

// The whole text through a plan, `chunk` tokens at a time.
template <class T>
Rows decoded(Decoder& decoder, const HalfText<T>& text, std::size_t chunk) {
  const SequenceId ids[] = {decoder.cache.add().value()};
  const std::size_t length = text.key.extent(1);
  Rows all;
  for (std::size_t n = 0; n < length; n += chunk) {
    const std::size_t count = std::min(chunk, length - n);
    auto output = narrowed_to<T>(filled<float, 4>({1, count, kHeads, kDv}, 42));
    auto lse = filled<float, 3>({1, kHeads, count}, 42);
    const bool prefix = decoder.cache.options().value_is_key_prefix;
    const Status s = decoder.plan.run(
        ids, rows(text.query.view(), n, count), rows(text.key.view(), n, count),
        prefix ? TensorView<const T, 4>() : rows(text.value.view(), n, count),
        AttentionOutputsOf<T>{.output = output, .lse = lse}, decoder.workspace);
    EXPECT_TRUE(s) << s.error().message();
    const auto wide = widened_to_float(output);
    all.output.insert(all.output.end(), wide.data(), wide.data() + wide.size());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t h = 0; h < kHeads; ++h) {
        all.lse.push_back(lse(0, h, i));
      }
    }
  }
  EXPECT_TRUE(decoder.cache.erase(ids[0]));
  return all;
}

// One call of attention() on 16-bit tensors.
template <class T>
Rows one_half_call(const HalfText<T>& text, bool prefix) {
  const std::size_t length = text.key.extent(1);
  auto output = narrowed_to<T>(filled<float, 4>({1, length, kHeads, kDv}, 42));
  auto lse = filled<float, 3>({1, kHeads, length}, 42);
  const TensorView<const T, 4> of_keys(
      text.key.data(), {1, length, kKeyHeads, kDv}, text.key.view().strides());
  EXPECT_TRUE(attention(
      text.query, text.key, prefix ? of_keys : text.value.view(),
      AttentionOutputsOf<T>{.output = output, .lse = lse}, {.mask = causal()}));
  const auto wide = widened_to_float(output);
  Rows all = {{wide.data(), wide.data() + wide.size()}, {}};
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t h = 0; h < kHeads; ++h) {
      all.lse.push_back(lse(0, h, i));
    }
  }
  return all;
}

template <class T>
void expect_the_bits_of_half_calls() {
  const HalfText<T> text(text_with_special_numbers(150));
  for (const KvCacheOptions& cache :
       {cache_of(0, DTypeOf<T>::value), cache_of(16, DTypeOf<T>::value),
        cache_of(64), cache_of(16, DTypeOf<T>::value, true),
        cache_of(16, DType::float32, true)}) {
    SCOPED_TRACE(name_of(cache));
    Decoder decoder(cache, {.mask = causal()});
    const Rows want = one_half_call(text, cache.value_is_key_prefix);
    for (const std::size_t chunk : {1u, 9u, 100u}) {
      const Rows got = decoded(decoder, text, chunk);
      EXPECT_TRUE(same_bits(got.output, want.output)) << chunk;
      EXPECT_TRUE(same_bits(got.lse, want.lse)) << chunk;
    }
  }
}

TEST(DecodePlanHalfTest, ACacheThatHoldsTheNumbersHasTheBitsOfOneHalfCall) {
  expect_the_bits_of_half_calls<BFloat16>();
  expect_the_bits_of_half_calls<Float16>();
}

template <class T>
void expect_rounded_float_runs() {
  const HalfText<T> half(text_with_special_numbers(120));
  const Text text = half.widened();
  for (const KvCacheOptions& cache : every_cache()) {
    SCOPED_TRACE(name_of(cache));
    Decoder decoder(cache, {.mask = causal()});
    const SequenceId id = decoder.cache.add().value();
    const auto want = rounded_to<T>(decoder.take_all(id, text, 50));
    for (const std::size_t chunk : {1u, 50u}) {
      EXPECT_TRUE(
          same_bits(decoded(decoder, half, chunk).output, want.elements()));
    }
  }
}

TEST(DecodePlanHalfTest, AnyCacheGivesTheFloatRunRoundedOnce) {
  expect_rounded_float_runs<BFloat16>();
  expect_rounded_float_runs<Float16>();
}

template <class T>
void expect_the_same_stored_numbers(DType dtype) {
  const HalfText<T> half(text_with_special_numbers(100));
  const Text text = half.widened();
  KvCache cache = KvCache::create(cache_of(16, dtype)).value();
  const SequenceId ids[] = {cache.add().value()};
  const SequenceId wide_ids[] = {cache.add().value()};
  ASSERT_TRUE(cache.append(ids, half.key, half.value));
  ASSERT_TRUE(cache.append(wide_ids, text.key, text.value));
  auto key = filled<float, 3>({100, kKeyHeads, kD}, 42);
  auto value = filled<float, 3>({100, kKeyHeads, kDv}, 42);
  auto wide_key = filled<float, 3>({100, kKeyHeads, kD}, 42);
  auto wide_value = filled<float, 3>({100, kKeyHeads, kDv}, 42);
  ASSERT_TRUE(cache.read(ids[0], 0, key, value));
  ASSERT_TRUE(cache.read(wide_ids[0], 0, wide_key, wide_value));
  EXPECT_TRUE(same_bits(key, wide_key));
  EXPECT_TRUE(same_bits(value, wide_value));
}

TEST(KvCacheHalfTest, AppendStoresWhatTheSameFloatsAre) {
  for (const DType dtype :
       {DType::float32, DType::bfloat16, DType::float16, DType::int8}) {
    SCOPED_TRACE(name_of(dtype));
    expect_the_same_stored_numbers<BFloat16>(dtype);
    expect_the_same_stored_numbers<Float16>(dtype);
  }
}

TEST(DecodePlanHalfTest, ReceivedAttentionIsThatOfTheSameFloats) {
  const HalfText<BFloat16> half(Text(90, 50));
  KvCacheOptions cache = cache_of(16, DType::bfloat16);
  cache.received_heads = kHeads;
  const auto sums_of = [&](const auto& text) {
    Decoder decoder(cache, {.mask = causal()});
    const SequenceId ids[] = {decoder.cache.add().value()};
    using T = typename std::decay_t<decltype(text.query.view())>::value_type;
    auto output = narrowed_to<T>(filled<float, 4>({1, 90, kHeads, kDv}, 42));
    EXPECT_TRUE(decoder.plan.run(ids, text.query, text.key, text.value,
                                 AttentionOutputsOf<T>{.output = output},
                                 decoder.workspace));
    auto sums = filled<float, 2>({kHeads, 90}, 42);
    EXPECT_TRUE(decoder.cache.read_received(ids[0], 0, sums));
    return sums;
  };
  EXPECT_TRUE(same_bits(sums_of(half), sums_of(half.widened())));
}

template <class Query, class Key, class Value, class Output>
concept Runs = requires(const DecodePlan& plan,
                        TensorView<const Query, 4> query,
                        TensorView<const Key, 4> key,
                        TensorView<const Value, 4> value,
                        const AttentionOutputsOf<Output>& outputs,
                        Workspace& workspace) {
  plan.run(std::span<const SequenceId>(), query, key, value, outputs,
           workspace);
};

// The tensors of a run have one type; others do not compile.
TEST(DecodePlanHalfTest, TypesAreNotMixed) {
  EXPECT_TRUE((Runs<BFloat16, BFloat16, BFloat16, BFloat16>));
  EXPECT_FALSE((Runs<float, BFloat16, BFloat16, float>));
  EXPECT_FALSE((Runs<BFloat16, BFloat16, Float16, BFloat16>));
  EXPECT_FALSE((Runs<BFloat16, BFloat16, BFloat16, float>));
  KvCache cache = KvCache::create(cache_of(16, DType::bfloat16)).value();
  const SequenceId ids[] = {cache.add().value()};
  const HalfText<Float16> text(Text(20, 60));
  const Text wide = text.widened();
  EXPECT_THAT(cache.append(ids, text.key, wide.value),
              IsAbout("value", "float32", "float16"));
  EXPECT_EQ(cache.length(ids[0]).value(), 0u);
  EXPECT_TRUE(cache.append(ids, text.key, text.value));
}

// Everything is checked as for floats, before anything is appended or written.
TEST(DecodePlanHalfTest, ErrorsLeaveTheCacheAsItWas) {
  const HalfText<BFloat16> text(Text(20, 60));
  Decoder decoder(cache_of(16, DType::bfloat16), {.mask = causal()});
  const SequenceId ids[] = {decoder.cache.add().value()};
  auto output =
      narrowed_to<BFloat16>(filled<float, 4>({1, 20, kHeads, kDv}, 42));
  const AttentionOutputsOf<BFloat16> outputs = {.output = output};
  const auto run = [&](const HalfText<BFloat16>& of,
                       const AttentionOutputsOf<BFloat16>& to) {
    return decoder.plan.run(ids, of.query, of.key, of.value, to,
                            decoder.workspace);
  };
  HalfText<BFloat16> wrong = HalfText<BFloat16>(Text(20, 60));
  wrong.value =
      narrowed_to<BFloat16>(filled<float, 4>({1, 20, kKeyHeads, kDv + 1}, 1));
  EXPECT_THAT(run(wrong, outputs), IsError(ErrorCode::shape_mismatch, "value"));
  EXPECT_THAT(decoder.cache.append(ids, wrong.key, wrong.value),
              IsError(ErrorCode::shape_mismatch, "value"));
  const TensorView<BFloat16, 4> in_the_key(wrong.key.data(),
                                           {1, 5, kHeads, kDv});
  HalfText<BFloat16> few(Text(5, 60));
  EXPECT_THAT(decoder.plan.run(
                  ids, few.query, rows(std::as_const(wrong.key).view(), 0, 5),
                  few.value, AttentionOutputsOf<BFloat16>{.output = in_the_key},
                  decoder.workspace),
              IsError(ErrorCode::invalid_argument, "output"));
  EXPECT_THAT(widened_to_float(output).elements(), Each(42.0F));
  EXPECT_EQ(decoder.cache.length(ids[0]).value(), 0u);
  ASSERT_TRUE(run(text, outputs));
  EXPECT_TRUE(same_bits(widened_to_float(output).elements(),
                        one_half_call(text, false).output));
}

}  // namespace
}  // namespace headwise::testing_support
