#include "prune_causal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "headwise/models/causal_model.h"
#include "headwise/prune/remove_heads.h"
#include "headwise/train/next_token.h"
#include "operation/models/unknown_tokens.h"
#include "prune_job.h"
#include "shell/error_of_option.h"
#include "shell/json.h"
#include "shell/models/head_list.h"
#include "shell/models/read_labelled.h"
#include "shell/models/read_model.h"
#include "shell/output.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

Status check_flags(const PruneFlags& flags) {
  HEADWISE_TRY(check_prune_options(flags));
  using enum OptionRule::Kind;
  static constexpr OptionRule kRules[] = {
      {"", always, "--heads", "--heads LIST is needed for a causal model"},
      {"--export full-size|--correct", never, "",
       "{} cannot be used with a causal model"}};
  return flags.line.check(kRules);
}

Result<RaggedTokens> texts_of(const PruneFlags& flags, const CausalModel& model,
                              std::ostream& err) {
  RaggedTokens texts;
  UnknownTokens unknown;
  if (flags.data.empty()) {
    return texts;
  }
  HEADWISE_ASSIGN(const auto lines, read_labelled("--data", flags.data));
  const std::size_t most =
      flags.max_tokens != 0 ? flags.max_tokens : model.shape().max_tokens;
  for (const std::string_view line : lines.texts) {
    auto tokens = model.encode(line, std::min(most, model.shape().max_tokens));
    if (!tokens) {
      return error_of_option("--data", tokens.error());
    }
    unknown.add(model, tokens->ids);
    texts.push_back(std::move(tokens->ids));
  }
  warn_of_unknown(flags.model, unknown, err);
  return texts;
}

std::vector<std::size_t> heads_per_layer(const CausalModel& model) {
  std::vector<std::size_t> counts;
  for (std::size_t n = 0; n < model.config().num_layers; ++n) {
    counts.push_back(model.heads_in(n).size());
  }
  return counts;
}

struct MeasuredModel {
  std::size_t heads = 0;
  double accuracy = 0;
};

Result<MeasuredModel> measured(const CausalModel& model,
                               const RaggedTokens& texts,
                               const Executor& executor) {
  HEADWISE_ASSIGN(const auto scores,
                  next_token_scores(model, texts, {.executor = &executor}));
  const auto counts = heads_per_layer(model);
  return MeasuredModel{
      std::accumulate(counts.begin(), counts.end(), std::size_t{0}),
      accuracy_on_repeats(scores)};
}

}  // namespace

Outcome prune_causal(const PruneFlags& flags, const Executor& executor,
                     const Streams& streams) {
  HEADWISE_TRY(check_flags(flags));
  HEADWISE_ASSIGN(const auto heads, parse_head_list("--heads", flags.heads));
  HEADWISE_ASSIGN(auto model, read_causal_model(flags.model));
  HEADWISE_TRY(check_heads("--heads", heads, heads_left(model)));
  HEADWISE_ASSIGN(const auto texts, texts_of(flags, model, streams.err));
  HEADWISE_ASSIGN(const auto before, measured(model, texts, executor));
  const ConstantPart constant =
      flags.drop_constant ? ConstantPart::dropped : ConstantPart::into_bias;
  if (Status s = remove_heads(model, heads, constant); !s) {
    return error_of_option("--heads", s.error());
  }
  HEADWISE_ASSIGN(const auto after, measured(model, texts, executor));
  HEADWISE_TRY(written(model.write(flags.out)));
  const auto kept = heads_per_layer(model);
  if (flags.json) {
    return print(streams.out,
                 json_text(Json{{"out", flags.out},
                                {"heads_before", before.heads},
                                {"heads_after", after.heads},
                                {"heads_per_layer", kept},
                                {"texts", texts.size()},
                                {"accuracy_before", before.accuracy},
                                {"accuracy_after", after.accuracy}}));
  }
  const std::string accuracy =
      texts.empty()
          ? ""
          : say("accuracy on repeated words  {:.3f} before, {:.3f} after\n",
                before.accuracy, after.accuracy);
  return print(streams.out,
               say("{}: {} of {} heads kept; per layer {}\n", shown(flags.out),
                   after.heads, before.heads, fmt::join(kept, " ")) +
                   accuracy);
}

}  // namespace headwise::cli
