// A call that is cut into calls on its parts: the bits are those of one call.
#include "attention/call_part.h"

#include <gtest/gtest.h>

#include <vector>

#include "attention/attention_call.h"
#include "attention/key_parts.h"
#include "support/tensors.h"

namespace headwise::testing_support {
namespace {

using internal::CallPart;
using internal::options_of_part;
using internal::OptionsOfPart;
using internal::part_along;
using internal::PartRange;
using internal::whole_call;

// The parts of (B, Lq, Hq, D) and (B, Hq, Lq, ...).
template <class T>
TensorView<T, 4> queries_of(TensorView<T, 4> x, const CallPart& part) {
  return part_along(0,
                    part_along(1, part_along(2, x, part.heads), part.queries),
                    part.sequences);
}
template <class T, std::size_t Rank>
TensorView<T, Rank> rows_of(TensorView<T, Rank> x, const CallPart& part) {
  return part_along(0,
                    part_along(1, part_along(2, x, part.queries), part.heads),
                    part.sequences);
}
TensorView<const float, 4> keys_of(TensorView<const float, 4> x,
                                   const CallPart& part) {
  return part_along(0,
                    part_along(1, part_along(2, x, part.kv_heads), part.keys),
                    part.sequences);
}

// The whole call, and where its parts write what they have of its outputs.
struct CutCall {
  const AttentionShape& shape;  // with its offsets and kv_groups
  const Inputs<float>& in;
  const AttentionOptions& options;
  const OperationOptions& operation_options;
  PartOutputs out{shape};
  StateTensors state{shape};

  // Key part n of `count`.
  void attend(const CallPart& part, std::size_t n, std::size_t count) {
    Result<OptionsOfPart> cut =
        options_of_part(shape, options, operation_options, part);
    ASSERT_TRUE(cut) << cut.error().message();
    cut->operation_options.key_part = key_part(n, count);
    AttentionOutputs outputs;
    if (n + 1 == count) {
      outputs = {.output = queries_of(out.output.view(), part),
                 .lse = rows_of(out.lse.view(), part),
                 .softmax_rows = rows_of(out.softmax_rows.view(), part)};
    }
    if (count != 1) {
      outputs.state = {rows_of(state.softmax_rows.view(), part),
                       queries_of(state.context.view(), part)};
    }
    const OptionsOfPart moved = *std::move(cut);  // its numbers stay
    const Status s = attention(queries_of(view_of(in.query), part),
                               keys_of(view_of(in.key), part),
                               keys_of(view_of(in.value), part), outputs,
                               moved.options, moved.operation_options);
    EXPECT_TRUE(s) << s.error().message();
  }
};

struct HeadPart {
  PartRange heads;
  PartRange kv_heads;
};

// The heads of each of two ranges of key heads; of even groups also the first,
// the second, ... heads of all groups.
std::vector<std::vector<HeadPart>> head_cuts(const AttentionShape& shape) {
  const auto first_groups = [&](std::size_t g) {
    return HeadPart{{0, shape.first_query_head(g)}, {0, g}};
  };
  const auto last_groups = [&](std::size_t g) {
    const std::size_t h = shape.first_query_head(g);
    return HeadPart{{h, shape.Hq - h}, {g, shape.Hkv - g}};
  };
  std::vector<std::vector<HeadPart>> cuts = {{first_groups(shape.Hkv)}};
  if (shape.Hkv > 1) {
    cuts.push_back({first_groups(1), last_groups(1)});
  }
  const std::size_t size = shape.Hq / shape.Hkv;
  if (shape.kv_groups.even() && size > 1) {
    std::vector<HeadPart>& nth = cuts.emplace_back();
    for (std::size_t h = 0; h < size; ++h) {
      nth.push_back({{h, shape.Hkv, size}, {0, shape.Hkv}});
    }
  }
  return cuts;
}

std::vector<PartRange> ranges(const std::vector<std::size_t>& cuts,
                              std::size_t end) {
  std::vector<PartRange> ranges;
  for (std::size_t n = 0; n < cuts.size(); ++n) {
    ranges.push_back(
        {cuts[n], (n + 1 < cuts.size() ? cuts[n + 1] : end) - cuts[n]});
  }
  return ranges;
}

// In all ways of cutting: sequences and queries in two, heads as above.
testing::AssertionResult same_in_parts(const AttentionShape& tensors,
                                       const Inputs<float>& in,
                                       const OptionsCase& call,
                                       const std::vector<std::size_t>& keys) {
  const AttentionShape shape =
      AttentionSpec::create(tensors, call.options, call.operation_options)
          .value()
          .shape;
  const PartOutputs want =
      attend_to_all(in, tensors, call.options, call.operation_options);
  for (const auto& heads : head_cuts(shape)) {
    CutCall cut = {shape, in, call.options, call.operation_options};
    for (const HeadPart& head_part : heads) {
      for (const PartRange& sequences : ranges({0, 1}, shape.B)) {
        for (const PartRange& queries : ranges({0, shape.Lq / 3}, shape.Lq)) {
          const auto parts = ranges(keys, shape.Lkv);
          for (std::size_t n = 0; n < parts.size(); ++n) {
            cut.attend({sequences, head_part.heads, head_part.kv_heads, queries,
                        parts[n]},
                       n, parts.size());
          }
        }
      }
    }
    if (auto same = same_bits(cut.out, want); !same) {
      return same << ", " << call.name << ", " << heads.size()
                  << " parts of the heads";
    }
  }
  return testing::AssertionSuccess();
}

const std::vector<AttentionShape> kCutShapes = {
    {.B = 2, .Hq = 4, .Hkv = 2, .Lq = 20, .Lkv = 300, .D = 5, .Dv = 3},
    {.B = 3, .Hq = 3, .Hkv = 3, .Lq = 7, .Lkv = 256, .D = 4, .Dv = 4}};

bool has_blocks_in_place(const AttentionSpec& spec) {
  for (std::size_t b = 0; b < spec.shape.B; ++b) {
    if (spec.mask.first_key(b) % 128 != 0) {
      return false;
    }
  }
  return true;
}

TEST(CallPartTest, PartsOfQueriesHeadsSequencesAndKeysHaveTheBitsOfOneCall) {
  for (const AttentionShape& shape : kCutShapes) {
    const Inputs<float> in = random_inputs(shape, 7300);
    const EveryMask every_mask(shape, true);
    for (OptionsCase call : every_options(every_mask)) {
      call.options = options_of_parts(call.options);
      if (has_blocks_in_place(
              AttentionSpec::create(shape, call.options, call.operation_options)
                  .value())) {
        EXPECT_TRUE(same_in_parts(shape, in, call, {0, 128, 256}));
      }
    }
  }
}

TEST(CallPartTest, PartsWithAllKeysTakeTheOptionsThatNeedAllKeys) {
  const AttentionShape& shape = kCutShapes[0];
  const Inputs<float> in = random_inputs(shape, 7310);
  const EveryMask every_mask(shape, true);
  for (OptionsCase call : every_options(every_mask)) {
    call.options.attn_weights = AttnWeights::none;
    call.options.scores = ScoresStage::none;
    EXPECT_TRUE(same_in_parts(shape, in, call, {0}));
  }
}

// What every_options() has not.
TEST(CallPartTest, NumbersPerSequenceSharedIdsAndUnevenGroupsAreCut) {
  const AttentionShape& shape = kCutShapes[0];
  const Inputs<float> in = random_inputs(shape, 7320);
  const auto aligned = tensor_of<std::int64_t, 1>({2}, {256, 128});
  const auto query_starts = tensor_of<std::int64_t, 1>({2}, {270, 3});
  std::vector<std::int64_t> query_ids(shape.Lq);
  std::vector<std::int64_t> key_ids(shape.Lkv);
  for (std::size_t j = 0; j < shape.Lkv; ++j) {
    key_ids[j] = static_cast<std::int64_t>(j / 70);
  }
  for (std::size_t i = 0; i < shape.Lq; ++i) {
    query_ids[i] = static_cast<std::int64_t>(i / 4);
  }
  const Mask ids = documents(TensorView<const std::int64_t, 1>(query_ids),
                             TensorView<const std::int64_t, 1>(key_ids));
  const OptionsCase cases[] = {
      {"key_starts", {.mask = key_starts(aligned)}},
      {"query_starts",
       {.mask = causal() & window(200, 0), .query_start = query_starts}},
      {"first keys", {.mask = window(40, 0, 130), .query_start = query_starts}},
      {"first keys beyond a part",
       {.mask = window(2, 1, 280), .query_start = 290}},
      {"shared ids", {.mask = ids}}};
  for (OptionsCase call : cases) {
    EXPECT_TRUE(same_in_parts(shape, in, call, {0, 128, 256}));
    call.operation_options.kv_groups = groups_of({1, 3});
    EXPECT_TRUE(same_in_parts(shape, in, call, {0, 256}));
  }
}

TEST(CallPartTest, DropoutOfAKeepMaskAndOfSequenceIdsIsCut) {
  const AttentionShape& shape = kCutShapes[0];
  const Inputs<float> in = random_inputs(shape, 7330);
  const auto keep =
      coin_tosses<4>({shape.B, shape.Hq, shape.Lq, shape.Lkv}, 7331, 0.5);
  const auto ids = tensor_of<std::int64_t, 1>({2}, {9, 4});
  const std::vector<std::size_t> keys = {0, 128, 256};
  EXPECT_TRUE(same_in_parts(
      shape, in, {"keep_mask", {.dropout = {.p = 0.5, .keep_mask = keep}}},
      keys));
  EXPECT_TRUE(same_in_parts(
      shape, in,
      {"sequence_ids",
       {.query_start = 3,
        .dropout = {.p = 0.5, .training = true, .sequence_ids = ids}}},
      keys));
  const auto more =
      coin_tosses<4>({shape.B, shape.Hq, shape.Lq, shape.Lkv + 1}, 7332, 0.5);
  EXPECT_TRUE(same_in_parts(shape, in,
                            {"keep_mask of added keys",
                             {.dropout = {.p = 0.5, .keep_mask = more}},
                             {.added_keys = {.zero_attn = true}}},
                            keys));
}

TEST(CallPartTest, ASequenceOfARaggedBatchIsAPart) {
  const AttentionShape tensors = {
      .B = 1, .Hq = 4, .Hkv = 2, .Lq = 40, .Lkv = 600, .D = 4, .Dv = 4};
  const Inputs<float> in = random_inputs(tensors, 7340);
  const auto queries = tensor_of<std::int64_t, 1>({4}, {0, 7, 7, 40});
  const auto keys = tensor_of<std::int64_t, 1>({4}, {0, 200, 300, 600});
  const AttentionShape longest = {
      .B = 3, .Hq = 4, .Hkv = 2, .Lq = 33, .Lkv = 300, .D = 4, .Dv = 4};
  const EveryMask every_mask(longest, true);
  const auto lengths = tensor_of<std::int64_t, 1>({3}, {150, 30, 290});
  const auto keep = coin_tosses<4>({3, 4, 33, 300}, 7341, 0.5);
  const OptionsCase cases[] = {
      {"dropout", {.dropout = {.p = 0.5, .training = true}}},
      {"keep_mask", {.dropout = {.p = 0.5, .keep_mask = keep}}},
      {"causal", {.mask = causal(), .query_start = QueryStart::bottom_right()}},
      {"lengths", {.mask = key_lengths(lengths) & window(150, 20)}},
      {"bias", {.bias = every_mask.biases().finite(), .query_start = 20}}};
  for (OptionsCase call : cases) {
    call.options.offsets = {queries, keys};
    const PartOutputs want = attend_to_all(in, tensors, call.options, {});
    const AttentionShape shape =
        AttentionSpec::create(tensors, call.options).value().shape;
    PartOutputs got(tensors);
    StateTensors state(tensors);
    for (std::size_t b = 0; b < shape.B; ++b) {
      const SequencePlace place = shape.sequence(b);
      for (const PartRange& rows : ranges({0, place.Lq / 2}, place.Lq)) {
        const auto parts = ranges({0, 128}, place.Lkv);
        for (std::size_t n = 0; n < (place.Lkv > 128 ? 2u : 1u); ++n) {
          CallPart part = whole_call(shape);
          part.sequences = {b, 1};
          part.queries = rows;
          part.keys = place.Lkv > 128 ? parts[n] : PartRange{0, place.Lkv};
          auto cut = options_of_part(shape, call.options, {}, part).value();
          EXPECT_FALSE(cut.options.offsets.ragged());
          const bool all = place.Lkv <= 128;
          cut.operation_options.key_part = all ? KeyPart::all : key_part(n, 2);
          const PartRange q = {place.first_query + rows.first, rows.count};
          const PartRange k = {place.first_key + part.keys.first,
                               part.keys.count};
          AttentionOutputs outputs;
          if (all || n == 1) {
            outputs.output = part_along(1, got.output.view(), q);
            outputs.lse = part_along(2, got.lse.view(), q);
            outputs.softmax_rows = part_along(2, got.softmax_rows.view(), q);
          }
          if (!all) {
            outputs.state = {part_along(2, state.softmax_rows.view(), q),
                             part_along(1, state.context.view(), q)};
          }
          const Status s =
              attention(part_along(1, view_of(in.query), q),
                        part_along(1, view_of(in.key), k),
                        part_along(1, view_of(in.value), k), outputs,
                        cut.options, cut.operation_options);
          EXPECT_TRUE(s) << s.error().message();
        }
      }
    }
    EXPECT_TRUE(same_bits(got, want)) << call.name;
  }
}

TEST(CallPartTest, WhatDependsOnPlacesInTheWholeCallIsRefused) {
  const AttentionShape& shape = kCutShapes[0];
  CallPart part = whole_call(shape);
  OperationOptions with_statistics;
  with_statistics.statistics.rows = true;
  EXPECT_EQ(options_of_part(shape, {}, with_statistics, part).error().message(),
            "attention: statistics is asked for, expected none in a part of a "
            "call");
  // A part that ends with a shorter sequence has no place for their columns.
  AttentionShape ragged = shape;
  const auto offsets = tensor_of<std::int64_t, 1>({3}, {0, 5, 8});
  ragged.offsets = {offsets, offsets};
  part.sequences = {1, 1};
  part.keys = {0, 3};
  const auto keep =
      coin_tosses<4>({shape.B, shape.Hq, shape.Lq, shape.Lkv + 1}, 7360, 0.5);
  EXPECT_EQ(options_of_part(ragged, {.dropout = {.p = 0.5, .keep_mask = keep}},
                            {.added_keys = {.zero_attn = true}}, part)
                .error()
                .message(),
            "attention: dropout.keep_mask is given, expected none for added "
            "keys in a part of a ragged batch");
}

}  // namespace
}  // namespace headwise::testing_support
