#include "attribution.h"

#include "gradient_target.h"
#include "headwise/heads/integrated_gates.h"
#include "headwise/heads/rollout.h"
#include "statistic_names.h"
#include "through_layers.h"

namespace headwise::cli {
namespace {

std::vector<double> numbers_of(TensorView<const float, 3> of_heads,
                               std::size_t head) {
  std::vector<double> numbers;
  for (std::size_t n = 0; n < of_heads.extent(2); ++n) {
    numbers.push_back(static_cast<double>(of_heads(0, head, n)));
  }
  return numbers;
}

// ---- Through all layers. ----

Result<Attribution> rollout_of(const AttributionFlags& flags,
                               const ViewedHeads& heads) {
  HEADWISE_ASSIGN(const auto token, output_token(flags, heads.text()));
  HEADWISE_ASSIGN(auto row, Tensor<float, 3>::create(
                                {1, 1, heads.text().query_labels.size()}));
  row(0, 0, token) = 1;
  HEADWISE_ASSIGN(const auto shares, cli::rollout_of(heads, row));
  Attribution attribution;
  attribution.output_token = token;
  attribution.tokens = numbers_of(shares, 0);
  return attribution;
}

Result<Attribution> flow_of(const AttributionFlags& flags,
                            const ViewedHeads& heads) {
  HEADWISE_ASSIGN(const auto token, output_token(flags, heads.text()));
  HEADWISE_TRY(check_flow_tokens(heads));
  HEADWISE_ASSIGN(const auto weights, mean_weights_of(heads));
  HEADWISE_ASSIGN(const auto flow,
                  attention_flow(weights, token, *heads.options().executor));
  Attribution attribution;
  attribution.output_token = token;
  attribution.tokens.assign(flow.elements().begin(), flow.elements().end());
  return attribution;
}

// ---- Gradients. ----

// numbers[layer][the how manieth head that stays] -> the heads of the text.
template <class NumberOf, class KeysOf>
void add_attributed_heads(const ViewedHeads& heads,
                          const GradientTarget& target,
                          const NumberOf& number_of, const KeysOf& keys_of,
                          Attribution& attribution) {
  const auto all = target.target().heads();
  for (const std::size_t layer : heads.layers()) {
    const auto& numbers = all[layer];
    for (std::size_t at = 0; at < numbers.size(); ++at) {
      attribution.heads.push_back(
          {layer, numbers[at], {number_of(layer, at)}, keys_of(layer, at)});
    }
  }
}

Result<Attribution> head_gradients(const AttributionFlags& flags,
                                   const ViewedHeads& heads) {
  HEADWISE_ASSIGN(const auto target, GradientTarget::read(flags, heads));
  Attribution attribution;
  attribution.columns = {flags.name};
  attribution.target = target.of();
  const Executor& executor = *heads.options().executor;
  if (flags.name == "gradient") {
    HEADWISE_ASSIGN(const auto layers, target.target().gradient_attention_of(
                                           target.ids(), executor));
    attribution.key_column = "key_gradients";
    add_attributed_heads(
        heads, target,
        [&](std::size_t layer, std::size_t at) {
          return layers[layer].totals(0, at);
        },
        [&](std::size_t layer, std::size_t at) {
          return numbers_of(layers[layer].columns, at);
        },
        attribution);
    return attribution;
  }
  HEADWISE_ASSIGN(
      const auto parts,
      integrated_gates(
          target.target().gated(target.ids(), executor), 0,
          {.path = flags.name == "integrated" ? GatePath::all_layers
                                              : GatePath::each_layer}));
  add_attributed_heads(
      heads, target,
      [&](std::size_t layer, std::size_t at) { return parts[layer][at]; },
      [](std::size_t, std::size_t) { return std::vector<double>(); },
      attribution);
  return attribution;
}

}  // namespace

Attribution attribution_by_norms() {
  Attribution attribution;
  attribution.name = "norms";
  attribution.columns = {"norm"};
  for (const std::string& name : statistic_names()) {
    attribution.columns.push_back("norm_" + name);
  }
  attribution.key_column = "key_norms";
  return attribution;
}

void add_norms(const NumberedLayer& layer, TensorView<const float, 3> norms,
               const NormStatistics& done, Attribution& attribution) {
  const std::vector<double> sums = mean_sums(done);
  for (std::size_t h = 0; h < sums.size(); ++h) {
    HeadAttribution& head = attribution.heads.emplace_back();
    head.layer = layer.number;
    head.head = layer.heads.numbers()[h];
    head.numbers = {sums[h]};
    for (std::size_t k = 0; k < kStatistics; ++k) {
      head.numbers.push_back(
          static_cast<double>(done.shares.pooled.means(h, k)));
    }
    head.keys = numbers_of(norms, h);
  }
}

Result<Attribution> compute_attribution(const AttributionFlags& flags,
                                        const ViewedHeads& heads) {
  auto attribution = flags.name == "rollout" ? rollout_of(flags, heads)
                     : flags.name == "flow"  ? flow_of(flags, heads)
                                             : head_gradients(flags, heads);
  if (attribution) {
    attribution->name = flags.name;
  }
  return attribution;
}

}  // namespace headwise::cli
