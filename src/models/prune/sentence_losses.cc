#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/logarithm.h"
#include "base/out_of_memory.h"
#include "headwise/models/text_model.h"
#include "headwise/module/optimizer.h"
#include "headwise/prune/sentence_importance.h"
#include "train/next_tokens.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kSentenceLosses = "sentence_losses";
constexpr std::uint32_t kDirectionStream = 8;

// What all functions of a model look at.
struct Sentences {
  const SentenceEncoder& encoder;
  const RaggedTokens& ids;
  const Executor& executor;

  // Errors: invalid_argument for a sentence without a token, which has no
  // embedding.
  Result<RaggedTokens> batch(std::size_t begin, std::size_t end) const {
    for (std::size_t n = begin; n < end; ++n) {
      if (ids[n].empty()) {
        return argument_error(kSentenceLosses,
                              "sentences.ids[" + std::to_string(n) + "]",
                              "has no tokens", "at least 1");
      }
    }
    return RaggedTokens(ids.begin() + static_cast<std::ptrdiff_t>(begin),
                        ids.begin() + static_cast<std::ptrdiff_t>(end));
  }
};

// (sentences, embedding_size)
Result<Tensor<float, 2>> embeddings_of(const Sentences& sentences,
                                       std::size_t begin, std::size_t end,
                                       HeadGateSpan gates) {
  HEADWISE_ASSIGN(const auto ids, sentences.batch(begin, end));
  HEADWISE_ASSIGN(
      const auto hidden,
      sentences.encoder.encoder().hidden(
          ids, {.head_gates = gates, .executor = &sentences.executor}));
  HEADWISE_ASSIGN(auto embeddings,
                  Tensor<float, 2>::create_unset(
                      {ids.size(), sentences.encoder.embedding_size()}));
  std::size_t row = 0;
  for (std::size_t n = 0; n < ids.size(); ++n) {
    const std::size_t tokens = ids[n].size();
    sentences.encoder.embed({&hidden(row, 0), {tokens, hidden.extent(1)}},
                            sentences.encoder.settings().normalize,
                            {&embeddings(n, 0), embeddings.extent(1)});
    row += tokens;
  }
  return embeddings;
}

// Gradients by the gates of losses whose gradients by the embeddings are
// `d_of` them.
template <class DOf>
Result<std::vector<Tensor<float, 2>>> gate_gradients(const Sentences& sentences,
                                                     std::size_t begin,
                                                     std::size_t end,
                                                     HeadGateSpan gates,
                                                     const DOf& d_of) {
  HEADWISE_ASSIGN(const auto ids, sentences.batch(begin, end));
  HEADWISE_ASSIGN(auto saved, sentences.encoder.forward_for_backward(
                                  ids, {.head_gates = gates,
                                        .executor = &sentences.executor}));
  HEADWISE_ASSIGN(const auto d, d_of(saved.embeddings));
  HEADWISE_ASSIGN(auto gradients,
                  sentences.encoder.backward(saved, d, ModelWanted::gates));
  return std::move(gradients.head_gates);
}

// Entropy and largest weight of each head over the queries of one sentence.
void add_means(TensorView<const float, 4> weights, std::size_t x,
               Tensor<float, 2>& entropy, Tensor<float, 2>& largest) {
  const auto [B, H, Lq, Lkv] = weights.extents();
  for (std::size_t h = 0; h < H; ++h) {
    double nats = 0;
    double most = 0;
    for (std::size_t i = 0; i < Lq; ++i) {
      float row_most = 0;
      for (std::size_t j = 0; j < Lkv; ++j) {
        const float p = weights(0, h, i, j);
        row_most = std::max(row_most, p);
        nats -=
            p > 0 ? static_cast<double>(p) * natural_log(static_cast<double>(p))
                  : 0;
      }
      most += static_cast<double>(row_most);
    }
    entropy(x, h) = static_cast<float>(nats / static_cast<double>(Lq));
    largest(x, h) = static_cast<float>(most / static_cast<double>(Lq));
  }
}

Result<HeadMeans> means_of(const Sentences& sentences, std::size_t begin,
                           std::size_t end, HeadGateSpan gates) {
  HeadMeans means;
  for (const auto& layer : gates) {
    for (auto* into : {&means.entropy, &means.largest}) {
      HEADWISE_ASSIGN(auto made,
                      Tensor<float, 2>::create({end - begin, layer.extent(0)}));
      into->push_back(std::move(made));
    }
  }
  // One at a time: the matrices of one sentence are what memory is for.
  for (std::size_t n = begin; n < end; ++n) {
    HEADWISE_ASSIGN(const auto ids, sentences.batch(n, n + 1));
    const auto see = [&](const AttentionPlace& place,
                         TensorView<const float, 4> weights) {
      add_means(weights, n - begin, means.entropy[place.layer],
                means.largest[place.layer]);
      return ok();
    };
    HEADWISE_TRY(sentences.encoder.encoder().hidden(
        ids, {.head_gates = gates,
              .see_attn_weights = see,
              .executor = &sentences.executor}));
  }
  return means;
}

// A function of a model: `work`, or out_of_memory when it ran out.
template <class Work>
auto model_function(Work work) {
  return [work = std::move(work)](std::size_t begin, std::size_t end,
                                  HeadGateSpan gates) {
    return catching_out_of_memory([&] { return work(begin, end, gates); });
  };
}

GatedModel model_of(const Sentences& sentences) {
  return {
      .heads = heads_left(sentences.encoder.encoder()),
      .examples = sentences.ids.size(),
      .means = model_function(
          [sentences](std::size_t begin, std::size_t end, HeadGateSpan gates) {
            return means_of(sentences, begin, end, gates);
          })};
}

// ---- Classification. ----

Result<std::span<const std::int64_t>> targets_of(
    const std::vector<std::int64_t>& targets, const Sentences& sentences,
    std::size_t begin, std::size_t end) {
  HEADWISE_TRY(check_shape(kSentenceLosses, "targets",
                           Extents<1>{targets.size()}, "(sentences)",
                           Extents<1>{sentences.ids.size()}));
  return std::span(targets).subspan(begin, end - begin);
}

Result<CrossEntropy> loss_of(const Tensor<float, 2>& logits, std::size_t row,
                             std::int64_t target) {
  return cross_entropy({&logits(row, 0), {1, logits.extent(1)}},
                       {&target, {1}});
}

// The gradient of each example's own loss with respect to its embedding.
Result<Tensor<float, 2>> d_embeddings_of(
    const LabelProbe& probe, const Tensor<float, 2>& embeddings,
    std::span<const std::int64_t> targets) {
  HEADWISE_ASSIGN(const auto logits, probe.logits(embeddings));
  HEADWISE_ASSIGN(auto d_logits, Tensor<float, 3>::create_unset(
                                     {1, logits.extent(0), logits.extent(1)}));
  for (std::size_t n = 0; n < targets.size(); ++n) {
    HEADWISE_ASSIGN(const auto loss, loss_of(logits, n, targets[n]));
    std::ranges::copy(loss.d_logits.elements(), &d_logits(0, n, 0));
  }
  auto d = probe.linear().backward_input(d_logits);
  return d ? Result<Tensor<float, 2>>(std::move(*d).without_batch())
           : d.error();
}

Result<std::vector<double>> classification_loss(
    const LabelProbe& probe, const Tensor<float, 2>& embeddings,
    std::span<const std::int64_t> targets) {
  HEADWISE_ASSIGN(const auto logits, probe.logits(embeddings));
  std::vector<double> losses;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    HEADWISE_ASSIGN(const auto loss, loss_of(logits, n, targets[n]));
    losses.push_back(loss.loss);
  }
  return losses;
}

// ---- Embeddings. ----

std::vector<Tensor<float, 1>> ones_like(HeadGateSpan gates, Status& status) {
  std::vector<Tensor<float, 1>> ones;
  for (const auto& layer : gates) {
    auto made = Tensor<float, 1>::create(layer.extents());
    if (!made) {
      status = made.error();
      return {};
    }
    std::ranges::fill(made->elements(), 1.0f);
    ones.push_back(*std::move(made));
  }
  return ones;
}

Result<std::vector<double>> embedding_loss(const Sentences& sentences,
                                           std::size_t begin, std::size_t end,
                                           HeadGateSpan gates) {
  Status made = ok();
  const auto ones = ones_like(gates, made);
  HEADWISE_TRY(made);
  HEADWISE_ASSIGN(const auto now, embeddings_of(sentences, begin, end, gates));
  HEADWISE_ASSIGN(const auto whole, embeddings_of(sentences, begin, end, ones));
  std::vector<double> losses;
  for (std::size_t n = 0; n < now.extent(0); ++n) {
    double sum = 0;
    for (std::size_t e = 0; e < now.extent(1); ++e) {
      const double by =
          static_cast<double>(now(n, e)) - static_cast<double>(whole(n, e));
      sum += by * by;
    }
    losses.push_back(sum);
  }
  return losses;
}

// ---- Next tokens. ----

// The mean over the tokens of a text but the first. Errors: those of
// Transformer::logits().
Result<CrossEntropy> next_token_loss(const Transformer& model,
                                     TensorView<const float, 2> hidden,
                                     const std::vector<TokenId>& text,
                                     const Executor& executor) {
  HEADWISE_ASSIGN(const auto logits, model.logits(hidden, &executor));
  const auto targets = next_tokens({text});
  return cross_entropy(logits, {targets.data(), {targets.size()}});
}

// Calls use for each text of two tokens or more, one text at a time, because
// the logits of one text already take most of the memory.
template <class Use>
Status each_text(const Sentences& sentences, std::size_t begin, std::size_t end,
                 const Use& use) {
  for (std::size_t n = begin; n < end; ++n) {
    if (sentences.ids[n].size() > 1) {
      HEADWISE_TRY(use(n - begin, sentences.ids[n]));
    }
  }
  return ok();
}

Result<std::vector<double>> text_losses(const Sentences& sentences,
                                        std::size_t begin, std::size_t end,
                                        HeadGateSpan gates) {
  const Transformer& model = sentences.encoder.encoder();
  const Executor& executor = sentences.executor;
  std::vector<double> losses(end - begin);
  HEADWISE_TRY(each_text(
      sentences, begin, end,
      [&](std::size_t at, const std::vector<TokenId>& text) -> Status {
        HEADWISE_ASSIGN(
            const auto hidden,
            model.hidden({text}, {.head_gates = gates, .executor = &executor}));
        HEADWISE_ASSIGN(const auto loss,
                        next_token_loss(model, hidden, text, executor));
        losses[at] = loss.loss;
        return ok();
      }));
  return losses;
}

Result<std::vector<Tensor<float, 2>>> text_gradients(const Sentences& sentences,
                                                     std::size_t begin,
                                                     std::size_t end,
                                                     HeadGateSpan gates) {
  const Transformer& model = sentences.encoder.encoder();
  const Executor& executor = sentences.executor;
  std::vector<Tensor<float, 2>> all;
  for (const auto& layer : gates) {
    HEADWISE_ASSIGN(all.emplace_back(),
                    (Tensor<float, 2>::create({end - begin, layer.extent(0)})));
  }
  HEADWISE_TRY(each_text(
      sentences, begin, end,
      [&](std::size_t at, const std::vector<TokenId>& text) -> Status {
        HEADWISE_ASSIGN(auto saved, model.forward_for_backward(
                                        {text}, {.head_gates = gates,
                                                 .executor = &executor}));
        HEADWISE_ASSIGN(const auto loss,
                        next_token_loss(model, saved.hidden(), text, executor));
        HEADWISE_ASSIGN(const auto made,
                        model.backward_from_logits(saved, loss.d_logits,
                                                   ModelWanted::gates));
        for (std::size_t n = 0; n < all.size(); ++n) {
          std::ranges::copy(made.head_gates[n].elements(),
                            all[n].data() + at * all[n].extent(1));
        }
        return ok();
      }));
  return all;
}

}  // namespace

GatedModel language_losses(const SentenceEncoder& model,
                           const RaggedTokens& ids, const Executor& executor) {
  const Sentences sentences{model, ids, executor};
  GatedModel made = model_of(sentences);
  made.losses = model_function(
      [=](std::size_t begin, std::size_t end, HeadGateSpan gates) {
        return text_losses(sentences, begin, end, gates);
      });
  made.gradients = model_function(
      [=](std::size_t begin, std::size_t end, HeadGateSpan gates) {
        return text_gradients(sentences, begin, end, gates);
      });
  return made;
}

GatedModel classification_losses(const SentenceEncoder& encoder,
                                 const LabelProbe& probe,
                                 const RaggedTokens& ids,
                                 const std::vector<std::int64_t>& targets,
                                 const Executor& executor) {
  const Sentences sentences{encoder, ids, executor};
  GatedModel model = model_of(sentences);
  model.losses = model_function(
      [=, &probe, &targets](std::size_t begin, std::size_t end,
                            HeadGateSpan gates) -> Result<std::vector<double>> {
        HEADWISE_ASSIGN(const auto of_batch,
                        targets_of(targets, sentences, begin, end));
        const auto embeddings = embeddings_of(sentences, begin, end, gates);
        return embeddings ? classification_loss(probe, *embeddings, of_batch)
                          : embeddings.error();
      });
  model.gradients = model_function(
      [=, &probe, &targets](
          std::size_t begin, std::size_t end,
          HeadGateSpan gates) -> Result<std::vector<Tensor<float, 2>>> {
        HEADWISE_ASSIGN(const auto of_batch,
                        targets_of(targets, sentences, begin, end));
        return gate_gradients(sentences, begin, end, gates,
                              [&](const Tensor<float, 2>& embeddings) {
                                return d_embeddings_of(probe, embeddings,
                                                       of_batch);
                              });
      });
  return model;
}

GatedModel embedding_losses(const SentenceEncoder& encoder,
                            const RaggedTokens& ids, Seed seed,
                            const Executor& executor) {
  const Sentences sentences{encoder, ids, executor};
  GatedModel model = model_of(sentences);
  model.losses = model_function(
      [=](std::size_t begin, std::size_t end, HeadGateSpan gates) {
        return embedding_loss(sentences, begin, end, gates);
      });
  model.gradients = model_function([=](std::size_t begin, std::size_t end,
                                       HeadGateSpan gates) {
    const auto directions = [&](const Tensor<float, 2>& embeddings) {
      auto d = Tensor<float, 2>::create_unset(embeddings.extents());
      for (std::size_t n = 0; d && n < end - begin; ++n) {
        RandomStream(seed, kDirectionStream)
            .substream(begin + n)
            .fill_normal(d->elements().subspan(n * d->extent(1), d->extent(1)));
      }
      return d;
    };
    return gate_gradients(sentences, begin, end, gates, directions);
  });
  return model;
}

}  // namespace headwise::inline HEADWISE_ABI
