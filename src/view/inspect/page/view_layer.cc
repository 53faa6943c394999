#include "inspect/page/view_layer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "attention/call_part.h"
#include "base/check.h"
#include "base/check_exact.h"
#include "base/copy_of.h"
#include "headwise/base/half.h"
#include "headwise/inspect/view_page.h"
#include "headwise/inspect/weights_statistics.h"
#include "headwise/steps/mask.h"
#include "inspect/page/head_numbers.h"
#include "inspect/position_statistics.h"
#include "inspect/weights_spec.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr float kLargestHalf = 65504;
// More known keys give a tighter bound on the error.
constexpr std::size_t kTopKeysForError = 64;

template <class T>
Status take(Result<T> made, T& place) {
  HEADWISE_TRY(made);
  place = *std::move(made);
  return ok();
}

// The same with head size 0, because there are no values and no output.
Extents<4> without_features(Extents<4> extents) {
  extents[3] = 0;
  return extents;
}

// Rows [first, first + rows) of x(b, h), the first `columns` of each.
template <class T>
TensorView<const T, 2> rows_of(TensorView<const T, 4> view, std::size_t b,
                               std::size_t h, std::size_t first,
                               const Extents<2>& extents) {
  return {view.data() + static_cast<std::ptrdiff_t>(b) * view.stride(0) +
              static_cast<std::ptrdiff_t>(h) * view.stride(1) +
              static_cast<std::ptrdiff_t>(first) * view.stride(2),
          extents,
          {view.stride(2), view.stride(3)}};
}
TensorView<const float, 1> row_of(TensorView<const float, 3> x, std::size_t b,
                                  std::size_t h, std::size_t first,
                                  std::size_t count) {
  return {x.data() + static_cast<std::ptrdiff_t>(b) * x.stride(0) +
              static_cast<std::ptrdiff_t>(h) * x.stride(1) +
              static_cast<std::ptrdiff_t>(first) * x.stride(2),
          {count},
          {x.stride(2)}};
}

// `rows` of a sequence, (1, rows, H, D).
TensorView<const float, 4> sequence_of(TensorView<const float, 4> x,
                                       std::size_t b, std::size_t first,
                                       std::size_t rows) {
  return {x.data() + static_cast<std::ptrdiff_t>(b) * x.stride(0) +
              static_cast<std::ptrdiff_t>(first) * x.stride(1),
          {1, rows, x.extent(2), x.extent(3)},
          x.strides()};
}
TensorView<const float, 2> head_of(TensorView<const float, 4> x,
                                   std::size_t h) {
  return {x.data() + static_cast<std::ptrdiff_t>(h) * x.stride(2),
          {x.extent(1), x.extent(3)},
          {x.stride(1), x.stride(3)}};
}

Status check_sequence(std::size_t sequence, std::size_t batch) {
  return sequence < batch ? ok()
                          : Status(value_error(
                                kViewPage, "sequence", std::to_string(sequence),
                                message("less than the batch's {}", batch),
                                ErrorCode::out_of_range));
}

// Which pairs have weight in any head. Returns whether some have none.
bool fill_has_weight(TensorView<const float, 4> weights, std::size_t b,
                     Tensor<bool, 2>& has_weight) {
  for (std::size_t h = 0; h < weights.extent(1); ++h) {
    for (std::size_t i = 0; i < weights.extent(2); ++i) {
      for (std::size_t j = 0; j < weights.extent(3); ++j) {
        has_weight(i, j) |= weights(b, h, i, j) > 0;
      }
    }
  }
  return std::ranges::count(has_weight.elements(), false) != 0;
}

// To binary16.
Result<Tensor<float, 4>> rounded(TensorView<const float, 4> x) {
  auto copy = copy_of(x);
  if (copy) {
    std::ranges::transform(copy->elements(), copy->data(), [](float value) {
      return widened(narrowed_to_float16(value));
    });
  }
  return copy;
}

// Whether a page of many pairs is smaller with the bytes of attention weights
// than with the binary16 numbers of query and key. One of few pairs is small
// either way.
bool map_is_smaller(const AttentionShape& shape, const SequencePlace& place) {
  const std::size_t elements =
      shape.D * (place.Lq * shape.Hq + place.Lkv * shape.Hkv);
  return place.Lq * place.Lkv > kPairsPooledByPage &&
         place.Lq * place.Lkv * shape.Hq < 2 * elements;
}

// Without values and an output.
Result<AttentionStatistics> statistics_of(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    AttentionOutputs outputs, const AttentionOptions& options,
    const OperationOptions& operation_options) {
  outputs.output = {nullptr, without_features(query.extents())};
  return attention_statistics(query, key,
                              {nullptr, without_features(key.extents())},
                              outputs, options, operation_options);
}

Status check_supported(const AttentionSpec& spec, bool maps) {
  if (!maps && (spec.bias.given() || spec.additive())) {
    return value_error(kViewPage, spec.bias.given() ? "bias" : "score_weight",
                       "given",
                       message("none with more than {} queries or keys, where "
                               "the page computes the scores",
                               kMostMapLength),
                       ErrorCode::unsupported);
  }
  return ok();
}

}  // namespace

Result<ShownLayer> ShownLayer::create(
    TensorView<const float, 4> query, TensorView<const float, 4> key,
    const AttentionOptions& options, const OperationOptions& operation_options,
    std::size_t sequence, std::optional<bool> elements, WeightsMemory memory) {
  HEADWISE_ASSIGN(const auto shape,
                  attention_shape(query.extents(), key.extents(),
                                  without_features(key.extents())));
  HEADWISE_TRY(check_exact(kViewPage, options.arithmetic));
  OperationOptions asked = operation_options;
  asked.statistics.rows = true;  // there are no values
  HEADWISE_ASSIGN(auto spec,
                  AttentionSpec::create(shape, options, asked, kViewPage));
  HEADWISE_TRY(check_sequence(sequence, spec.shape.B));
  ShownLayer layer(std::move(spec));
  const SequencePlace place = layer.spec_.shape.sequence(sequence);
  layer.sequence_ = sequence;
  layer.maps_ = std::max(place.Lq, place.Lkv) <= kMostMapLength;
  layer.can_compute_ = !layer.spec_.bias.given() && !layer.spec_.additive();
  layer.elements_ =
      !layer.maps_ || (layer.can_compute_ && elements.value_or(!map_is_smaller(
                                                 layer.spec_.shape, place)));
  layer.query_ = sequence_of(query, place.batch, place.first_query,
                             layer.spec_.statistics.queries(sequence));
  layer.key_ = sequence_of(key, place.batch, place.first_key, place.Lkv);
  const float largest =
      layer.elements_ ? kLargestHalf : std::numeric_limits<float>::max();
  HEADWISE_TRY(check_supported(layer.spec_, layer.maps_));
  HEADWISE_TRY(check_elements("query", layer.query_,
                              {place.batch, place.first_query}, largest));
  HEADWISE_TRY(check_elements("key", layer.key_, {place.batch, place.first_key},
                              largest));
  layer.computed_weights_ = std::move(memory.weights);
  layer.rounded_weights_ = std::move(memory.rounded);
  HEADWISE_TRY(layer.compute(query, key, options, operation_options));
  if (layer.maps_ && layer.elements_) {
    HEADWISE_TRY(layer.compute_rounded(options, operation_options));
  }
  return layer;
}

Result<ShownLayer> ShownLayer::of(const ViewedLayer& layer,
                                  const AttentionOptions& options,
                                  const OperationOptions& operation_options,
                                  std::size_t sequence,
                                  std::optional<bool> elements,
                                  WeightsMemory memory) {
  HEADWISE_ASSIGN(
      auto shown,
      layer.has_weights()
          ? of_weights(layer.attn_weights, options, operation_options, sequence)
          : create(layer.query, layer.key, options, operation_options, sequence,
                   elements, std::move(memory)));
  HEADWISE_TRY(shown.take_norms(layer));
  HEADWISE_TRY(shown.take_gradient(layer.gradient));
  HEADWISE_TRY(shown.take_integrated(layer));
  return shown;
}

Status ShownLayer::take_norms(const ViewedLayer& layer) {
  const TensorView<const float, 3> key_norms = layer.key_norms;
  if (key_norms.data() == nullptr) {
    return ok();
  }
  const AttentionShape& sizes = spec_.shape;
  HEADWISE_TRY(check_shape(kViewPage, "key_norms", key_norms.extents(),
                           "(B, Hq, Lkv)",
                           {{sizes.batches(), sizes.Hq, sizes.key_rows()}}));
  const SequencePlace place = sizes.sequence(sequence_);
  for (std::size_t h = 0; h < sizes.Hq; ++h) {
    for (std::size_t j = place.first_key; j < place.first_key + keys(); ++j) {
      const float norm = key_norms(place.batch, h, j);
      if (!(norm >= 0 && std::isfinite(norm))) {
        return value_error(
            kViewPage,
            "key_norms[" + std::to_string(place.batch) + ", " +
                std::to_string(h) + ", " + std::to_string(j) + "]",
            number_text(static_cast<double>(norm)),
            "a finite number of at least 0", ErrorCode::bad_data);
      }
    }
  }
  if (!maps_ && layer.norm_map.data() != nullptr) {
    HEADWISE_TRY(check_shape(
        kViewPage, "norm_map", layer.norm_map.extents(),
        "(B, Hq, rows, columns)",
        {{sizes.B, sizes.Hq, map_size(queries()), map_size(keys())}}));
    norm_map_ = layer.norm_map;
  }
  key_norms_ = key_norms;
  return ok();
}

Status ShownLayer::take_gradient(const ViewedGradient& gradient) {
  if (!gradient.given()) {
    return ok();
  }
  HEADWISE_TRY(check_gradient(gradient, spec_.shape, {queries(), keys()}));
  const SequencePlace place = spec_.shape.sequence(sequence_);
  constexpr float kAnyFinite = std::numeric_limits<float>::max();
  HEADWISE_TRY(check_elements("d_context",
                              sequence_of(gradient.d_context, place.batch,
                                          place.first_query, queries()),
                              {place.batch, place.first_query}, kAnyFinite));
  HEADWISE_TRY(check_elements(
      "value",
      sequence_of(gradient.value, place.batch, place.first_key, keys()),
      {place.batch, place.first_key}, kAnyFinite));
  gradient_ = gradient;
  return ok();
}

Status ShownLayer::take_integrated(const ViewedLayer& layer) {
  const std::pair<std::string_view, std::span<const double>> given[] = {
      {"integrated", layer.integrated},
      {"integrated_by_layer", layer.integrated_by_layer}};
  for (const auto& [name, numbers] : given) {
    if (!numbers.empty()) {
      HEADWISE_TRY(check_shape(kViewPage, name, {{numbers.size()}}, "(Hq)",
                               {{spec_.shape.Hq}}));
    }
    for (std::size_t h = 0; h < numbers.size(); ++h) {
      HEADWISE_TRY(check_finite(name, {h}, numbers[h]));
    }
  }
  integrated_ = layer.integrated;
  integrated_by_layer_ = layer.integrated_by_layer;
  return ok();
}

Result<ShownLayer> ShownLayer::of_weights(
    TensorView<const float, 4> attn_weights, AttentionOptions options,
    OperationOptions operation_options, std::size_t sequence) {
  const auto [B, H, Lq, Lkv] = attn_weights.extents();
  if (std::max(Lq, Lkv) > kMostMapLength) {
    return Error{ErrorCode::unsupported,
                 {.operation = std::string(kViewPage),
                  .argument = "attn_weights",
                  .given = message(Lq == 1    ? "has {} query and {} keys"
                                   : Lkv == 1 ? "has {} queries and {} key"
                                              : "has {} queries and {} keys",
                                   Lq, Lkv),
                  .expected = message("at most {}", kMostMapLength)}};
  }
  HEADWISE_TRY(check_sequence(sequence, B));
  HEADWISE_ASSIGN(auto has_weight, Tensor<bool, 2>::create({Lq, Lkv}));
  if (fill_has_weight(attn_weights, sequence, has_weight)) {
    constexpr std::array<Axis, 2> kAxes = {Axis::Lq, Axis::Lkv};
    options.mask =
        options.mask & dense(std::as_const(has_weight).view(), kAxes);
  }
  operation_options.statistics.rows = true;
  operation_options.statistics.map = true;
  operation_options.statistics.columns = true;
  operation_options.statistics.top_keys = kPageTopKeys;
  HEADWISE_ASSIGN(auto spec, weights_spec(attn_weights, options,
                                          operation_options, kViewPage));
  ShownLayer layer(std::move(spec));
  layer.sequence_ = sequence;
  layer.elements_ = false;
  layer.can_compute_ = false;
  layer.weights_only_ = true;
  layer.query_ = {nullptr, {1, layer.spec_.statistics.queries(sequence), H, 0}};
  layer.key_ = {nullptr, {1, Lkv, H, 0}};
  layer.attn_weights_ = attn_weights;
  layer.has_weight_ = std::move(has_weight);
  HEADWISE_TRY(
      take(weights_statistics(attn_weights, layer.spec_), layer.statistics_));
  return layer;
}

Status ShownLayer::compute(TensorView<const float, 4> query,
                           TensorView<const float, 4> key,
                           AttentionOptions options,
                           OperationOptions operation_options) {
  const AttentionShape& sizes = spec_.shape;
  StatisticsOptions& statistics = operation_options.statistics;
  statistics.rows = true;
  statistics.map = true;
  statistics.columns = true;
  statistics.top_keys = !maps_          ? kTopKeysForError
                        : all_numbers() ? kPageTopKeys
                                        : 0;
  options.attn_weights = maps_ ? AttnWeights::per_head : AttnWeights::none;
  options.scores = ScoresStage::none;
  HEADWISE_TRY(take(
      Tensor<float, 3>::create({sizes.batches(), sizes.Hq, sizes.query_rows()}),
      lse_));
  if (maps_) {
    HEADWISE_TRY(take(Tensor<float, 4>::create_unset_in(
                          std::move(computed_weights_),
                          {sizes.B, sizes.Hq, sizes.Lq, sizes.Lkv}),
                      computed_weights_));
    attn_weights_ = computed_weights_;
  }
  return take(statistics_of(query, key,
                            {.attn_weights = computed_weights_, .lse = lse_},
                            options, operation_options),
              statistics_);
}

Status ShownLayer::compute_rounded(AttentionOptions options,
                                   OperationOptions operation_options) {
  HEADWISE_ASSIGN(auto rounded_query, rounded(query_));
  HEADWISE_ASSIGN(auto rounded_key, rounded(key_));
  const std::size_t Hq = spec_.shape.Hq;
  HEADWISE_TRY(
      take(Tensor<float, 3>::create({1, Hq, queries()}), rounded_lse_));
  HEADWISE_TRY(
      take(Tensor<float, 4>::create_unset_in(std::move(rounded_weights_),
                                             {1, Hq, queries(), keys()}),
           rounded_weights_));
  options.attn_weights = AttnWeights::per_head;
  options.scores = ScoresStage::none;
  operation_options.statistics = {};
  internal::CallPart part = internal::whole_call(spec_.shape);
  part.sequences = {sequence_, 1};
  part.queries = {0, queries()};
  HEADWISE_ASSIGN(
      auto own, internal::options_of_part(spec_.shape, options,
                                          operation_options, part, kViewPage));
  own.operation_options.statistics.rows = true;  // there are no values
  const auto done =
      statistics_of(rounded_query, rounded_key,
                    {.attn_weights = rounded_weights_, .lse = rounded_lse_},
                    own.options, own.operation_options);
  return done ? ok() : Status(done.error());
}

WeightsMemory ShownLayer::take_memory() {
  constexpr std::size_t kMostKept = std::size_t{1} << 24U;  // elements
  return computed_weights_.size() > kMostKept
             ? WeightsMemory{}
             : WeightsMemory{std::move(computed_weights_),
                             std::move(rounded_weights_)};
}

TensorView<const float, 2> ShownLayer::key(std::size_t kv_head) const {
  return head_of(key_, kv_head);
}

std::vector<std::size_t> ShownLayer::separators() const {
  std::vector<std::size_t> found;
  for (std::size_t j = 0; j < keys(); ++j) {
    if (spec_.statistics.separator(sequence_, j)) {
      found.push_back(j);
    }
  }
  return found;
}

TensorView<const float, 2> ShownLayer::weights(std::size_t h) const {
  return rows_of(attn_weights_, sequence_, h, 0, {queries(), keys()});
}

ViewedHead ShownLayer::head(std::size_t h) const {
  const SequencePlace place = spec_.shape.sequence(sequence_);
  const auto of_queries = [&]<class T>(const Tensor<T, 4>& x) {
    return rows_of<T>(x, place.batch, h, place.first_query,
                      {queries(), x.extent(3)});
  };
  const Extents<2> cells = {map_size(queries()), map_size(keys())};
  ViewedHead head{
      .query = head_of(query_, h),
      .key = key(spec_.shape.kv_head(h)),
      .rows = of_queries(statistics_.rows),
      .map_largest =
          rows_of<float>(statistics_.map_largest, sequence_, h, 0, cells),
      .map_mean = rows_of<float>(statistics_.map_mean, sequence_, h, 0, cells),
      .columns =
          row_of(statistics_.columns, place.batch, h, place.first_key, keys()),
      .spec = spec_,
      .h = h,
      .query_start = spec_.mask.query_start(sequence_),
      .elements = elements_,
      .all_numbers = all_numbers(),
      .weights_only = weights_only_,
      .separators = has_separator(spec_, sequence_),
      .next = may_attend_to_next(spec_, sequence_, h)};
  if (elements_) {
    head.lse = row_of(lse_, place.batch, h, place.first_query, queries());
  }
  if (maps_) {
    head.attn_weights = weights(h);
  }
  if (maps_ && elements_) {
    head.rounded_lse = row_of(rounded_lse_, 0, h, 0, queries());
    head.rounded_weights =
        rows_of<float>(rounded_weights_, 0, h, 0, {queries(), keys()});
  }
  if (all_numbers()) {
    head.top_keys = of_queries(statistics_.top_keys);
    head.top_weights = of_queries(statistics_.top_weights);
  }
  if (has_norms()) {
    head.key_norms =
        row_of(key_norms_, place.batch, h, place.first_key, keys());
    if (norm_map_.data() != nullptr) {
      head.norm_map = rows_of<float>(norm_map_, sequence_, h, 0, cells);
    }
  }
  if (has_gradient()) {
    head.gradient = HeadGradient{
        .d_context = head_of(sequence_of(gradient_.d_context, place.batch,
                                         place.first_query, queries()),
                             h),
        .value = head_of(
            sequence_of(gradient_.value, place.batch, place.first_key, keys()),
            h),
        .columns =
            row_of(gradient_.columns, place.batch, h, place.first_key, keys()),
        .total = gradient_.totals(place.batch, h)};
    if (!pooled_by_page(queries(), keys())) {
      head.gradient->map =
          rows_of<float>(gradient_.map, sequence_, h, 0, cells);
    }
  }
  if (has_integrated()) {
    head.integrated = integrated_[h];
  }
  if (has_integrated_by_layer()) {
    head.integrated_by_layer = integrated_by_layer_[h];
  }
  return head;
}

}  // namespace headwise::inline HEADWISE_ABI
