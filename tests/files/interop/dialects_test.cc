// What each dialect makes of masks, on small tensors with numbers that can be
// checked by hand. golden/golden_dialects_test.cc compares with the libraries.
#include "headwise/interop/dialects.h"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "headwise/attention/forward.h"
#include "interop/mask_arrays.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

const Dialect& dialect(const char* name) { return *find_dialect(name); }

// Two sequences, two heads, two queries, three keys.
constexpr MaskSizes kSizes = {.B = 2, .Hq = 2, .Lq = 2, .Lkv = 3};

// Query, key and value of zeros but for the values, which are 1, 2 and 4: the
// output says which keys were attended to, if all scores are equal.
Tensor<float, 4> attended(const Dialect& dialect, const DialectMask& mask,
                          const DialectCall& call = {}) {
  const auto query = filled<float, 4>({2, 2, 2, 1}, 0.0F);
  const auto key = filled<float, 4>({2, 3, 2, 1}, 0.0F);
  auto value = filled<float, 4>({2, 3, 2, 1}, 1.0F);
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 2; ++h) {
      value(b, 1, h, 0) = 2;
      value(b, 2, h, 0) = 4;
    }
  }
  auto output = filled<float, 4>({2, 2, 2, 1}, -1.0F);
  AttentionOptions options{.mask = mask.mask(), .bias = mask.bias()};
  apply_dialect(dialect, call, options);
  options.attn_weights = AttnWeights::none;
  attention(query, key, value, output, options).value();
  return output;
}

// The output of sequence b, head h, query i: the mean of the keys it sees.
constexpr float kFirst = 1;
constexpr float kFirstTwo = 1.5F;
constexpr float kLastTwo = 3;
constexpr float kAll = 7.0F / 3;

struct Seen {
  const char* dialect;
  Array mask;
  // (b, h, i) in C order.
  std::vector<float> outputs;
};

TEST(DialectMaskTest, RankAndPolarityAreThoseOfTheLibrary) {
  // Key 0 alone for query 0, all keys for query 1.
  const std::vector<std::uint8_t> rows = {1, 0, 0, 1, 1, 1};
  const std::vector<float> by_query = {kFirst, kAll, kFirst, kAll,
                                       kFirst, kAll, kFirst, kAll};
  // The first of the two at an axis sees key 0 alone, the second everything.
  const std::vector<std::uint8_t> planes = {1, 0, 0, 1, 0, 0, 1, 1, 1, 1, 1, 1};
  const std::vector<float> by_head = {kFirst, kFirst, kAll, kAll,
                                      kFirst, kFirst, kAll, kAll};
  const std::vector<float> by_batch = {kFirst, kFirst, kFirst, kFirst,
                                       kAll,   kAll,   kAll,   kAll};
  const std::vector<std::uint8_t> masked = {0, 1, 1, 0, 0, 0};
  // Head 1 of sequence 0 sees key 0 alone.
  std::vector<std::uint8_t> heads(24, 0);
  for (const std::size_t n : {7U, 8U, 10U, 11U}) {
    heads[n] = 1;
  }
  const std::vector<float> one_head = {kAll, kAll, kFirst, kFirst,
                                       kAll, kAll, kAll,   kAll};
  const std::vector<Seen> cases = {
      {"torch-mha", bools({2, 3}, masked), by_query},
      {"torch-mha", bools({4, 2, 3}, heads), one_head},
      {"torch-sdpa", bools({2, 3}, rows), by_query},
      {"torch-sdpa", bools({2, 2, 3}, planes), by_head},
      {"torch-sdpa", bools({2, 1, 2, 3}, planes), by_batch},
      {"flax", bools({3}, {1, 1, 0}), std::vector<float>(8, kFirstTwo)},
      {"onnx-1.23", bools({2, 2, 3}, planes), by_head},
      {"onnx-1.23", bools({2, 2}, {1, 1, 1, 1}),  // shorter than the keys
       std::vector<float>(8, kFirstTwo)},
      {"onnx-1.21", bools({2, 3}, rows), by_query},
      {"keras", bools({2, 3}, rows), by_query},
      {"keras", bools({2, 2, 3}, planes), by_batch},
      {"keras", ints({2, 1, 1, 3}, {1, 0, 0, 1, 1, 1}), by_batch},
      {"jax", bools({2, 1, 2, 3}, planes), by_batch},
      {"flax", bools({2, 2, 3}, planes), by_head},
      {"flax", floats({2, 3}, {1, 0, 0, 1, 1, 1}), by_query},
      {"transformers", ints({2, 3}, {1, 0, 0, 1, 1, 1}), by_batch},
      {"d2l", ints({2}, {1, 5}), by_batch},
      {"d2l", ints({2, 2}, {1, 3, 1, 3}), by_query},
      {"fill-1e12", bools({2, 2, 3}, planes), by_batch},
      {"fill-1e12", bools({1, 2, 3}, rows), by_query},
      {"fill-1e10", bools({2, 1, 1, 3}, {1, 0, 0, 1, 1, 1}), by_batch},
      {"ort-contrib", ints({2}, {1, 3}), by_batch},
      {"ort-contrib", ints({2, 3}, {1, 0, 0, 1, 1, 1}), by_batch}};
  for (const Seen& seen : cases) {
    SCOPED_TRACE(std::string(seen.dialect) + ", rank " +
                 std::to_string(seen.mask.shape.size()));
    const auto mask =
        read_mask(dialect(seen.dialect), seen.mask, kSizes).value();
    const auto output = attended(dialect(seen.dialect), mask);
    for (std::size_t n = 0; n < 8; ++n) {
      EXPECT_FLOAT_EQ(output(n / 4, n % 2, n / 2 % 2, 0), seen.outputs[n]) << n;
    }
  }
}

TEST(DialectMaskTest, FloatMasksAreAdded) {
  const float inf = INFINITY;
  for (const char* name : {"torch-mha", "torch-sdpa", "onnx-1.23"}) {
    const auto mask =
        read_mask(dialect(name), floats({2, 3}, {-inf, 0, 0, 0, -1e9F, -1e9F}),
                  kSizes)
            .value();
    const auto output = attended(dialect(name), mask);
    EXPECT_FLOAT_EQ(output(0, 0, 0, 0), kLastTwo) << name;
    EXPECT_FLOAT_EQ(output(0, 1, 0, 0), kFirst) << name;
  }
}

// A row whose keys are all masked, by what is asked for.
TEST(DialectMaskTest, RowsWithoutAKeyAreThoseOfTheLibrary) {
  const float nan = NAN;
  struct Row {
    const char* dialect;
    Array mask;  // no key for any query
    float plain;
    float with_weights;
    float with_dropout;
  };
  const std::vector<std::uint8_t> none(24, 0);
  const std::vector<float> lowest(24, std::numeric_limits<float>::lowest());
  const std::vector<float> minus_inf(24, -INFINITY);
  const std::vector<Row> rows = {
      {"torch-mha", bools({2, 3}, std::vector<std::uint8_t>(6, 1)), 0, nan, 0},
      {"torch-sdpa", bools({2, 3}, {0, 0, 0, 0, 0, 0}), 0, 0, 0},
      {"torch-sdpa", floats({2, 2, 2, 3}, minus_inf), 0, 0, 0},
      {"torch-sdpa", floats({2, 2, 2, 3}, lowest), kAll, kAll, kAll},
      {"keras", bools({2, 2, 2, 3}, none), kAll, 0, 0},
      {"jax", bools({2, 2, 2, 3}, none), kAll, kAll, kAll},
      {"flax", bools({2, 2, 2, 3}, none), kAll, kAll, kAll},
      {"onnx-1.23", bools({2, 2, 2, 3}, none), 0, 0, 0},
      {"onnx-1.21", bools({2, 2, 2, 3}, none), nan, nan, nan},
      {"ort-contrib", ints({2}, {0, 0}), kAll, kAll, kAll},
      {"transformers", floats({2, 2, 2, 3}, lowest), kAll, kAll, kAll},
      {"transformers", ints({2, 3}, {0, 0, 0, 0, 0, 0}), kAll, kAll, kAll},
      {"d2l", ints({2}, {0, 0}), kAll, kAll, kAll},
      {"fill-1e12", bools({2, 2, 2, 3}, none), kAll, kAll, kAll},
      {"fill-1e10", bools({2, 2, 2, 3}, none), kAll, kAll, kAll}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.dialect);
    const auto mask = read_mask(dialect(row.dialect), row.mask, kSizes).value();
    const auto expect = [&](const DialectCall& call, float expected) {
      const float got = attended(dialect(row.dialect), mask, call)(0, 0, 0, 0);
      if (std::isnan(expected)) {
        EXPECT_TRUE(std::isnan(got)) << got;
      } else {
        EXPECT_FLOAT_EQ(got, expected);
      }
    };
    expect({}, row.plain);
    expect({.returns_weights = true}, row.with_weights);
    expect({.dropout = true}, row.with_dropout);
  }
}

// A row of -inf where the library's own fill is finite.
TEST(DialectMaskTest, AddedMinusInfIsNanWhereTheLibraryComputesWithIt) {
  const Array mask = floats({2, 2, 2, 3}, std::vector<float>(24, -INFINITY));
  for (const char* name : {"transformers", "ort-contrib"}) {
    const auto read = read_mask(dialect(name), mask, kSizes).value();
    EXPECT_TRUE(std::isnan(
        attended(dialect(name), read, {.adds_mask = true})(0, 0, 0, 0)))
        << name;
  }
  const auto read = read_mask(dialect("torch-sdpa"), mask, kSizes).value();
  EXPECT_EQ(
      attended(dialect("torch-sdpa"), read, {.adds_mask = true})(0, 0, 0, 0),
      0);
}

// Its models take a mask of rank 4 as it is: true adds 1 to a score.
TEST(DialectMaskTest, TransformersAddsBoolsOfRankFour) {
  const std::vector<std::uint8_t> first = {1, 0, 0, 0, 0, 0};
  for (const Array& mask :
       {bools({1, 1, 2, 3}, first), ints({1, 1, 2, 3}, {1, 0, 0, 0, 0, 0})}) {
    const auto read = read_mask(dialect("transformers"), mask, kSizes).value();
    const auto output = attended(dialect("transformers"), read);
    const float e = std::exp(1.0F);
    EXPECT_FLOAT_EQ(output(0, 0, 0, 0), (e + 2 + 4) / (e + 2));
    EXPECT_FLOAT_EQ(output(0, 1, 0, 0), kAll);
  }
}

TEST(DialectMaskTest, TwoAddedMasksMakeOneBias) {
  const float inf = INFINITY;
  const float lowest = std::numeric_limits<float>::lowest();
  const Dialect& torch = dialect("torch-mha");
  const auto rows = read_mask(
      torch, floats({2, 3}, {0, 0, -inf, lowest, lowest, lowest}), kSizes);
  const auto padding =
      read_key_padding(torch, floats({2, 3}, {-inf, 0, 0, 0, 0, 0}), kSizes);
  const auto sum = sum_of(*rows, *padding, kSizes).value();
  const auto output = attended(torch, sum);
  EXPECT_FLOAT_EQ(output(0, 0, 0, 0), 2);
  EXPECT_FLOAT_EQ(output(0, 1, 0, 0), kLastTwo);
  EXPECT_FLOAT_EQ(output(1, 0, 0, 0), kFirstTwo);
  EXPECT_FLOAT_EQ(output(1, 1, 1, 0), kAll);
  // Twice the lowest number is -inf, as in PyTorch.
  const auto twice = sum_of(*rows, *rows, kSizes).value();
  EXPECT_EQ(attended(torch, twice)(0, 1, 0, 0), 0);
}

// An added -1e4 leaves the scores: the masked keys come back where no other is.
TEST(DialectMaskTest, OnnxRuntimesFillIsAddedAndKeepsScores) {
  const auto mask = read_mask(dialect("ort-contrib"),
                              ints({2, 3}, {0, 0, 0, 1, 0, 0}), kSizes)
                        .value();
  const auto query = filled<float, 4>({2, 2, 2, 1}, 1.0F);
  auto key = filled<float, 4>({2, 3, 2, 1}, 0.0F);
  for (std::size_t h = 0; h < 2; ++h) {
    key(0, 2, h, 0) = 30;
  }
  auto value = filled<float, 4>({2, 3, 2, 1}, 1.0F);
  for (std::size_t h = 0; h < 2; ++h) {
    value(0, 2, h, 0) = 4;
    value(1, 2, h, 0) = 4;
  }
  auto output = filled<float, 4>({2, 2, 2, 1}, 0.0F);
  attention(query, key, value, output, {.bias = mask.bias()}).value();
  EXPECT_NEAR(output(0, 0, 0, 0), 4, 1e-4);
  EXPECT_FLOAT_EQ(output(1, 0, 0, 0), 1);
}

TEST(DialectMaskTest, KeyPaddingHasTheLibrarysPolarity) {
  const Array padding = bools({2, 3}, {1, 0, 0, 1, 0, 0});
  const auto output = [&](const char* name) {
    const auto mask = read_key_padding(dialect(name), padding, kSizes).value();
    return attended(dialect(name), mask)(0, 0, 0, 0);
  };
  EXPECT_FLOAT_EQ(output("torch-mha"), kLastTwo);
  EXPECT_FLOAT_EQ(output("keras"), kFirst);
}

TEST(DialectMaskTest, MasksThatTheLibraryRefusesAreErrors) {
  struct Refused {
    const char* dialect;
    Array mask;
    ErrorCode code;
    const char* given;
    const char* expected;
  };
  const std::vector<std::uint8_t> any(48, 1);
  const std::vector<Refused> cases = {
      {"torch-mha", bools({2, 2, 3}, any), ErrorCode::shape_mismatch,
       "(2, 2, 3)", "(B * H, Lq, Lkv) = (4, 2, 3)"},
      {"torch-mha", bools({2, 2, 2, 3}, any), ErrorCode::shape_mismatch,
       "(2, 2, 2, 3)", "(Lq, Lkv) = (2, 3); (B * H, Lq, Lkv) = (4, 2, 3)"},
      {"torch-mha", bools({1, 3}, any), ErrorCode::shape_mismatch, "(1, 3)",
       "(2, 3)"},
      {"torch-sdpa", ints({2, 3}, std::vector<std::int64_t>(6, 1)),
       ErrorCode::invalid_argument, "int64", "bool; float"},
      {"torch-sdpa", bools({2, 2}, any), ErrorCode::shape_mismatch, "(2, 2)",
       "(2, 3)"},
      {"torch-sdpa", bools({3}, any), ErrorCode::shape_mismatch, "(3)",
       "(Lq, Lkv) = (2, 3)"},
      {"jax", bools({2, 2, 3}, any), ErrorCode::shape_mismatch, "(2, 2, 3)",
       "(B, H, Lq, Lkv) = (2, 2, 2, 3)"},
      {"jax", floats({2, 2, 2, 3}, std::vector<float>(24, 0)),
       ErrorCode::invalid_argument, "float32", "bool"},
      {"d2l", bools({2, 3}, any), ErrorCode::shape_mismatch, "(2, 3)",
       "(B, Lq) = (2, 2)"},
      {"d2l", bools({2, 2}, any), ErrorCode::invalid_argument, "bool", "int"},
      {"flash-attention", bools({2, 3}, any), ErrorCode::unsupported, "(2, 3)",
       "flash-attention"},
      {"keras", bools({3}, any), ErrorCode::shape_mismatch, "(3)",
       "(Lq, Lkv) = (2, 3)"},
      {"onnx-1.23", bools({2, 4}, any), ErrorCode::shape_mismatch, "(2, 4)",
       "(2, 3)"}};
  for (const Refused& refused : cases) {
    SCOPED_TRACE(std::string(refused.dialect) + " " + refused.given);
    const auto mask = read_mask(dialect(refused.dialect), refused.mask, kSizes);
    EXPECT_THAT(mask, IsError(refused.code, "mask"));
    EXPECT_THAT(mask, HasGiven(refused.given));
    EXPECT_THAT(mask, HasExpected(refused.expected));
  }
}

TEST(DialectMaskTest, WithoutABatchJaxTakesRankThree) {
  MaskSizes sizes = kSizes;
  sizes.B = 1;
  sizes.batched = false;
  EXPECT_TRUE(read_mask(dialect("jax"),
                        bools({2, 2, 3}, std::vector<std::uint8_t>(12, 1)),
                        sizes));
}

TEST(DialectsTest, EachNameIsFoundOnce) {
  EXPECT_EQ(dialects().size(), 13U);
  for (const Dialect& dialect : dialects()) {
    EXPECT_EQ(find_dialect(dialect.name), &dialect);
  }
  EXPECT_EQ(find_dialect("torch"), nullptr);
}

TEST(DialectsTest, CausalMasksAreAlignedAsTheLibraryDoes) {
  const AttentionShape shape{.B = 1, .Hq = 1, .Hkv = 1, .Lq = 2, .Lkv = 5};
  const auto start = [&](const char* name, std::size_t past) {
    return causal_start(dialect(name), past).of(0, shape);
  };
  for (const char* name : {"torch-mha", "torch-sdpa", "keras", "jax", "flax",
                           "ort-contrib", "d2l", "fill-1e12", "fill-1e10"}) {
    EXPECT_EQ(start(name, 3), 0) << name;
  }
  for (const char* name : {"flash-attention", "transformers"}) {
    EXPECT_EQ(start(name, 0), 3) << name;
  }
  EXPECT_EQ(start("onnx-1.23", 0), 0);
  EXPECT_EQ(start("onnx-1.23", 3), 3);
}

TEST(DialectsTest, WeightsAreReturnedAsTheLibraryDoes) {
  const auto form = [](const char* name, bool dropout) {
    AttentionOptions options;
    apply_dialect(dialect(name), {.returns_weights = true, .dropout = dropout},
                  options);
    return options.attn_weights;
  };
  EXPECT_EQ(form("torch-mha", false), AttnWeights::mean);
  EXPECT_EQ(form("torch-mha", true), AttnWeights::after_dropout);
  EXPECT_EQ(form("transformers", true), AttnWeights::after_dropout);
  EXPECT_EQ(form("keras", true), AttnWeights::per_head);
  EXPECT_EQ(form("fill-1e10", true), AttnWeights::per_head);
}

}  // namespace
}  // namespace headwise::testing_support
