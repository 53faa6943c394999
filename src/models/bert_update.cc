// The encoder's parameters, to be looked at, written and replaced.
#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/models/bert_encoder.h"
#include "models/bert_names.h"
#include "models/bert_params.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kOperation = "bert_encoder";
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kBias = ".bias";

std::string joined(std::string_view name, std::string_view part) {
  return std::string(name) + std::string(part);
}

// place = position + type[0]
void write_place(const BertTables& tables, TensorView<float, 2> place) {
  const auto position = tables.position.weight();
  for (std::size_t t = 0; t < place.extent(0); ++t) {
    std::copy_n(&position(t, 0), place.extent(1), &place(t, 0));
  }
  if (tables.type) {
    add_to_each_row(place, tables.type->weight());
  }
}

void update_norm(LayerNormParams& norm, const std::string& name,
                 FunctionRef<void(std::string_view, std::span<float>)> change) {
  change(joined(name, kWeight), norm.weight.elements());
  change(joined(name, kBias), norm.bias.elements());
}

void update_linear(
    Linear& linear, const std::string& name,
    FunctionRef<void(std::string_view, std::span<float>)> change) {
  linear.update([&](std::span<float> weight, std::span<float> bias) {
    change(joined(name, kWeight), weight);
    change(joined(name, kBias), bias);
  });
}

using Views = std::map<std::string, AnyView>;

void view_norm(const LayerNormParams& norm, const std::string& name,
               Views& views) {
  views.emplace(joined(name, kWeight), norm.weight);
  views.emplace(joined(name, kBias), norm.bias);
}

void view_linear(const Linear& linear, const std::string& name, Views& views) {
  views.emplace(joined(name, kWeight), linear.weight());
  views.emplace(joined(name, kBias), linear.bias());
}

}  // namespace

void add_to_each_row(TensorView<float, 2> place,
                     TensorView<const float, 2> types) {
  for (std::size_t t = 0; t < place.extent(0); ++t) {
    for (std::size_t e = 0; e < place.extent(1); ++e) {
      place(t, e) += types(0, e);
    }
  }
}

Status set_tables(BertEmbeddings& embeddings, BertTables tables) {
  auto place = Tensor<float, 2>::create_unset(
      {tables.position.vocab_size(), tables.position.embed_dim()});
  HEADWISE_TRY(place);
  write_place(tables, *place);
  embeddings.place = *std::move(place);
  embeddings.tables = std::move(tables);
  embeddings.word = embeddings.tables->word.weight();
  return ok();
}

void BertEncoder::update(
    FunctionRef<void(std::string_view, std::span<float>)> change) {
  if (!is_trainable()) {
    return;
  }
  BertTables& tables = *embeddings_.tables;
  const auto update_table = [&](Embedding& table, std::string_view name) {
    table.update([&](std::span<float> weight) { change(name, weight); });
  };
  {
    // Adds up what `change` wrote, also when it throws.
    struct WritePlaceAtEnd {
      BertEmbeddings& embeddings;
      ~WritePlaceAtEnd() { write_place(*embeddings.tables, embeddings.place); }
    };
    const WritePlaceAtEnd write_place_at_end{embeddings_};
    update_table(tables.word, kWordTable);
    update_table(tables.position, kPositionTable);
    if (tables.type) {
      update_table(*tables.type, kTypeTable);
    }
  }
  update_norm(embeddings_.norm, std::string(kEmbeddingNorm), change);
  const BertNames& names = bert_names(config_.family);
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    BertLayer& layer = layers_[n];
    layer.attention.update(
        [&](std::string_view param, std::span<float> values) {
          change(attention_param_name(config_.family, param, n), values);
        });
    update_norm(layer.attention_norm, numbered(names.attention_norm, n),
                change);
    update_linear(layer.intermediate, numbered(names.intermediate, n), change);
    update_linear(layer.output, numbered(names.output, n), change);
    update_norm(layer.output_norm, numbered(names.output_norm, n), change);
  }
}

Views BertEncoder::params() const {
  Views views;
  if (!is_trainable()) {
    return views;
  }
  const BertTables& tables = *embeddings_.tables;
  views.emplace(kWordTable, tables.word.weight());
  views.emplace(kPositionTable, tables.position.weight());
  if (tables.type) {
    views.emplace(kTypeTable, tables.type->weight());
  }
  view_norm(embeddings_.norm, std::string(kEmbeddingNorm), views);
  views.merge(attention_params());
  const BertNames& names = bert_names(config_.family);
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    const BertLayer& layer = layers_[n];
    view_norm(layer.attention_norm, numbered(names.attention_norm, n), views);
    view_linear(layer.intermediate, numbered(names.intermediate, n), views);
    view_linear(layer.output, numbered(names.output, n), views);
    view_norm(layer.output_norm, numbered(names.output_norm, n), views);
  }
  return views;
}

Views BertEncoder::attention_params() const {
  Views views;
  for (std::size_t n = 0; is_trainable() && n < layers_.size(); ++n) {
    const MultiHeadAttentionParams& attention = *layers_[n].attention.params();
    for (const auto& [param, linear] :
         {std::pair("w_q", &attention.w_q), std::pair("w_k", &attention.w_k),
          std::pair("w_v", &*attention.w_v),
          std::pair("w_o", &*attention.w_o)}) {
      const auto name = [&, of = param](std::string_view part) {
        return attention_param_name(config_.family, joined(of, part), n);
      };
      views.emplace(name(kWeight), linear->weight());
      views.emplace(name(kBias), linear->bias());
    }
  }
  return views;
}

Status BertEncoder::replace_attention(std::size_t layer,
                                      MultiHeadAttention attention,
                                      std::vector<std::size_t> kept_heads) {
  return catching_out_of_memory([&]() -> Status {
    if (layer >= layers_.size()) {
      return value_error(kOperation, "layer", std::to_string(layer),
                         "0 to " + std::to_string(layers_.size() - 1),
                         ErrorCode::out_of_range);
    }
    const MultiHeadAttentionConfig& config = attention.config();
    HEADWISE_TRY(check_shape(
        kOperation, "attention",
        Extents<3>{*config.query_dim, config.embed_dim, config.num_heads},
        "(hidden_size, hidden_size, heads)",
        Extents<3>{config_.hidden_size, config_.hidden_size,
                   kept_heads.size()}));
    for (std::size_t n = 0; n < kept_heads.size(); ++n) {
      if (kept_heads[n] >= config_.num_heads ||
          (n != 0 && kept_heads[n] <= kept_heads[n - 1])) {
        return value_error(kOperation, "kept_heads[" + std::to_string(n) + "]",
                           std::to_string(kept_heads[n]),
                           "ascending numbers below num_heads = " +
                               std::to_string(config_.num_heads),
                           ErrorCode::out_of_range);
      }
    }
    if (config_.kept_heads.empty()) {
      config_.kept_heads.assign(layers_.size(), heads_in(config_, 0));
    }
    attention.share_memory_with(layers_[layer].attention);
    layers_[layer].attention = std::move(attention);
    config_.kept_heads[layer] = std::move(kept_heads);
    return ok();
  });
}

}  // namespace headwise::inline HEADWISE_ABI
