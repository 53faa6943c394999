// The heads of an encoder-decoder, in three parts: those of its encoder, those
// of its decoder, and those with which the decoder looks at the encoder.
#include "viewed_parts.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "headwise/models/special_tokens.h"
#include "operation/models/text_file.h"
#include "operation/models/token_limit.h"
#include "shell/error_of_option.h"
#include "shell/outcome.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

struct Part {
  AttentionKind kind;
  std::string_view name;
};
constexpr Part kParts[] = {{AttentionKind::encoder, "encoder"},
                           {AttentionKind::self, "decoder"},
                           {AttentionKind::cross, "cross"}};

// What the parts share.
struct LoadedParts {
  std::shared_ptr<const TextModel> model;
  Executor executor;
  RaggedTokens source;
  RaggedTokens target;
};

class ViewedPart : public ViewedHeads {
 public:
  ViewedPart(std::shared_ptr<const LoadedParts> loaded, AttentionKind kind,
             ViewedText text, std::vector<std::size_t> layers)
      : loaded_(std::move(loaded)), kind_(kind) {
    text_ = std::move(text);
    layers_ = std::move(layers);
  }

  // Finds [SEP] and the like among the keys. Errors: out_of_memory.
  Status find_separators() {
    const auto& labels = text_.key_labels;
    HEADWISE_ASSIGN(separators_, Tensor<bool, 2>::create({1, labels.size()}));
    std::ranges::transform(labels, separators_.data(), is_separator);
    return ok();
  }

  AttentionOptions options() const override {
    return {.mask = text_.causal ? causal() : Mask(),
            .executor = &loaded_->executor};
  }
  OperationOptions operation_options() const override {
    OperationOptions options;
    options.statistics.separators = separators_;
    return options;
  }

  Status visit(SeenParts /*parts*/, const SeeLayer& see) const override {
    const auto show = [&](const AttentionPlace& place,
                          TensorView<const float, 4> weights) -> Status {
      if (place.kind != kind_ ||
          !std::ranges::binary_search(layers_, place.layer)) {
        return ok();
      }
      const ViewedLayer layer{.number = place.layer, .attn_weights = weights};
      const NumberedLayer numbered{layer, KeptHeads::all(weights.extent(1))};
      return see(numbered);
    };
    return loaded_->model->run(loaded_->source,
                               {.decoder_ids = &loaded_->target,
                                .see_attn_weights = show,
                                .executor = &loaded_->executor});
  }

 private:
  std::shared_ptr<const LoadedParts> loaded_;
  AttentionKind kind_;
  Tensor<bool, 2> separators_;
};

constexpr OptionRule kPartsRules[] = {
    {"--pair|--texts|--ablate|--against|--attribution", OptionRule::never,
     "--model",
     "{} needs --part encoder without --decoder-text: the model is an "
     "encoder-decoder"},
    {"--model", OptionRule::needs, "--decoder-text",
     "--decoder-text TEXT or --part encoder: the model is an "
     "encoder-decoder"}};

// A text as the encoder or the decoder reads it.
struct ReadText {
  std::string text;
  std::size_t cut = 0;
  std::vector<TokenId> ids{};
  std::vector<std::string> labels{};
  std::vector<std::size_t> special{};
};

void add_labels(const TextModel& model, ReadText& read) {
  for (const TokenId id : read.ids) {
    if (model.is_special(id)) {
      read.special.push_back(read.labels.size());
    }
    read.labels.push_back(model.label(id));
  }
}

// What a decoder reads to predict the tokens of a text one by one: its first
// token, and those of the text but the last.
std::vector<TokenId> shifted(std::vector<TokenId> ids, TokenId start) {
  ids.insert(ids.begin(), start);
  if (ids.size() > 1) {
    ids.pop_back();
  }
  return ids;
}

// TEXT, as the encoder reads it.
Result<ReadText> read_source(const ViewedFlags& flags, const TextModel& model,
                             const TokenLimit& limit) {
  HEADWISE_ASSIGN(auto text, read_text_argument(*flags.text));
  HEADWISE_ASSIGN(auto encoded, model.encode(text, limit.tokens));
  if (encoded.ids.empty()) {
    return option_error("TEXT", "has no tokens", "at least 1");
  }
  ReadText read{std::move(text), encoded.cut, std::move(encoded.ids)};
  add_labels(model, read);
  return read;
}

// --decoder-text, as the decoder reads it.
Result<ReadText> read_target(const ViewedFlags& flags, const TextModel& model,
                             const TokenLimit& limit) {
  auto encoded = model.encode(flags.decoder_text, limit.tokens);
  if (!encoded) {
    return error_of_option("--decoder-text", encoded.error());
  }
  ReadText read{flags.decoder_text, encoded->cut,
                shifted(std::move(encoded->ids), model.shape().decoder_start)};
  add_labels(model, read);
  return read;
}

ViewedText text_of(const Part& part, const ViewedFlags& flags,
                   const TokenLimit& limit, const ReadText& queries,
                   const ReadText& keys) {
  ViewedText text;
  text.model = flags.model;
  text.variant = part.name;
  text.causal = part.kind == AttentionKind::self;
  text.cross = part.kind == AttentionKind::cross;
  text.text = text.cross ? queries.text + " | " + keys.text : queries.text;
  text.cut_tokens = queries.cut;
  text.max_tokens = limit.tokens;
  text.max_tokens_from = limit.from;
  text.most_tokens = limit.most;
  text.query_labels = queries.labels;
  text.key_labels = keys.labels;
  text.query_special = queries.special;
  text.key_special = keys.special;
  return text;
}

}  // namespace

Result<ManyHeads> read_viewed_parts(const ViewedFlags& flags,
                                    std::shared_ptr<const TextModel> model,
                                    const Executor& executor) {
  HEADWISE_TRY(flags.line.check(kPartsRules));
  const TextModelShape& shape = model->shape();
  HEADWISE_ASSIGN(const auto limit,
                  token_limit(flags.max_tokens, flags.model, shape));
  HEADWISE_ASSIGN(const auto source, read_source(flags, *model, limit));
  HEADWISE_ASSIGN(const auto target, read_target(flags, *model, limit));
  const auto loaded = std::make_shared<const LoadedParts>(
      LoadedParts{model, executor, {source.ids}, {target.ids}});
  ManyHeads all;
  for (const Part& part : kParts) {
    if (!flags.part.empty() && flags.part != part.name) {
      continue;
    }
    const bool of_encoder = part.kind == AttentionKind::encoder;
    const bool of_decoder = part.kind == AttentionKind::self;
    HEADWISE_ASSIGN(auto layers,
                    parse_layers(flags.layers, of_encoder ? shape.encoder_layers
                                                          : shape.num_layers));
    auto made = std::make_unique<ViewedPart>(
        loaded, part.kind,
        text_of(part, flags, limit, of_encoder ? source : target,
                of_decoder ? target : source),
        std::move(layers));
    HEADWISE_TRY(made->find_separators());
    all.push_back(std::move(made));
  }
  return all;
}

}  // namespace headwise::cli
