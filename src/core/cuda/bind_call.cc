#include "cuda/bind_call.h"

#include <cstdint>
#include <string>

#include "base/check.h"
#include "steps/stored_rule.h"

namespace headwise::inline HEADWISE_ABI::cuda {
namespace {

constexpr double kLog2E = 0x1.71547652b82fep+0;

std::vector<int> as_ints(TensorView<const std::int64_t, 1> numbers) {
  std::vector<int> ints;
  for (std::size_t n = 0; n < numbers.size(); ++n) {
    ints.push_back(static_cast<int>(numbers(n)));
  }
  return ints;
}

template <class T, class List>
OverScores<const T> over_scores(const T* data, const List& strides) {
  OverScores<const T> tensor{data, {}};
  for (std::size_t n = 0; n < 4; ++n) {
    tensor.strides[n] = strides[n];
  }
  return tensor;
}

Status bind_dense_masks(const AttentionSpec& spec, Call& call) {
  const auto add = [&](const OverScores<const bool>& mask) {
    if (call.dense_masks < kMostDenseMasks) {
      call.dense[call.dense_masks] = mask;
    }
    ++call.dense_masks;
  };
  for (const internal::StoredMaskRule& rule : spec.mask.rules()) {
    switch (rule.type->form) {
      case internal::MaskForm::one_interval:  // in the key ranges
        break;
      case internal::MaskForm::booleans: {
        const internal::Booleans values = rule.type->values(rule);
        add(over_scores(values.data, values.strides));
        break;
      }
      case internal::MaskForm::two_intervals:
      case internal::MaskForm::computed:
        return value_error("attention", "mask", std::string(rule.type->name),
                           "masks of one interval of keys for each query, or "
                           "of booleans in memory, on cuda",
                           ErrorCode::unsupported);
    }
  }
  if (call.dense_masks > kMostDenseMasks) {
    return argument_error(
        "attention", "mask",
        message("has {} dense masks on cuda", call.dense_masks),
        message("at most {}", kMostDenseMasks), ErrorCode::unsupported);
  }
  return ok();
}

void bind_dropout(const BoundDropout& dropout, Call& call) {
  call.dropping = dropout.active();
  call.dropout_key[0] = dropout.key()[0];
  call.dropout_key[1] = dropout.key()[1];
  call.dropout_threshold = dropout.threshold();
  call.dropout_factor = static_cast<float>(dropout.factor());
  if (dropout.keep_mask().data() != nullptr) {
    call.keep_mask =
        over_scores(dropout.keep_mask().data(), dropout.keep_mask().strides());
  }
}

}  // namespace

CallLists add_lists(const AttentionSpec& spec,
                    const std::vector<KeyRange>& ranges, Upload& upload) {
  const AttentionShape& shape = spec.shape;
  std::vector<int> query_offsets;
  std::vector<int> key_offsets;
  if (shape.offsets.ragged()) {
    query_offsets = as_ints(shape.offsets.query);
    key_offsets = as_ints(shape.offsets.key);
  }
  std::vector<std::int64_t> starts;
  std::vector<std::uint32_t> ids;
  for (std::size_t b = 0; b < shape.B; ++b) {
    starts.push_back(spec.mask.query_start(b));
    ids.push_back(spec.dropout.sequence_id(b));
  }
  std::vector<float> slopes;
  for (std::size_t h = 0; spec.alibi.given() && h < shape.Hq; ++h) {
    slopes.push_back(static_cast<float>(double{spec.alibi.slope(h)} * kLog2E));
  }
  // In the order of the members.
  return {upload.add(query_offsets), upload.add(key_offsets),
          upload.add(ranges),        upload.add(starts),
          upload.add(slopes),        upload.add(ids)};
}

Result<Call> bind_call(const AttentionSpec& spec,
                       const std::vector<KeyRange>& ranges,
                       const CallLists& lists, std::byte* uploaded) {
  const AttentionShape& shape = spec.shape;
  const auto list = [&]<class T>(const T* /*type*/, std::size_t at,
                                 bool given) -> const T* {
    return given ? reinterpret_cast<const T*>(uploaded + at) : nullptr;
  };
  Call call{};
  call.B = static_cast<int>(shape.B);
  call.Hq = static_cast<int>(shape.Hq);
  call.Hkv = static_cast<int>(shape.Hkv);
  call.group = call.Hq / call.Hkv;
  call.Lq = static_cast<int>(shape.Lq);
  call.Lkv = static_cast<int>(shape.Lkv);
  call.D = static_cast<int>(shape.D);
  call.Dv = static_cast<int>(shape.Dv);
  const bool ragged = shape.offsets.ragged();
  constexpr const int* kInts = nullptr;
  constexpr const KeyRange* kRanges = nullptr;
  constexpr const std::int64_t* kStarts = nullptr;
  constexpr const float* kFloats = nullptr;
  constexpr const std::uint32_t* kWords = nullptr;
  call.query_offsets = list(kInts, lists.query_offsets, ragged);
  call.key_offsets = list(kInts, lists.key_offsets, ragged);
  call.key_ranges = list(kRanges, lists.key_ranges, !ranges.empty());
  call.query_starts = list(kStarts, lists.query_starts, true);
  call.slopes = list(kFloats, lists.slopes, spec.alibi.given());
  call.sequence_ids = list(kWords, lists.sequence_ids, true);
  HEADWISE_TRY(bind_dense_masks(spec, call));
  call.scale = static_cast<float>(spec.scale * kLog2E);
  if (spec.softcap) {
    call.softcap = static_cast<float>(*spec.softcap * kLog2E);
    call.inverse_softcap = 1 / call.softcap;
  }
  if (spec.bias.given()) {
    call.bias = over_scores(spec.bias.data(), spec.bias.strides());
  }
  bind_dropout(spec.dropout, call);
  call.empty_rows = spec.empty_rows;
  return call;
}

}  // namespace headwise::inline HEADWISE_ABI::cuda
