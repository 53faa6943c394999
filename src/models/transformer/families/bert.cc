// BERT, and the encoders that differ from it in their embeddings.
#include <algorithm>
#include <cmath>
#include <utility>

#include "transformer/families.h"
#include "transformer/families/bert_like.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
Description describe_bert_like(Settings& settings,
                               const BertDefaults& defaults) {
  Description made;
  StackSpec& stack = made.stack;
  stack.hidden_size = settings.size("hidden_size", 768);
  stack.embedding = {
      .vocab_size = settings.size("vocab_size", 30522),
      .size = stack.hidden_size,
      .positions = settings.size("max_position_embeddings", 512),
      .token_types = settings.size("type_vocab_size", defaults.token_types, 0)};
  HeadsSpec& heads = stack.heads;
  heads.num_heads = heads.num_kv_heads =
      settings.size("num_attention_heads", 12);
  heads.head_dim = settings.head_size(stack.hidden_size, heads.num_heads);
  heads.scale = 1 / std::sqrt(static_cast<double>(heads.head_dim));
  settings.require_flag("is_decoder", false);
  settings.require_text("position_embedding_type", "absolute");
  stack.feed_forward = {
      .size = settings.size("intermediate_size", 3072),
      .activation = settings.activation("hidden_act", "gelu")};
  stack.norm = {.kind = NormKind::layer,
                .eps = settings.number("layer_norm_eps", defaults.eps)};
  stack.layers = settings.layers("num_hidden_layers", 12);
  made.names = {
      {"embeddings.word_embeddings", Part::tokens},
      {"embeddings.position_embeddings", Part::positions},
      {"embeddings.LayerNorm", Part::embedding_norm, Form::plain, true},
      {"encoder.layer.{N}.attention.self.query", Part::w_q, Form::plain, true},
      {"encoder.layer.{N}.attention.self.key", Part::w_k, Form::plain, true},
      {"encoder.layer.{N}.attention.self.value", Part::w_v, Form::plain, true},
      {"encoder.layer.{N}.attention.output.dense", Part::w_o, Form::plain,
       true},
      {"encoder.layer.{N}.attention.output.LayerNorm", Part::attention_behind,
       Form::plain, true},
      {"encoder.layer.{N}.intermediate.dense", Part::up, Form::plain, true},
      {"encoder.layer.{N}.output.dense", Part::down, Form::plain, true},
      {"encoder.layer.{N}.output.LayerNorm", Part::feed_behind, Form::plain,
       true}};
  if (stack.embedding.token_types != 0) {
    made.names.push_back(
        {"embeddings.token_type_embeddings", Part::token_types});
  }
  return made;
}

void rename_layers(std::span<const NewName> names, std::string_view layer,
                   Description& made) {
  constexpr std::string_view kOld = "encoder.layer.{N}.";
  for (TensorName& row : made.names) {
    if (!row.name.starts_with(kOld)) {
      continue;
    }
    const std::string old = row.name.substr(kOld.size());
    const auto found = std::ranges::find(names, old, &NewName::first);
    row.name = std::string(layer) +
               (found == names.end() ? old : std::string(found->second));
  }
}

namespace {

Result<Description> describe_bert(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_bert_like(settings);
  made.prefix = "bert.";
  HEADWISE_TRY(settings.status());
  return made;
}

// Positions are counted from pad_token_id + 1 on, over other tokens.
Result<Description> describe_roberta(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_bert_like(settings);
  made.prefix = "roberta.";
  const std::size_t pad = settings.size("pad_token_id", 1, 0);
  made.stack.embedding.first_position = pad + 1;
  made.stack.embedding.uncounted = static_cast<TokenId>(pad);
  HEADWISE_TRY(settings.status());
  return made;
}

// Smaller embeddings are projected.
Result<Description> describe_electra(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_bert_like(settings);
  made.prefix = "electra.";
  StackSpec& stack = made.stack;
  stack.embedding.size = settings.size("embedding_size", 128);
  if (stack.embedding.size != stack.hidden_size) {
    made.names.push_back(
        {"embeddings_project", Part::embedding_projection, Form::plain, true});
  }
  HEADWISE_TRY(settings.status());
  return made;
}

// A number per head and bucket of the distance is added to the scores; the
// buckets are T5's.
Result<Description> describe_mpnet(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_bert_like(settings);
  made.prefix = "mpnet.";
  EmbeddingSpec& embedding = made.stack.embedding;
  embedding.first_position = 2;
  embedding.uncounted = 1;
  embedding.token_types = 0;
  constexpr std::size_t kBuckets = 32;
  if (settings.size("relative_attention_num_buckets", kBuckets) != kBuckets) {
    settings.keep(config.unexpected("relative_attention_num_buckets", "32",
                                    ErrorCode::unsupported));
  }
  made.stack.heads.relative = {.buckets = kBuckets, .bidirectional = true};
  std::erase_if(made.names, [](const TensorName& row) {
    return row.part == Part::token_types;
  });
  made.names.push_back({"encoder.relative_attention_bias", Part::relative});
  constexpr NewName kNames[] = {
      {"attention.self.query", "attention.attn.q"},
      {"attention.self.key", "attention.attn.k"},
      {"attention.self.value", "attention.attn.v"},
      {"attention.output.dense", "attention.attn.o"},
      {"attention.output.LayerNorm", "attention.LayerNorm"}};
  rename_layers(kNames, "encoder.layer.{N}.", made);
  HEADWISE_TRY(settings.status());
  return made;
}

// Layers share their tensors, group by group.
Result<Description> describe_albert(const JsonPart& config) {
  Settings settings(config);
  Description made = describe_bert_like(settings);
  made.prefix = "albert.";
  StackSpec& stack = made.stack;
  stack.feed_forward.activation = settings.activation("hidden_act", "gelu_new");
  stack.embedding.size = settings.size("embedding_size", 128);
  const std::size_t layers = stack.layers.size();
  const std::size_t groups = settings.size("num_hidden_groups", 1);
  constexpr std::size_t kMostInner = 64;
  std::size_t inner = settings.size("inner_group_num", 1);
  if (inner > kMostInner) {
    settings.keep(config.unexpected(
        "inner_group_num", message("a whole number from 1 to {}", kMostInner)));
    inner = 1;
  }
  stack.layers.resize(layers * inner);
  for (std::size_t n = 0; n < stack.layers.size(); ++n) {
    stack.layers[n] = {.params = n / inner * groups / layers,
                       .inner = n % inner};
  }
  made.names.push_back({"encoder.embedding_hidden_mapping_in",
                        Part::embedding_projection, Form::plain, true});
  constexpr NewName kNames[] = {
      {"attention.self.query", "attention.query"},
      {"attention.self.key", "attention.key"},
      {"attention.self.value", "attention.value"},
      {"attention.output.dense", "attention.dense"},
      {"attention.output.LayerNorm", "attention.LayerNorm"},
      {"intermediate.dense", "ffn"},
      {"output.dense", "ffn_output"},
      {"output.LayerNorm", "full_layer_layer_norm"}};
  rename_layers(kNames, "encoder.albert_layer_groups.{N}.albert_layers.{K}.",
                made);
  HEADWISE_TRY(settings.status());
  return made;
}

Result<Description> describe_distilbert(const JsonPart& config) {
  Json merged = config.json();
  for (const auto& [old, key] : {std::pair("dim", "hidden_size"),
                                 {"n_heads", "num_attention_heads"},
                                 {"n_layers", "num_hidden_layers"},
                                 {"hidden_dim", "intermediate_size"},
                                 {"activation", "hidden_act"}}) {
    if (const Json* const value = config.json().find(old)) {
      merged[key] = *value;
    }
  }
  merged["type_vocab_size"] = 0;
  merged["layer_norm_eps"] = 1e-12;
  Settings settings(JsonPart(&merged, config.subject(), config.path()));
  Description made = describe_bert_like(settings);
  made.prefix = "distilbert.";
  constexpr NewName kNames[] = {{"attention.self.query", "attention.q_lin"},
                                {"attention.self.key", "attention.k_lin"},
                                {"attention.self.value", "attention.v_lin"},
                                {"attention.output.dense", "attention.out_lin"},
                                {"attention.output.LayerNorm", "sa_layer_norm"},
                                {"intermediate.dense", "ffn.lin1"},
                                {"output.dense", "ffn.lin2"},
                                {"output.LayerNorm", "output_layer_norm"}};
  rename_layers(kNames, "transformer.layer.{N}.", made);
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kBertLike[] = {
    {"bert", describe_bert},         {"distilbert", describe_distilbert},
    {"roberta", describe_roberta},   {"xlm-roberta", describe_roberta},
    {"camembert", describe_roberta}, {"mpnet", describe_mpnet},
    {"electra", describe_electra},   {"albert", describe_albert}};

}  // namespace

constexpr std::span<const Family> kBertFamilies = kBertLike;

}  // namespace headwise::inline HEADWISE_ABI::transformer
