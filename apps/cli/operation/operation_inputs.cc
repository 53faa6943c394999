#include "operation_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "arithmetic_option.h"
#include "dialect_flags.h"
#include "option_errors.h"
#include "read_tensor.h"
#include "scores_array.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

const std::map<std::string, EmptyRow> kEmptyRows = {
    {"", EmptyRow::zero},
    {"zero", EmptyRow::zero},
    {"uniform", EmptyRow::uniform},
    {"nan", EmptyRow::nan}};

// A file over the scores, whose axes the option `axes_text` names.
template <class T>
Status read_over_scores(const FileOption& file, const std::string& axes_text,
                        NamedAxes& axes, std::optional<Tensor<T, 1>>& place) {
  const std::string option(file.option);
  if (file.path.empty()) {
    return axes_text.empty() ? ok()
                             : Status(usage_error(message("{}-axes needs {}",
                                                          option, option)));
  }
  HEADWISE_ASSIGN(auto array, read_file_of(option, file.path));
  HEADWISE_ASSIGN(axes, flatten(option, axes_text, array));
  HEADWISE_ASSIGN(place, tensor_of<T, 1>(file, array));
  return ok();
}

// `place` is (B + 1) where the option is given.
Status read_offsets_of(std::string_view option, const std::string& path,
                       std::optional<Tensor<std::int64_t, 1>>& place) {
  HEADWISE_TRY(read_tensor({option, path}, "(B + 1)", true, place));
  if (place && place->size() == 0) {
    return option_error(option, "has shape (0)", "(B + 1), at least (1)",
                        ErrorCode::shape_mismatch);
  }
  return ok();
}

}  // namespace

Status OperationInputs::read_query_start() {
  const std::string& text = flags_.query_start;
  if (text.empty()) {
    return ok();
  }
  if (text == "bottom-right") {
    query_start_ = QueryStart::bottom_right();
    return ok();
  }
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) {
    constexpr std::int64_t kFarthest = std::int64_t{1} << 62;
    if (number < -kFarthest || number > kFarthest) {
      return bad_option("--query-start", text, "a number from -2^62 to 2^62");
    }
    query_start_ = QueryStart(number);
    return ok();
  }
  if (!text.ends_with(".npy")) {
    return bad_option("--query-start", text,
                      "a whole number, bottom-right or a .npy file");
  }
  HEADWISE_TRY(
      read_tensor({"--query-start", text}, "(B)", true, query_starts_));
  query_start_ = QueryStart(*query_starts_);
  return ok();
}

Status OperationInputs::read_key_lengths(bool batched) {
  const FileOption file{"--key-lengths", flags_.key_lengths};
  if (file.path.empty()) {
    return ok();
  }
  HEADWISE_ASSIGN(auto array, read_file_of(file.option, file.path));
  // Unbatched: one length is (B) = (1), several are one a query, (1, Lq).
  if (!batched && array.shape.size() < 2 &&
      array.shape != std::vector<std::size_t>{1}) {
    add_batch_axis(array);
  }
  if (array.shape.size() == 1) {
    HEADWISE_ASSIGN(key_lengths_, tensor_of<std::int64_t, 1>(file, array));
    return ok();
  }
  if (array.shape.size() != 2) {
    return wrong_rank(file.option, array, "(B) or (B, Lq)");
  }
  HEADWISE_ASSIGN(key_lengths_of_queries_,
                  tensor_of<std::int64_t, 2>(file, array));
  return ok();
}

Status OperationInputs::read_alibi(std::size_t num_heads) {
  if (flags_.alibi.empty()) {
    return ok();
  }
  if (flags_.alibi == "auto") {
    HEADWISE_ASSIGN(alibi_, alibi_slopes(num_heads));
    return ok();
  }
  if (!flags_.alibi.ends_with(".npy")) {
    return bad_option("--alibi", flags_.alibi, "auto or a .npy file");
  }
  return read_tensor({"--alibi", flags_.alibi}, "(H)", true, alibi_);
}

// With a dialect, use_dialect() reads them.
Status OperationInputs::read_masks(bool batched) {
  if (dialect_of(flags_) != nullptr) {
    return flags_.mask_axes.empty()
               ? ok()
               : Status(usage_error(
                     "--mask-axes and --dialect cannot be used together"));
  }
  HEADWISE_TRY(read_tensor({"--key-padding", flags_.key_padding}, "(B, Lkv)",
                           batched, key_padding_));
  return read_over_scores({"--mask", flags_.mask}, flags_.mask_axes, mask_axes_,
                          mask_);
}

Status OperationInputs::read_files(bool batched, std::size_t num_heads) {
  HEADWISE_TRY(read_offsets_of("--offsets", flags_.offsets, offsets_));
  HEADWISE_TRY(
      read_offsets_of("--query-offsets", flags_.query_offsets, query_offsets_));
  const bool has_batch = batched || offsets_;
  HEADWISE_TRY(read_query_start());
  HEADWISE_TRY(read_key_lengths(has_batch));
  HEADWISE_TRY(read_tensor({"--key-starts", flags_.key_starts}, "(B)",
                           has_batch, key_starts_));
  HEADWISE_TRY(read_tensor({"--documents", flags_.documents}, "(B, Lkv)",
                           has_batch, documents_));
  HEADWISE_TRY(read_tensor({"--query-documents", flags_.query_documents},
                           "(B, Lq)", has_batch, query_documents_));
  HEADWISE_TRY(read_masks(has_batch));
  HEADWISE_TRY(read_tensor({"--score-weight", flags_.score_weight}, "(H, D)",
                           true, score_weight_));
  HEADWISE_TRY(read_over_scores({"--bias", flags_.bias}, flags_.bias_axes,
                                bias_axes_, bias_));
  HEADWISE_TRY(read_tensor({"--t5-bias", flags_.t5_bias}, "(buckets, H)", true,
                           t5_bias_));
  HEADWISE_TRY(read_alibi(num_heads));
  HEADWISE_TRY(read_tensor({"--sinks", flags_.sinks}, "(H)", true, sinks_));
  HEADWISE_TRY(
      read_tensor({"--bias-k", flags_.bias_k}, "(Hkv, D)", true, bias_k_));
  HEADWISE_TRY(
      read_tensor({"--bias-v", flags_.bias_v}, "(Hkv, Dv)", true, bias_v_));
  HEADWISE_TRY(read_tensor({"--sequence-ids", flags_.sequence_ids}, "(B)",
                           has_batch, sequence_ids_));
  return read_tensor({"--keep-mask", flags_.keep_mask}, "(B, H, Lq, Lkv)",
                     has_batch, keep_mask_);
}

Result<OperationInputs> OperationInputs::read(const OperationFlags& flags,
                                              bool batched,
                                              std::size_t num_heads) {
  OperationInputs inputs;
  inputs.flags_ = flags;
  HEADWISE_TRY(check_needs(all_operation_options(inputs.flags_)));
  if (flags.threads != 0) {
    HEADWISE_ASSIGN(inputs.executor_, Executor::with_threads(flags.threads));
  }
  if (!flags.window.empty()) {
    HEADWISE_ASSIGN(inputs.window_, WindowSides::parse(flags.window));
  }
  if (Status s = inputs.read_files(batched, num_heads); !s) {
    return in_option_words(s.error(), flags);
  }
  return inputs;
}

// What the dialect has, but headwise does not support.
Status OperationInputs::check_dialect() const {
  const bool masked = !(flags_.mask.empty() && flags_.key_padding.empty());
  if (offsets_ && masked) {
    return usage_error(
        "with --dialect, --mask and --key-padding are for batches without "
        "--offsets");
  }
  if (dialect_->mask_excludes_causal && !flags_.mask.empty() && flags_.causal) {
    return usage_error(
        message("{} takes --mask or --causal, not both", dialect_->name));
  }
  const bool scored = masked || flags_.causal || window_ || bias_ ||
                      key_lengths_ || key_lengths_of_queries_;
  if (flags_.softcap && dialect_->softcap == SoftcapOrder::after_mask &&
      scored) {
    return option_error(
        "--softcap", "is given",
        message("neither masks nor a bias: {} caps the scores after them",
                dialect_->name),
        ErrorCode::unsupported);
  }
  return ok();
}

// Under a causal mask or another rule of positions.
Status OperationInputs::place_queries(const MaskSizes& sizes,
                                      const DialectCall& call) {
  if (!flags_.query_start.empty() ||
      !(flags_.causal || window_ || alibi_ || t5_bias_)) {
    return ok();
  }
  places_queries_ = true;
  query_start_ = causal_start(*dialect_, call.past_length);
  if (dialect_->causal != CausalAlignment::after_cache || !key_lengths_) {
    return ok();
  }
  // The lengths describe a cache: the queries are its last tokens.
  HEADWISE_ASSIGN(auto starts,
                  Tensor<std::int64_t, 1>::create(key_lengths_->extents()));
  std::ranges::transform(key_lengths_->elements(), starts.data(),
                         [&](std::int64_t length) {
                           return length - static_cast<std::int64_t>(sizes.Lq);
                         });
  query_starts_ = std::move(starts);
  query_start_ = QueryStart(*query_starts_);
  return ok();
}

// As a mask, at `place`, or as the bias, which two masks share.
Status OperationInputs::take(std::string_view option, DialectMask mask,
                             const MaskSizes& sizes,
                             std::optional<Tensor<bool, 1>>& place,
                             NamedAxes& axes) {
  if (mask.allowed) {
    place = std::move(mask.allowed);
    axes = mask.axes;
    return ok();
  }
  if (!flags_.bias.empty()) {
    return option_error(option, "is added to the scores",
                        message("one bias: with --dialect {} give --bias or {}",
                                dialect_->name, option),
                        ErrorCode::unsupported);
  }
  if (bias_) {
    HEADWISE_ASSIGN(
        mask,
        sum_of({.added = std::move(bias_), .axes = bias_axes_}, mask, sizes));
  }
  dialect_call_.adds_mask = true;
  bias_ = std::move(mask.added);
  bias_axes_ = mask.axes;
  return ok();
}

Status OperationInputs::use_dialect(const MaskSizes& sizes,
                                    const DialectCall& call) {
  dialect_ = dialect_of(flags_);
  if (dialect_ == nullptr) {
    return ok();
  }
  dialect_call_ = call;
  HEADWISE_TRY(check_dialect());
  HEADWISE_TRY(place_queries(sizes, call));
  const auto read = [&](std::string_view option, const std::string& path,
                        auto read_as, std::optional<Tensor<bool, 1>>& place,
                        NamedAxes& axes) -> Status {
    if (path.empty()) {
      return ok();
    }
    HEADWISE_ASSIGN(const auto array, read_file_of(option, path));
    auto mask = read_as(*dialect_, array, sizes);
    if (!mask) {
      return in_option_words(mask.error(), flags_);
    }
    return take(option, *std::move(mask), sizes, place, axes);
  };
  HEADWISE_TRY(read("--mask", flags_.mask, read_mask, mask_, mask_axes_));
  return read("--key-padding", flags_.key_padding, read_key_padding,
              dialect_padding_, dialect_padding_axes_);
}

EmptyRow OperationInputs::empty_rows() const {
  AttentionOptions options{.empty_rows = kEmptyRows.at(flags_.empty_rows)};
  if (dialect_ != nullptr && flags_.empty_rows.empty()) {
    apply_dialect(*dialect_, dialect_call_, options);
  }
  return options.empty_rows;
}

Mask OperationInputs::mask(CallPart& part) const {
  Mask mask;
  if (key_padding_) {
    mask = mask & key_padding(part.of_keys(key_padding_->view()));
  }
  if (key_lengths_) {
    mask = mask & key_lengths(part.counts(key_lengths_->view()));
  }
  if (key_lengths_of_queries_) {
    mask = mask & key_lengths(part.counts(key_lengths_of_queries_->view()));
  }
  if (key_starts_) {
    mask = mask & key_starts(part.counts(key_starts_->view()));
  }
  if (documents_) {
    const auto& of_queries = query_documents_ ? query_documents_ : documents_;
    mask = mask & documents(part.of_queries(of_queries->view()),
                            part.of_keys(documents_->view()));
  }
  if (flags_.causal) {
    mask = mask & causal();
  }
  if (window_) {
    mask = mask & window_->mask();
  }
  if (mask_) {
    mask = mask & dense(part.data_of_scores(mask_->data(), mask_axes_),
                        part.of_scores(mask_axes_));
  }
  if (dialect_padding_) {
    mask = mask & dense(part.data_of_scores(dialect_padding_->data(),
                                            dialect_padding_axes_),
                        part.of_scores(dialect_padding_axes_));
  }
  return mask;
}

T5Bias OperationInputs::t5_bias() const {
  T5Bias bias;
  if (t5_bias_) {
    bias.table = *t5_bias_;
    bias.bidirectional = flags_.t5_bidirectional;
  }
  if (flags_.t5_max_distance) {
    // No key is as far away as the largest number of the library.
    constexpr std::uint64_t kLargest = std::numeric_limits<std::int64_t>::max();
    bias.max_distance =
        static_cast<std::int64_t>(std::min(*flags_.t5_max_distance, kLargest));
  }
  return bias;
}

Dropout OperationInputs::dropout(const CallPart& part) const {
  Dropout dropout;
  dropout.p = flags_.dropout;
  dropout.training = flags_.dropout.has_value();
  dropout.seed = Seed{flags_.dropout_seed};
  dropout.step = 0;
  if (sequence_ids_) {
    dropout.sequence_ids = *sequence_ids_;
  }
  if (keep_mask_) {
    dropout.keep_mask = part.of_pairs(keep_mask_->view());
  }
  return dropout;
}

KeyBand OperationInputs::key_band() const {
  return band_of(window_, flags_.causal);
}

AttentionOptions OperationInputs::options() const {
  CallPart whole;
  AttentionOptions options = this->options(whole);
  options.query_start = query_start_;
  if (offsets_) {
    const auto& of_queries = query_offsets_ ? query_offsets_ : offsets_;
    options.offsets = Offsets(*of_queries, *offsets_);
  }
  return options;
}

AttentionOptions OperationInputs::options(CallPart& part) const {
  AttentionOptions options{.mask = mask(part),
                           .scale = flags_.scale,
                           .softcap = flags_.softcap,
                           .t5_bias = t5_bias(),
                           .empty_rows = empty_rows(),
                           .dropout = dropout(part),
                           .arithmetic = arithmetic_of(flags_.arithmetic),
                           .executor = executor_ ? &*executor_ : nullptr};
  if (bias_) {
    options.bias = Bias(part.data_of_scores(bias_->data(), bias_axes_),
                        part.of_scores(bias_axes_));
  }
  if (alibi_) {
    options.alibi = *alibi_;
  }
  if (sinks_) {
    options.sinks = *sinks_;
  }
  return options;
}

OperationOptions OperationInputs::operation_options() const {
  OperationOptions options;
  if (score_weight_) {
    options.score_weight = *score_weight_;
  }
  if (bias_k_) {
    options.added_keys.bias_k = *bias_k_;
  }
  if (bias_v_) {
    options.added_keys.bias_v = *bias_v_;
  }
  options.added_keys.zero_attn = flags_.zero_attn;
  return options;
}

}  // namespace headwise::cli
