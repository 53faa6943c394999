// The encoder's parameters: read, written and replaced by name.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/out_of_memory.h"
#include "headwise/models/bert_encoder.h"
#include "models/bert_names.h"
#include "models/bert_params.h"
#include "models/bert_rows.h"
#include "models/model_params.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kBertUpdate = "bert_encoder";
constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kBias = ".bias";

// places[type] = position + types[type]
void write_places(TensorView<const float, 2> position,
                  TensorView<const float, 2> types,
                  std::span<Tensor<float, 2>> places) {
  for (std::size_t type = 0; type < places.size(); ++type) {
    Tensor<float, 2>& place = places[type];
    for (std::size_t t = 0; t < place.extent(0); ++t) {
      std::copy_n(&position(t, 0), place.extent(1), &place(t, 0));
      for (std::size_t e = 0; types.extent(0) != 0 && e < place.extent(1);
           ++e) {
        place(t, e) += types(type, e);
      }
    }
  }
}

TensorView<const float, 2> types_of(const BertTables& tables) {
  return tables.type ? tables.type->weight() : TensorView<const float, 2>();
}

// Shows parameters to the callback of update(). Each name is written to the
// same text, so that no memory can run out halfway.
class Update {
 public:
  using Change = FunctionRef<Status(std::string_view, std::span<float>)>;

  // May throw std::bad_alloc.
  explicit Update(const Change& change) : change_(change) {
    constexpr std::size_t kLongerThanAnyName = 256;
    name_.reserve(kLongerThanAnyName);
  }

  Status table(Embedding& table, std::string_view name) {
    Status s = ok();
    table.update([&](std::span<float> weight) { s = change_(name, weight); });
    return s;
  }
  // Of the layer `n`, where {N} is in the name.
  Status norm(LayerNormParams& norm, std::string_view name, std::size_t n = 0) {
    HEADWISE_TRY(show(name, kWeight, n, norm.weight.elements()));
    return show(name, kBias, n, norm.bias.elements());
  }
  Status linear(Linear& linear, std::string_view name, std::size_t n) {
    Status s = ok();
    linear.update([&](std::span<float> weight, std::span<float> bias) {
      s = show(name, kWeight, n, weight);
      s = s ? show(name, kBias, n, bias) : s;
    });
    return s;
  }
  Status attention(MultiHeadAttention& attention, BertFamily family,
                   std::size_t n) {
    return attention.update(
        [&](std::string_view param, std::span<float> values) {
          return show(attention_param_pattern(family, param), "", n, values);
        });
  }

 private:
  Status show(std::string_view name, std::string_view part, std::size_t n,
              std::span<float> values) {
    name_.assign(name).append(part);
    if (const std::size_t mark = name_.find(kNumberMark);
        mark != std::string::npos) {
      std::array<char, std::numeric_limits<std::size_t>::digits10 + 1> digits{};
      const auto end =
          std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr;
      name_.replace(mark, kNumberMark.size(), digits.data(),
                    static_cast<std::size_t>(end - digits.data()));
    }
    return change_(name_, values);
  }

  Change change_;
  std::string name_;
};

Status update_tables(Update& update, BertEmbeddings& embeddings) {
  // Adds the tables up again, also if the callback throws.
  struct WritePlacesAtEnd {
    BertEmbeddings& embeddings;
    ~WritePlacesAtEnd() {
      write_places(embeddings.tables->position.weight(),
                   types_of(*embeddings.tables), embeddings.places);
    }
  };
  const WritePlacesAtEnd write_places_at_end{embeddings};
  BertTables& tables = *embeddings.tables;
  HEADWISE_TRY(update.table(tables.word, kWordTable));
  HEADWISE_TRY(update.table(tables.position, kPositionTable));
  return tables.type ? update.table(*tables.type, kTypeTable) : ok();
}

Status update_params(Update& update, BertParams& params) {
  HEADWISE_TRY(update_tables(update, params.embeddings));
  HEADWISE_TRY(update.norm(params.embeddings.norm, kEmbeddingNorm));
  const BertFamily family = params.config.family;
  const BertNames& names = bert_names(family);
  for (std::size_t n = 0; n < params.layers.size(); ++n) {
    BertLayer& layer = params.layers[n];
    HEADWISE_TRY(update.attention(layer.attention, family, n));
    HEADWISE_TRY(update.norm(layer.attention_norm, names.attention_norm, n));
    HEADWISE_TRY(update.linear(layer.intermediate, names.intermediate, n));
    HEADWISE_TRY(update.linear(layer.output, names.output, n));
    HEADWISE_TRY(update.norm(layer.output_norm, names.output_norm, n));
  }
  return ok();
}

}  // namespace

Result<std::vector<Tensor<float, 2>>> create_places(
    TensorView<const float, 2> position, TensorView<const float, 2> types) {
  constexpr std::size_t kTypesOfPair = 2;
  std::vector<Tensor<float, 2>> places;
  do {
    HEADWISE_ASSIGN(auto place,
                    Tensor<float, 2>::create_unset(position.extents()));
    places.push_back(std::move(place));
  } while (places.size() < std::min(types.extent(0), kTypesOfPair));
  write_places(position, types, places);
  return places;
}

Status set_tables(BertEmbeddings& embeddings, BertTables tables) {
  HEADWISE_ASSIGN(embeddings.places,
                  create_places(tables.position.weight(), types_of(tables)));
  embeddings.tables = std::move(tables);
  embeddings.word = embeddings.tables->word.weight();
  return ok();
}

Status BertEncoder::update(
    FunctionRef<Status(std::string_view, std::span<float>)> change) {
  // Only what comes before the callback may be caught: its exceptions pass.
  auto update = catching_out_of_memory([&]() -> Result<Update> {
    if (!state_->is_trainable()) {
      return error_for_inference(kBertUpdate);
    }
    return Update(change);
  });
  HEADWISE_TRY(update);
  return update_params(*update, *state_);
}

ParamViews BertEncoder::params() const {
  ParamViews views;
  if (!state_->is_trainable()) {
    return views;
  }
  const auto& [config, embeddings, layers] =
      static_cast<const BertParams&>(*state_);
  const BertTables& tables = *embeddings.tables;
  views.emplace(kWordTable, tables.word.weight());
  views.emplace(kPositionTable, tables.position.weight());
  if (tables.type) {
    views.emplace(kTypeTable, tables.type->weight());
  }
  add_views(embeddings.norm, std::string(kEmbeddingNorm), views);
  views.merge(attention_params());
  const BertNames& names = bert_names(config.family);
  for (std::size_t n = 0; n < layers.size(); ++n) {
    const BertLayer& layer = layers[n];
    add_views(layer.attention_norm, numbered(names.attention_norm, n), views);
    add_views(layer.intermediate, numbered(names.intermediate, n), views);
    add_views(layer.output, numbered(names.output, n), views);
    add_views(layer.output_norm, numbered(names.output_norm, n), views);
  }
  return views;
}

ParamViews BertEncoder::attention_params() const {
  ParamViews views;
  const std::vector<BertLayer>& layers = state_->layers;
  const BertFamily family = state_->config.family;
  for (std::size_t n = 0; state_->is_trainable() && n < layers.size(); ++n) {
    const MultiHeadAttentionParams& attention = *layers[n].attention.params();
    for (const auto& [param, linear] :
         {std::pair("w_q", &attention.w_q), std::pair("w_k", &attention.w_k),
          std::pair("w_v", &*attention.w_v),
          std::pair("w_o", &*attention.w_o)}) {
      add_views(*linear, attention_linear_name(family, param, n), views);
    }
  }
  return views;
}

Status BertEncoder::replace_attention(std::span<KeptAttention> layers) {
  return catching_out_of_memory([&] {
    return replace_attention_of(kBertUpdate, layers, state_->config,
                                state_->layers);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
