#include "attention/random_call_tensors.h"

#include <algorithm>
#include <numeric>

#include "base/for_number_type.h"
#include "support/half_tensors.h"

namespace headwise::testing_support {

template <class T>
StridedTensor<T>::StridedTensor(const Tensor<float, 4>& from, Layout layout)
    : gap_(layout == Layout::with_gaps ? 2 : 1) {
  const auto [B, L, H, D] = from.extents();
  const bool heads_first = layout == Layout::heads_first;
  memory_.assign(B * L * H * D * gap_, narrowed<T>(kGap));
  Strides<4> strides =
      row_major<4>(heads_first ? Extents<4>{B, H, L, D} : from.extents());
  if (heads_first) {
    std::swap(strides[1], strides[2]);
  }
  for (std::ptrdiff_t& stride : strides) {
    stride *= static_cast<std::ptrdiff_t>(gap_);
  }
  T* first = memory_.data();
  if (layout == Layout::backwards && L > 0) {
    first += static_cast<std::ptrdiff_t>(L - 1) * strides[1];
    strides[1] = -strides[1];
  }
  view_ = {first, from.extents(), strides};
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t l = 0; l < L; ++l) {
      for (std::size_t h = 0; h < H; ++h) {
        for (std::size_t d = 0; d < D; ++d) {
          view_(b, l, h, d) = narrowed<T>(from(b, l, h, d));
        }
      }
    }
  }
}

template <class T>
Tensor<float, 4> StridedTensor<T>::copy() const {
  return widened_to_float(copy_of(view_));
}

template <class T>
bool StridedTensor<T>::gaps_untouched() const {
  const float gap = headwise::widened(narrowed<T>(kGap));
  for (std::size_t n = 1; gap_ == 2 && n < memory_.size(); n += 2) {
    if (headwise::widened(memory_[n]) != gap) {
      return false;
    }
  }
  return true;
}

template class StridedTensor<float>;

Tensor<float, 4> rounded_to(DType dtype, const Tensor<float, 4>& x) {
  return for_number_type(
      dtype, [&](auto number) { return rounded_to<decltype(number)>(x); });
}

RandomCallTensors::RandomCallTensors(const RandomCall& call)
    : call_(call),
      padded_{.B = call.B,
              .Hq = call.query_heads(),
              .Hkv = call.Hkv,
              .Lq = call.Lq,
              .Lkv = call.Lkv,
              .D = call.D,
              .Dv = call.Dv},
      tensors_(padded_),
      executor_(Executor::with_threads(call.threads).value()) {
  std::vector<std::size_t> sizes;
  for (std::size_t g = 0; g < call.Hkv; ++g) {
    sizes.push_back(call.group + call.more[g]);
  }
  kv_groups_ = HeadGroups::create(sizes).value();
  if (call_.has(Feature::ragged)) {
    cut_into_sequences();
  }
  inputs_ = random_inputs(tensors_, call.stream, kRanges[call.range]);
  for (Tensor<float, 4>* x : {&inputs_.query, &inputs_.key, &inputs_.value}) {
    *x = rounded_to(call.dtype, *x);
  }
  if (call_.has(Feature::rotary)) {
    rotation_ =
        RandomRotation(call.D, call.rotary_form, inputs_, call.stream + 28);
    rotation_.rotate(inputs_);
  }
  draw_masks();
  draw_documents();
  const AttentionShape& s = padded_;
  const std::size_t B = call.bias_form == 0 ? s.B : 1;
  const std::size_t H = call.bias_form <= 1 ? s.Hq : 1;
  const std::size_t Lq = call.bias_form <= 2 ? s.Lq : 1;
  bias_ = uniform<4>({B, H, Lq, s.Lkv}, call.stream + 3, -3, 3);
  for (float& x : bias_.elements()) {
    x = x < -2.5f ? kMinusInf : x;
  }
  t5_table_ =
      uniform<2>({4 + call.stream / 32 % 9 * 2, s.Hq}, call.stream + 28, -3, 3);
  slopes_ = uniform<1>({s.Hq}, call.stream + 4, -0.1, 0.5);
  score_weight_ = uniform<2>({s.Hq, s.D}, call.stream + 25, -1, 1);
  sinks_ = uniform<1>({s.Hq}, call.stream + 28, -10, 10);
  for (float& x : sinks_.elements()) {
    x = x < -7 ? kMinusInf : x;
  }
  bias_k_ = uniform<2>({s.Hkv, s.D}, call.stream + 30, -2, 2);
  bias_v_ = uniform<2>({s.Hkv, s.Dv}, call.stream + 31, -2, 2);
}

std::vector<std::int64_t> RandomCallTensors::integers(std::size_t count,
                                                      std::uint32_t part,
                                                      std::int64_t low,
                                                      std::int64_t high) const {
  const auto shares = uniform<1>({count}, call_.stream + part, 0, 1);
  std::vector<std::int64_t> numbers;
  numbers.reserve(count);
  for (const float share : shares.elements()) {
    const auto span = static_cast<double>(high - low + 1);
    numbers.push_back(
        low +
        std::min(static_cast<std::int64_t>(span * double{share}), high - low));
  }
  return numbers;
}

// Sequence 0 is the longest; any other may have no query or no key.
void RandomCallTensors::cut_into_sequences() {
  const auto cut = [&](std::size_t longest, std::uint32_t part) {
    auto lengths =
        integers(call_.B, part, 0, static_cast<std::int64_t>(longest));
    lengths[0] = static_cast<std::int64_t>(longest);
    auto offsets = filled<std::int64_t, 1>({call_.B + 1}, 0);
    std::partial_sum(lengths.begin(), lengths.end(), offsets.data() + 1);
    return offsets;
  };
  query_offsets_ = cut(call_.Lq, 5);
  key_offsets_ = cut(call_.Lkv, 6);
  tensors_.B = 1;
  tensors_.Lq = static_cast<std::size_t>(query_offsets_(call_.B));
  tensors_.Lkv = static_cast<std::size_t>(key_offsets_(call_.B));
}

// Loose, so that several of them together leave most rows some keys.
void RandomCallTensors::draw_masks() {
  const AttentionShape& s = padded_;
  const auto keys = static_cast<std::int64_t>(s.Lkv);
  lengths_ =
      tensor_of<std::int64_t, 1>({s.B}, integers(s.B, 7, keys / 2, keys));
  row_lengths_ = tensor_of<std::int64_t, 2>(
      {s.B, s.Lq}, integers(s.B * s.Lq, 8, keys / 3, keys));
  row_lengths_(0, s.Lq / 2) = 0;
  starts_ = tensor_of<std::int64_t, 1>({s.B}, integers(s.B, 9, 0, keys / 2));
  query_starts_ =
      tensor_of<std::int64_t, 1>({s.B}, integers(s.B, 10, -5, keys));
  padding_ = coin_tosses<2>({s.B, s.Lkv}, call_.stream + 11, 0.8);
  dense_ = coin_tosses<4>({1, s.Hq, s.Lq, s.Lkv}, call_.stream + 12, 0.8);
}

void RandomCallTensors::draw_documents() {
  const AttentionShape& s = padded_;
  const auto ids = [&](std::size_t L, std::uint32_t part) {
    auto rows = Tensor<std::int64_t, 2>::create({s.B, L}).value();
    for (std::size_t b = 0; b < s.B; ++b) {
      // Documents 1 to 3, cut at two random places.
      auto cuts = integers(2, part + static_cast<std::uint32_t>(b), 0,
                           static_cast<std::int64_t>(L));
      std::ranges::sort(cuts);
      for (std::size_t l = 0; l < L; ++l) {
        const auto at = static_cast<std::int64_t>(l);
        rows(b, l) = 1 + (at >= cuts[0] ? 1 : 0) + (at >= cuts[1] ? 1 : 0);
      }
    }
    return rows;
  };
  query_ids_ = ids(s.Lq, 13);
  key_ids_ = ids(s.Lkv, 17);
}

Mask RandomCallTensors::mask() const {
  Mask mask;
  const auto add = [&](Feature feature, const auto& make) {
    if (call_.has(feature)) {
      mask = mask & make();
    }
  };
  const std::int64_t side = integers(1, 21, 0, 300)[0];
  add(Feature::causal, [] { return causal(); });
  add(Feature::window, [&] { return window(side, side % 3 * 20); });
  add(Feature::key_lengths, [&] { return key_lengths(lengths_); });
  add(Feature::row_lengths, [&] { return key_lengths(row_lengths_); });
  add(Feature::key_starts, [&] { return key_starts(starts_); });
  add(Feature::key_padding, [&] { return key_padding(padding_); });
  add(Feature::dense, [&] {
    return dense(view_of(dense_), {dense_.extent(0) == 1 ? Axis::one : Axis::B,
                                   Axis::H, Axis::Lq, Axis::Lkv});
  });
  add(Feature::documents, [&] { return documents(query_ids_, key_ids_); });
  return mask;
}

Bias RandomCallTensors::bias() const {
  if (!call_.has(Feature::bias)) {
    return {};
  }
  const auto axis = [&](std::size_t n, Axis name) {
    return bias_.extent(n) == 1 ? Axis::one : name;
  };
  return dense(view_of(bias_), {axis(0, Axis::B), axis(1, Axis::H),
                                axis(2, Axis::Lq), axis(3, Axis::Lkv)});
}

// 4 to 20 buckets, and distances beyond the last or none.
T5Bias RandomCallTensors::t5_bias() const {
  if (!call_.has(Feature::t5_bias)) {
    return {};
  }
  return {.table = t5_table_,
          .max_distance = 11 + integers(1, 29, 0, 200)[0],
          .bidirectional = call_.stream / 32 % 2 == 0};
}

AttentionOptions RandomCallTensors::options() const {
  AttentionOptions options = {
      .mask = mask(), .bias = bias(), .t5_bias = t5_bias()};
  if (call_.has(Feature::softcap)) {
    options.softcap = 1.0 + static_cast<double>(call_.stream / 32 % 30);
  }
  if (call_.has(Feature::alibi)) {
    options.alibi = slopes_;
  }
  if (call_.has(Feature::sinks)) {
    options.sinks = sinks_;
  }
  if (call_.has(Feature::query_start)) {
    options.query_start = call_.start_form == 0   ? QueryStart(query_starts_(0))
                          : call_.start_form == 1 ? query_starts_
                                                  : QueryStart::bottom_right();
  }
  if (call_.has(Feature::ragged)) {
    options.offsets = {query_offsets_, key_offsets_};
  }
  if (call_.has(Feature::uniform_rows)) {
    options.empty_rows = EmptyRow::uniform;
  }
  if (call_.has(Feature::nan_rows)) {
    options.empty_rows = EmptyRow::nan;
  }
  if (call_.has(Feature::dropout)) {
    options.dropout = {.p = 0.1 + 0.1 * static_cast<double>(call_.Lq % 5),
                       .training = true,
                       .seed = Seed{call_.stream}};
  }
  options.attn_weights = static_cast<AttnWeights>(call_.weights_form);
  options.scores = static_cast<ScoresStage>(call_.scores_stage);
  options.arithmetic = call_.arithmetic;
  options.executor = &executor_;
  return options;
}

OperationOptions RandomCallTensors::operation_options() const {
  OperationOptions options;
  if (call_.has(Feature::additive)) {
    options.score_weight = score_weight_;
  }
  if (call_.has(Feature::uneven_groups)) {
    options.kv_groups = kv_groups_;
  }
  if (call_.has(Feature::bias_kv)) {
    options.added_keys.bias_k = bias_k_;
    options.added_keys.bias_v = bias_v_;
  }
  options.added_keys.zero_attn = call_.has(Feature::zero_attn);
  return options;
}

Layout RandomCallTensors::layout(std::size_t turn) const {
  return call_.has(Feature::strided)
             ? static_cast<Layout>((call_.stream / 32 + turn) % 4)
             : Layout::in_order;
}

Result<Outputs<float>> RandomCallTensors::attend_in(
    DType dtype, bool& gaps_untouched) const {
  return attend_part(dtype, KeyPart::all, {}, gaps_untouched);
}

Result<Outputs<float>> RandomCallTensors::attend_part(
    DType dtype, KeyPart part, const AttentionState& state,
    bool& gaps_untouched) const {
  return for_number_type(dtype, [&](auto number) {
    return attend_as<decltype(number)>(part, state, gaps_untouched);
  });
}

Result<Gradients<float>> RandomCallTensors::differentiate_in(
    DType dtype, DType output_dtype, const Upstream<float>& upstream,
    bool& gaps_untouched) const {
  return for_number_type(dtype, [&](auto number) {
    return differentiate_as<decltype(number)>(output_dtype, upstream,
                                              gaps_untouched);
  });
}

template <class T>
Result<Outputs<float>> RandomCallTensors::attend_as(
    KeyPart part, const AttentionState& state, bool& gaps_untouched) const {
  const StridedTensor<T> query(inputs_.query, layout(0));
  const StridedTensor<T> key(inputs_.key, layout(1));
  const StridedTensor<T> value(inputs_.value, layout(2));
  auto out = outputs<float>(options().attn_weights, options().scores);
  const StridedTensor<T> output(out.output, layout(3));
  AttentionOutputsOf<T> outputs{.state = state};
  if (part == KeyPart::all || part == KeyPart::last) {
    outputs.output = output.view();
    outputs.attn_weights = out.attn_weights;
    outputs.lse = out.lse;
    outputs.scores = out.scores;
  }
  OperationOptions of_operation = operation_options();
  of_operation.key_part = part;
  const Status s = attention(query.view(), key.view(), value.view(), outputs,
                             options(), of_operation);
  if (!s) {
    return s.error();
  }
  out.output = output.copy();
  gaps_untouched = output.gaps_untouched();
  return out;
}

template <class T>
Result<Gradients<float>> RandomCallTensors::differentiate_as(
    DType output_dtype, const Upstream<float>& upstream,
    bool& gaps_untouched) const {
  const StridedTensor<T> query(inputs_.query, layout(0));
  const StridedTensor<T> key(inputs_.key, layout(1));
  const StridedTensor<T> value(inputs_.value, layout(2));
  AttentionOptions asked = options();
  asked.scores = ScoresStage::none;
  const OperationOptions of_operation = operation_options();
  auto out = outputs<float>(asked.attn_weights);
  const StridedTensor<T> written(out.output, layout(3));
  auto rows =
      Tensor<float, 4>::create({tensors_.B, tensors_.Hq, tensors_.Lq, 2})
          .value();
  const Status forward =
      attention(query.view(), key.view(), value.view(),
                AttentionOutputsOf<T>{.output = written.view(),
                                      .attn_weights = out.attn_weights,
                                      .softmax_rows = rows},
                asked, of_operation);
  if (!forward) {
    return forward.error();
  }
  const StridedTensor<T> output(rounded_to(output_dtype, written.copy()),
                                layout(3));
  auto gradients = gradients_for(inputs_, asked, of_operation);
  const StridedTensor<T> d_output(upstream.d_output, layout(1));
  const StridedTensor<T> d_query(gradients.query, layout(2));
  const StridedTensor<T> d_key(gradients.key, layout(3));
  const StridedTensor<T> d_value(gradients.value, layout(0));
  const AttentionGradients others = gradients.views();
  BackwardInputsOf<T> inputs = {query.view(),  key.view(),    value.view(),
                                output.view(), view_of(rows), d_output.view()};
  if (upstream.d_attn_weights.size() != 0) {
    inputs.d_attn_weights = upstream.d_attn_weights;
  }
  const Status s = attention_backward(
      inputs,
      AttentionGradientsOf<T>{d_query.view(), d_key.view(), d_value.view(),
                              others.bias, others.t5_bias, others.alibi,
                              others.score_weight, others.sinks, others.bias_k,
                              others.bias_v},
      asked, of_operation);
  if (!s) {
    return s.error();
  }
  gradients.query = d_query.copy();
  gradients.key = d_key.copy();
  gradients.value = d_value.copy();
  gaps_untouched = d_query.gaps_untouched() && d_key.gaps_untouched() &&
                   d_value.gaps_untouched();
  return gradients;
}

}  // namespace headwise::testing_support
