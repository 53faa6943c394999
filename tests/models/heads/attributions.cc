// For minilm_test.py: what heads add and pass on, of texts in a padded batch.
//
//   attributions MODEL < TEXTS
//   attributions MODEL PRUNED LAYER.HEAD...
//
// The second writes the model without these heads into the folder PRUNED.
// TEXTS has a text per line. Padding is NaN, so that what reads it shows.
// Prints JSON: for each text, for each layer with heads, the mean of each
// head's sums of w |f| and of the entropy of its shares, and the norms of the
// layer by key; the rollout of the first and the last token.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headwise/heads/norm_statistics.h"
#include "headwise/heads/rollout.h"
#include "headwise/models/sentence_encoder.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"
#include "headwise/prune/remove_heads.h"

namespace headwise {
namespace {

struct Text {
  std::vector<TokenId> ids;
  std::size_t L() const { return ids.size(); }
};

// The heads of a layer, of all texts.
struct PaddedLayer {
  std::size_t number;
  Tensor<float, 4> query;
  Tensor<float, 4> key;
  Tensor<float, 4> value;
};

Tensor<float, 4> padding(std::size_t texts, std::size_t L, std::size_t heads,
                         std::size_t size) {
  auto made = Tensor<float, 4>::create({texts, L, heads, size}).value();
  std::ranges::fill(made.elements(), std::numeric_limits<float>::quiet_NaN());
  return made;
}

void put(TensorView<const float, 4> from, std::size_t text,
         Tensor<float, 4>& to) {
  const auto [B, L, H, D] = from.extents();
  for (std::size_t n = 0; n < L * H * D; ++n) {
    to(text, n / (H * D), n / D % H, n % D) =
        from(0, n / (H * D), n / D % H, n % D);
  }
}

std::vector<PaddedLayer> layers_of(const TextModel& model,
                                   const std::vector<Text>& texts,
                                   std::size_t longest) {
  std::vector<PaddedLayer> layers;
  for (std::size_t n = 0; n < model.shape().num_layers; ++n) {
    if (!model.heads_in(n).empty()) {
      const MultiHeadAttentionConfig& config = model.attention(n).config();
      layers.push_back(
          {n,
           padding(texts.size(), longest, config.num_heads, *config.head_dim),
           padding(texts.size(), longest, *config.num_kv_heads,
                   *config.head_dim),
           padding(texts.size(), longest, *config.num_kv_heads,
                   *config.v_head_dim)});
    }
  }
  for (std::size_t text = 0; text < texts.size(); ++text) {
    const RaggedTokens ids = {texts[text].ids};
    const auto see = [&](HookPlace at, const HookedHeads& heads) {
      const auto layer =
          std::ranges::find(layers, at.layer, &PaddedLayer::number);
      put(heads.query, text, layer->query);
      put(heads.key, text, layer->key);
      put(heads.value, text, layer->value);
      return ok();
    };
    model.run(ids, {.hooks = {.see_inputs = see}}).value();
  }
  return layers;
}

template <class Number>
void print_list(const char* name, std::size_t count, const Number& number) {
  std::printf("\"%s\": [", name);
  for (std::size_t n = 0; n < count; ++n) {
    std::printf("%s%.9g", n == 0 ? "" : ", ", static_cast<double>(number(n)));
  }
  std::printf("]");
}

// What is printed of a layer.
struct LayerResults {
  NormStatistics of_heads;
  LayerNorms of_layer;
};

void print_layer(const PaddedLayer& layer, const LayerResults& done,
                 std::size_t text, std::size_t L) {
  const auto mean = [&](const auto& of_query) {
    double sum = 0;
    for (std::size_t i = 0; i < L; ++i) {
      sum += static_cast<double>(of_query(i));
    }
    return sum / static_cast<double>(L);
  };
  const std::size_t H = layer.query.extent(2);
  std::printf("{\"layer\": %zu, ", layer.number);
  print_list("norm", H, [&](std::size_t h) {
    return mean([&](std::size_t i) { return done.of_heads.sums(text, i, h); });
  });
  std::printf(", ");
  print_list("norm_entropy", H, [&](std::size_t h) {
    return mean([&](std::size_t i) {
      return done.of_heads.shares.row(text, h, i, Statistic::entropy);
    });
  });
  std::printf(", ");
  print_list("layer_norms", L,
             [&](std::size_t j) { return done.of_layer.columns(text, j); });
  std::printf("}");
}

void run(const TextModel& model, const std::vector<Text>& texts) {
  std::size_t longest = 0;
  for (const Text& text : texts) {
    longest = std::max(longest, text.L());
  }
  // A query that is padding has no key.
  const std::size_t B = texts.size();
  auto lengths = Tensor<std::int64_t, 2>::create({B, longest}).value();
  auto rows = Tensor<float, 3>::create({B, 2, longest}).value();
  for (std::size_t b = 0; b < B; ++b) {
    for (std::size_t i = 0; i < texts[b].L(); ++i) {
      lengths(b, i) = static_cast<std::int64_t>(texts[b].L());
    }
    rows(b, 0, 0) = 1;
    rows(b, 1, texts[b].L() - 1) = 1;
  }
  const AttentionOptions options = {.mask = key_lengths(lengths.view())};
  const auto layers = layers_of(model, texts, longest);
  std::vector<LayerResults> results;
  std::vector<ComparedHeads> compared;
  for (const PaddedLayer& layer : layers) {
    const MultiHeadAttention& attention = model.attention(layer.number);
    const auto norms = value_norms(attention, layer.value).value();
    results.push_back(
        {norm_statistics(layer.query, layer.key, norms, options, {}).value(),
         layer_norms(attention, {layer.query, layer.key, layer.value}, options)
             .value()});
    compared.push_back({layer.query, layer.key});
  }
  const auto passed = rollout(compared, rows, options).value();
  std::printf("[");
  for (std::size_t b = 0; b < B; ++b) {
    std::printf("%s{\"layers\": [", b == 0 ? "" : ",\n");
    for (std::size_t n = 0; n < layers.size(); ++n) {
      std::printf("%s", n == 0 ? "" : ",\n");
      print_layer(layers[n], results[n], b, texts[b].L());
    }
    std::printf("],\n");
    print_list("first", texts[b].L(),
               [&](std::size_t j) { return passed(b, 0, j); });
    std::printf(", ");
    print_list("last", texts[b].L(),
               [&](std::size_t j) { return passed(b, 1, j); });
    std::printf("}");
  }
  std::printf("]\n");
}

void write_without(const std::string& folder, const std::string& to,
                   std::span<char* const> names) {
  auto model =
      SentenceEncoder::read(folder, {.use = ModelUse::training}).value();
  std::vector<HeadId> heads;
  for (const char* const name : names) {
    char* head = nullptr;
    const std::size_t layer = std::strtoul(name, &head, 10);
    heads.push_back({layer, std::strtoul(head + 1, nullptr, 10)});
  }
  remove_heads(model.encoder(), heads).value();
  write_pruned(folder, to, model.encoder()).value();
}

}  // namespace
}  // namespace headwise

int main(int count, char** arguments) {
  if (count < 2) {
    std::fputs("usage: attributions MODEL [PRUNED LAYER.HEAD...]\n", stderr);
    return 2;
  }
  if (count > 2) {
    headwise::write_without(
        arguments[1], arguments[2],
        {arguments + 3, static_cast<std::size_t>(count - 3)});
    return 0;
  }
  const auto model = headwise::read_text_model(arguments[1]).value();
  std::vector<headwise::Text> texts;
  for (std::string line; std::getline(std::cin, line);) {
    texts.push_back(
        {model->encode(line, model->shape().max_tokens).value().ids});
  }
  headwise::run(*model, texts);
}
