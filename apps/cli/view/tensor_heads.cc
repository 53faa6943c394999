#include "tensor_heads.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "headwise/interop/file_subject.h"
#include "headwise/models/special_tokens.h"
#include "headwise/train/labelled_text.h"
#include "operation/read_tensor.h"
#include "shell/outcome.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

// Of the keys, or else of the queries: one token per line, or their numbers.
Result<std::vector<std::string>> labels_of(std::string_view option,
                                           const std::string& path,
                                           std::size_t count, bool keys) {
  std::vector<std::string> labels;
  if (path.empty()) {
    for (std::size_t n = 0; n < count; ++n) {
      labels.push_back(std::to_string(n));
    }
    return labels;
  }
  HEADWISE_ASSIGN(const auto text, read_text(option, path));
  for (const std::string_view line : text_lines(text)) {
    labels.emplace_back(line);
  }
  if (labels.size() != count) {
    return FileSubject{std::string(option), path}.bad_data(
        message("has {} lines", labels.size()),
        message(keys ? "{}, one for each key" : "{}, one for each query",
                count));
  }
  return labels;
}

std::vector<std::size_t> special_of(const std::vector<std::string>& labels) {
  std::vector<std::size_t> special;
  for (std::size_t n = 0; n < labels.size(); ++n) {
    if (is_special(labels[n])) {
      special.push_back(n);
    }
  }
  return special;
}

}  // namespace

OperationOptions TensorHeads::operation_options() const {
  OperationOptions options = plain_operation();
  if (separators_) {
    options.statistics.separators = *separators_;
  }
  if (query_lengths_) {
    options.statistics.query_lengths = *query_lengths_;
  }
  return options;
}

Status TensorHeads::read_statistics(const ViewedFlags& flags, bool batched) {
  HEADWISE_TRY(read_tensor({"--query-lengths", flags.query_lengths}, "(B)",
                           true, query_lengths_));
  return read_tensor({"--separators", flags.separators}, "(B, Lkv)", batched,
                     separators_);
}

Result<AttentionShape> TensorHeads::check() {
  HEADWISE_ASSIGN(auto shape, attention_shape(query_extents(), key_extents(),
                                              without_features(key_extents())));
  OperationOptions asked = operation_options();
  asked.statistics.rows = true;  // there are no values
  HEADWISE_ASSIGN(spec_,
                  AttentionSpec::create(shape, options(), asked, command_));
  AttentionShape sizes = spec_->shape;
  if (sizes.B == 0) {
    return Error{ErrorCode::shape_mismatch,
                 {.operation = command_,
                  .argument = "query",
                  .given = "is an empty batch",
                  .expected = "at least one sequence"}};
  }
  if (sequence_ >= sizes.B) {
    return option_error("--sequence", message("is {}", sequence_),
                        message("0 to {}", sizes.B - 1));
  }
  const SequencePlace place = sizes.sequence(sequence_);
  sizes.Lq = spec_->statistics.queries(sequence_);
  sizes.Lkv = place.Lkv;
  return sizes;
}

Status TensorHeads::read_labels(const ViewedFlags& flags,
                                const AttentionShape& shape, bool related) {
  HEADWISE_ASSIGN(auto queries, labels_of("--query-tokens", flags.query_tokens,
                                          shape.Lq, false));
  const bool same = flags.key_tokens.empty() && shape.Lq == shape.Lkv;
  HEADWISE_ASSIGN(
      auto keys,
      labels_of(same ? "--query-tokens" : "--key-tokens",
                same ? flags.query_tokens : flags.key_tokens, shape.Lkv, true));
  text_.sequence = flags.sequence;
  text_.sequences = shape.B;
  text_.cross =
      flags.cross || ((shape.Lq != shape.Lkv || queries != keys) && !related);
  text_.query_special = special_of(queries);
  text_.key_special = special_of(keys);
  text_.query_labels = std::move(queries);
  text_.key_labels = std::move(keys);
  if (separators_ || !flags.operation.offsets.empty() ||
      std::ranges::none_of(text_.key_labels, is_separator)) {
    return ok();
  }
  const auto [B, Lkv, heads, features] = key_extents();
  HEADWISE_ASSIGN(auto separators, Tensor<bool, 2>::create({B, Lkv}));
  for (std::size_t j = 0; j < shape.Lkv; ++j) {
    separators(sequence_, j) = is_separator(text_.key_labels[j]);
  }
  separators_ = std::move(separators);
  return ok();
}

std::vector<TracedStep> TensorHeads::list(TensorView<const float, 4> query,
                                          TensorView<const float, 4> key,
                                          bool rotated) const {
  constexpr std::array<std::string_view, 13> kOfLayer = {
      "query",   "key",     "value",   "q",       "k",      "v",     "q_split",
      "k_split", "v_split", "v_heads", "context", "merged", "output"};
  std::vector<TracedStep> steps = list_steps({.from_tokens = false,
                                              .rotary = rotated,
                                              .spec = &*spec_,
                                              .B = query.extent(0),
                                              .Lq = query.extent(1),
                                              .Lkv = key.extent(1),
                                              .num_heads = query.extent(2),
                                              .head_dim = query.extent(3),
                                              .num_kv_heads = key.extent(2)});
  std::erase_if(steps, [&](const TracedStep& step) {
    return std::ranges::find(kOfLayer, step.name) != kOfLayer.end();
  });
  return steps;
}

}  // namespace headwise::cli
