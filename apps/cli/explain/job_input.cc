#include "job_input.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "operation/read_tensor.h"
#include "operation/read_tokens.h"
#include "shell/outcome.h"
#include "shell/read_text.h"

namespace headwise::cli {
namespace {

Result<JobInput> from_example(const Example& example) {
  JobInput input;
  if (example.vectors) {
    HEADWISE_ASSIGN(input.vectors, vectors_of(example));
  } else if (example.target) {
    input.queries = *example.target;
    input.keys = example.tokens;
  } else {
    input.queries = example.tokens;
  }
  input.batched = example.batched;
  input.embed_dim = example.embed_dim;
  input.num_heads = example.num_heads;
  input.bias = example.bias;
  input.out_proj = example.out_proj;
  input.key_lengths = example.key_lengths;
  return input;
}

Result<JobInput> from_files(const ExplainFlags& flags) {
  JobInput input;
  HEADWISE_ASSIGN(auto tokens, read_tokens("--tokens", flags.tokens));
  if (flags.target_tokens.empty()) {
    input.queries = std::move(tokens);
    input.query_source = {"--tokens", name_of_text(flags.tokens)};
    return input;
  }
  HEADWISE_ASSIGN(auto target,
                  read_tokens("--target-tokens", flags.target_tokens));
  if (target.size() != tokens.size()) {
    return option_error(
        "--target-tokens", message("has {} sequences", target.size()),
        message("one for each of the {} in --tokens", tokens.size()),
        ErrorCode::shape_mismatch);
  }
  input.queries = std::move(target);
  input.query_source = {"--target-tokens", name_of_text(flags.target_tokens)};
  input.keys = std::move(tokens);
  input.key_source = {"--tokens", name_of_text(flags.tokens)};
  return input;
}

// The user's vectors. --key is --query unless it is given, --value is --key.
Result<JobInput> from_vectors(const ExplainFlags& flags) {
  const std::string& key_file = flags.key.empty() ? flags.query : flags.key;
  const std::string& value_file = flags.value.empty() ? key_file : flags.value;
  HEADWISE_ASSIGN(const auto first, read_file_of("--query", flags.query));
  JobInput input;
  input.batched = first.shape.size() != 2;
  std::optional<Tensor<float, 3>> query;
  std::optional<Tensor<float, 3>> key;
  std::optional<Tensor<float, 3>> value;
  for (const auto& [option, path, place] :
       {std::tuple("--query", &flags.query, &query),
        {"--key", &key_file, &key},
        {"--value", &value_file, &value}}) {
    HEADWISE_TRY(read_tensor({option, *path}, "(B, L, E) or (L, E)",
                             input.batched, *place));
    if ((*place)->extent(0) != query->extent(0)) {
      return option_error(option,
                          message("has {} sequences", (*place)->extent(0)),
                          message("the {} of --query", query->extent(0)),
                          ErrorCode::shape_mismatch);
    }
  }
  if (value->extent(1) != key->extent(1)) {
    return option_error("--value", message("has {} rows", value->extent(1)),
                        message("the {} of --key", key->extent(1)),
                        ErrorCode::shape_mismatch);
  }
  input.embed_dim = query->extent(2);
  input.vectors =
      Vectors{*std::move(query), *std::move(key), *std::move(value)};
  return input;
}

// Of the batch the sequence whose last token is decoded.
Status keep_decoded(const ExplainFlags& flags, JobInput& input) {
  if (input.vectors || input.keys) {
    return usage_error(
        "--decode needs token ids that attend to themselves: one set of "
        "sequences");
  }
  const std::size_t count = input.queries.size();
  if (flags.sequence >= count) {
    return option_error(
        "--sequence", message("is {}", flags.sequence),
        count == 0 ? "less than the batch's 0" : message("0 to {}", count - 1));
  }
  auto sequence = std::move(input.queries[flags.sequence]);
  if (sequence.empty()) {
    return option_error("--sequence", message("is {}", flags.sequence),
                        "a sequence with a token for --decode",
                        ErrorCode::out_of_range);
  }
  input.queries.clear();
  input.queries.push_back(std::move(sequence));
  return ok();
}

const Example& example_of(const ExplainFlags& flags) {
  const auto all = examples();
  const auto found = std::ranges::find(all, flags.example, &Example::name);
  return found == all.end() ? all.front() : *found;
}

using enum OptionRule::Kind;

constexpr OptionRule kInputRules[] = {
    {"--tokens", never, "--example", "give --tokens or --example, not both"},
    {"--query", never, "--tokens", "give --query or --tokens, not both"},
    {"--query", never, "--example", "give --query or --example, not both"},
    {"--key|--value", always, "--query", "--key and --value need --query"},
    {"--target-tokens", needs, "--tokens", "--tokens (the keys and values)"},
    {"--layer", needs, "--params", "--params or --model"},
    {"--layout-of|--prefix", needs, "--params"},
    {"--mask-kind none", apart, "--causal"}};

}  // namespace

Result<JobInput> job_input(const ExplainFlags& flags) {
  const bool own_tokens = !flags.tokens.empty();
  const bool own_vectors = !flags.query.empty();
  HEADWISE_TRY(flags.line.check(kInputRules));
  if (flags.tokens == "-" && flags.target_tokens == "-") {
    return option_error("--tokens and --target-tokens", "are both -",
                        "one of them to be a file");
  }
  const Example& example = example_of(flags);
  HEADWISE_ASSIGN(auto input, own_tokens    ? from_files(flags)
                              : own_vectors ? from_vectors(flags)
                                            : from_example(example));
  if (flags.decode) {
    HEADWISE_TRY(keep_decoded(flags, input));
  }
  // What is typed about the keys of a sequence replaces what the example says.
  const bool own_keys = !flags.operation.key_lengths.empty() ||
                        !flags.operation.key_padding.empty();
  if (own_keys || !flags.mask_kind.empty()) {
    input.key_lengths.clear();
  }
  const std::string_view of_example = !own_keys ? example.mask_kind
                                      : example.mask_kind.ends_with("causal")
                                          ? std::string_view("causal")
                                          : std::string_view("none");
  const std::string_view default_mask =
      own_tokens || own_vectors ? std::string_view("none") : of_example;
  const std::string_view kind =
      flags.mask_kind.empty() ? default_mask : flags.mask_kind;
  input.mask_padding = kind.starts_with("padding");
  input.mask_causal = kind.ends_with("causal") || flags.operation.causal;
  if (input.vectors && input.mask_padding) {
    return usage_error(
        "--mask-kind padding needs token ids: vectors have no padding");
  }
  input.vocab_size = flags.vocab_size.value_or(input.vocab_size);
  input.embed_dim = flags.embed_dim.value_or(input.embed_dim);
  input.num_heads = flags.num_heads.value_or(input.num_heads);
  input.num_kv_heads = flags.num_kv_heads;
  input.padding.pad_id = flags.pad_id;
  input.padding.padding_by =
      flags.padding_by == "id" ? PaddingBy::id : PaddingBy::length;
  return input;
}

}  // namespace headwise::cli
