#include "operation_inputs.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "option_errors.h"
#include "scores_array.h"
#include "shell/outcome.h"

namespace headwise::cli {
namespace {

const std::map<std::string, EmptyRow> kEmptyRows = {
    {"zero", EmptyRow::zero},
    {"uniform", EmptyRow::uniform},
    {"nan", EmptyRow::nan}};

// One side of --window: a number of keys, or inf for all of them. No value: no
// such side.
std::optional<std::optional<std::int64_t>> parse_side(std::string_view text) {
  if (text == "inf") {
    return std::optional<std::int64_t>();
  }
  std::int64_t keys = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, keys);
  if (error != std::errc{} || end != last || keys < 0) {
    return std::nullopt;
  }
  return keys;
}

// "3,0" -> window(3, 0). One number alone is not guessed: some call it the keys
// on each side, others all the keys up to the query.
Result<Mask> parse_window(const std::string& text) {
  const std::string_view sides = text;
  const std::size_t comma = std::min(sides.find(','), sides.size());
  const auto left = parse_side(sides.substr(0, comma));
  const auto right =
      parse_side(sides.substr(std::min(comma + 1, sides.size())));
  if (!left || !right) {
    return bad_option("--window", text,
                      "two whole numbers from 0 on, or inf for no limit, such "
                      "as 128,0 or 128,inf");
  }
  return window(*left, *right);
}

// Puts the axis B before those of an array that has none.
void add_batch_axis(Array& array) {
  array.shape.insert(array.shape.begin(), 1);
}

// `option` and `path` say where the array was read.
template <class T>
Status store(Result<T> result, std::string_view option, const std::string& path,
             std::optional<T>& place) {
  if (!result) {
    return FileSubject{std::string(option), path}.blame_here(result.error());
  }
  place = *std::move(result);
  return ok();
}

// The whole numbers of a file with the axes `axes`, where one is given. Without
// a batch the first of them, B, may be missing.
template <std::size_t Rank>
Status read_integers(std::string_view option, const std::string& path,
                     std::string_view axes, bool batched,
                     std::optional<Tensor<std::int64_t, Rank>>& place) {
  if (path.empty()) {
    return ok();
  }
  Result<Array> array = read_file_of(option, path);
  HEADWISE_TRY(array);
  if (!batched && array->shape.size() + 1 == Rank) {
    add_batch_axis(*array);
  }
  if (array->shape.size() != Rank) {
    return wrong_rank(option, *array, axes);
  }
  return store(to_int64<Rank>(*array, "run", option), option, path, place);
}

// `place` is (B + 1) where the option is given.
Status read_offsets_of(std::string_view option, const std::string& path,
                       std::optional<Tensor<std::int64_t, 1>>& place) {
  HEADWISE_TRY(read_integers(option, path, "(B + 1)", true, place));
  if (place && place->size() == 0) {
    return option_error(option, "has shape (0)", "(B + 1), at least (1)",
                        ErrorCode::shape_mismatch);
  }
  return ok();
}

}  // namespace

Status OperationInputs::read_offsets(const OperationFlags& flags) {
  if (flags.offsets.empty() && !flags.query_offsets.empty()) {
    return bad_option("--query-offsets", flags.query_offsets, "--offsets too");
  }
  HEADWISE_TRY(read_offsets_of("--offsets", flags.offsets, offsets_));
  return read_offsets_of("--query-offsets", flags.query_offsets,
                         query_offsets_);
}

Status OperationInputs::read_query_start(const OperationFlags& flags) {
  const std::string& text = flags.query_start;
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
  const Result<Array> array = read_file_of("--query-start", text);
  HEADWISE_TRY(array);
  if (array->shape.size() != 1) {
    return wrong_rank("--query-start", *array, "(B)");
  }
  std::optional<Tensor<std::int64_t, 1>> starts;
  HEADWISE_TRY(store(to_int64<1>(*array, "run", "--query-start"),
                     "--query-start", text, starts));
  query_starts_ = *std::move(starts);
  query_start_ = QueryStart(query_starts_);
  return ok();
}

Status OperationInputs::read_key_lengths(const OperationFlags& flags,
                                         bool batched) {
  if (flags.key_lengths.empty()) {
    return ok();
  }
  Result<Array> array = read_file_of("--key-lengths", flags.key_lengths);
  HEADWISE_TRY(array);
  // Unbatched: one length is (B) = (1), several are one a query, (1, Lq).
  if (!batched && array->shape.size() < 2 &&
      array->shape != std::vector<std::size_t>{1}) {
    add_batch_axis(*array);
  }
  if (array->shape.size() == 1) {
    return store(to_int64<1>(*array, "run", "--key-lengths"), "--key-lengths",
                 flags.key_lengths, key_lengths_);
  }
  if (array->shape.size() != 2) {
    return wrong_rank("--key-lengths", *array, "(B) or (B, Lq)");
  }
  return store(to_int64<2>(*array, "run", "--key-lengths"), "--key-lengths",
               flags.key_lengths, key_lengths_of_queries_);
}

Status OperationInputs::read_documents(const OperationFlags& flags,
                                       bool batched) {
  if (flags.documents.empty() && !flags.query_documents.empty()) {
    return bad_option("--query-documents", flags.query_documents,
                      "--documents too");
  }
  HEADWISE_TRY(read_integers("--documents", flags.documents, "(B, Lkv)",
                             batched, documents_));
  return read_integers("--query-documents", flags.query_documents, "(B, Lq)",
                       batched, query_documents_);
}

Status OperationInputs::read_masks(const OperationFlags& flags, bool batched) {
  if (!flags.key_padding.empty()) {
    Result<Array> array = read_file_of("--key-padding", flags.key_padding);
    HEADWISE_TRY(array);
    if (!batched && array->shape.size() == 1) {
      add_batch_axis(*array);
    }
    if (array->shape.size() != 2) {
      return wrong_rank("--key-padding", *array, "(B, Lkv)");
    }
    HEADWISE_TRY(store(to_bool<2>(*array, "run", "--key-padding"),
                       "--key-padding", flags.key_padding, key_padding_));
  }
  if (flags.mask.empty()) {
    return flags.mask_axes.empty()
               ? ok()
               : Status(
                     bad_option("--mask-axes", flags.mask_axes, "--mask too"));
  }
  Result<Array> array = read_file_of("--mask", flags.mask);
  HEADWISE_TRY(array);
  auto axes = flatten("--mask", flags.mask_axes, *array);
  HEADWISE_TRY(axes);
  mask_axes_ = *std::move(axes);
  return store(to_bool<1>(*array, "run", "--mask"), "--mask", flags.mask,
               mask_);
}

Status OperationInputs::read_score_weight(const OperationFlags& flags) {
  if (flags.score_weight.empty()) {
    return ok();
  }
  const Result<Array> array =
      read_file_of("--score-weight", flags.score_weight);
  HEADWISE_TRY(array);
  if (array->shape.size() != 2) {
    return wrong_rank("--score-weight", *array, "(H, D)");
  }
  return store(to_float<2>(*array, "run", "--score-weight"), "--score-weight",
               flags.score_weight, score_weight_);
}

Status OperationInputs::read_bias(const OperationFlags& flags) {
  if (flags.bias.empty()) {
    return flags.bias_axes.empty()
               ? ok()
               : Status(
                     bad_option("--bias-axes", flags.bias_axes, "--bias too"));
  }
  Result<Array> array = read_file_of("--bias", flags.bias);
  HEADWISE_TRY(array);
  auto axes = flatten("--bias", flags.bias_axes, *array);
  HEADWISE_TRY(axes);
  bias_axes_ = *std::move(axes);
  return store(to_float<1>(*array, "run", "--bias"), "--bias", flags.bias,
               bias_);
}

Status OperationInputs::read_alibi(const OperationFlags& flags,
                                   std::size_t num_heads) {
  if (flags.alibi.empty()) {
    return ok();
  }
  if (flags.alibi == "auto") {
    auto slopes = alibi_slopes(num_heads);
    HEADWISE_TRY(slopes);
    alibi_ = *std::move(slopes);
    return ok();
  }
  if (!flags.alibi.ends_with(".npy")) {
    return bad_option("--alibi", flags.alibi, "auto or a .npy file");
  }
  const Result<Array> array = read_file_of("--alibi", flags.alibi);
  HEADWISE_TRY(array);
  if (array->shape.size() != 1) {
    return wrong_rank("--alibi", *array, "(H)");
  }
  return store(to_float<1>(*array, "run", "--alibi"), "--alibi", flags.alibi,
               alibi_);
}

Status OperationInputs::read_dropout(const OperationFlags& flags,
                                     bool batched) {
  HEADWISE_TRY(read_integers("--sequence-ids", flags.sequence_ids, "(B)",
                             batched, sequence_ids_));
  if (flags.keep_mask.empty()) {
    return ok();
  }
  Result<Array> array = read_file_of("--keep-mask", flags.keep_mask);
  HEADWISE_TRY(array);
  if (!batched && array->shape.size() == 3) {
    add_batch_axis(*array);
  }
  if (array->shape.size() != 4) {
    return wrong_rank("--keep-mask", *array, "(B, H, Lq, Lkv)");
  }
  return store(to_bool<4>(*array, "run", "--keep-mask"), "--keep-mask",
               flags.keep_mask, keep_mask_);
}

Result<OperationInputs> OperationInputs::read(const OperationFlags& flags,
                                              bool batched,
                                              std::size_t num_heads) {
  OperationInputs inputs;
  inputs.flags_ = flags;
  if (flags.threads != 0) {
    auto executor = Executor::with_threads(flags.threads);
    HEADWISE_TRY(executor);
    inputs.executor_ = *std::move(executor);
  }
  if (!flags.window.empty()) {
    auto window = parse_window(flags.window);
    HEADWISE_TRY(window);
    inputs.window_ = *std::move(window);
  }
  Status s = inputs.read_offsets(flags);
  batched = batched || inputs.offsets_;
  if (s) {
    s = inputs.read_query_start(flags);
  }
  if (s) {
    s = inputs.read_key_lengths(flags, batched);
  }
  if (s) {
    s = read_integers("--key-starts", flags.key_starts, "(B)", batched,
                      inputs.key_starts_);
  }
  if (s) {
    s = inputs.read_documents(flags, batched);
  }
  if (s) {
    s = inputs.read_masks(flags, batched);
  }
  if (s) {
    s = inputs.read_score_weight(flags);
  }
  if (s) {
    s = inputs.read_bias(flags);
  }
  if (s) {
    s = inputs.read_alibi(flags, num_heads);
  }
  if (s) {
    s = inputs.read_dropout(flags, batched);
  }
  if (!s) {
    return in_option_words(s.error(), flags);
  }
  return inputs;
}

AttentionOptions OperationInputs::options() const {
  AttentionOptions options{.scale = flags_.scale,
                           .softcap = flags_.softcap,
                           .query_start = query_start_,
                           .empty_rows = kEmptyRows.at(flags_.empty_rows),
                           .executor = executor_ ? &*executor_ : nullptr};
  if (offsets_) {
    const auto& of_queries = query_offsets_ ? query_offsets_ : offsets_;
    options.offsets = Offsets(*of_queries, *offsets_);
  }
  if (key_padding_) {
    options.mask = options.mask & key_padding(*key_padding_);
  }
  if (key_lengths_) {
    options.mask = options.mask & key_lengths(*key_lengths_);
  }
  if (key_lengths_of_queries_) {
    options.mask = options.mask & key_lengths(*key_lengths_of_queries_);
  }
  if (key_starts_) {
    options.mask = options.mask & key_starts(*key_starts_);
  }
  if (documents_) {
    const auto& of_queries = query_documents_ ? query_documents_ : documents_;
    options.mask = options.mask & documents(*of_queries, *documents_);
  }
  if (flags_.causal) {
    options.mask = options.mask & causal();
  }
  if (window_) {
    options.mask = options.mask & *window_;
  }
  if (mask_) {
    options.mask = options.mask & dense(mask_->data(), mask_axes_);
  }
  if (score_weight_) {
    options.score_weight = *score_weight_;
  }
  if (bias_) {
    options.bias = Bias(bias_->data(), bias_axes_);
  }
  if (alibi_) {
    options.alibi = *alibi_;
  }
  options.dropout.p = flags_.dropout;
  options.dropout.training = flags_.dropout.has_value();
  options.dropout.seed = Seed{flags_.dropout_seed};
  if (sequence_ids_) {
    options.dropout.sequence_ids = *sequence_ids_;
  }
  if (keep_mask_) {
    options.dropout.keep_mask = *keep_mask_;
  }
  return options;
}

}  // namespace headwise::cli
