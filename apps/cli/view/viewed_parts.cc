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
     "--model", "{} cannot be used with an encoder-decoder"},
    {"--model", OptionRule::needs, "--decoder-text",
     "--decoder-text TEXT: the model is an encoder-decoder"}};

// A text and its tokens.
struct ReadTokens {
  std::vector<TokenId> ids;
  std::vector<std::string> labels;
  std::vector<std::size_t> special;
};

ReadTokens read_tokens(const TextModel& model, std::vector<TokenId> ids) {
  ReadTokens read{.ids = std::move(ids), .labels = {}, .special = {}};
  for (const TokenId id : read.ids) {
    if (model.is_special(id)) {
      read.special.push_back(read.labels.size());
    }
    read.labels.push_back(model.label(id));
  }
  return read;
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

}  // namespace

Result<ManyHeads> read_viewed_parts(const ViewedFlags& flags,
                                    std::shared_ptr<const TextModel> model,
                                    const Executor& executor) {
  HEADWISE_TRY(flags.line.check(kPartsRules));
  const TextModelShape& shape = model->shape();
  HEADWISE_ASSIGN(const auto source_text, read_text_argument(*flags.text));
  HEADWISE_ASSIGN(const auto limit,
                  token_limit(flags.max_tokens, flags.model, shape));
  HEADWISE_ASSIGN(auto source_ids, model->encode(source_text, limit.tokens));
  auto target_ids = model->encode(flags.decoder_text, limit.tokens);
  if (!target_ids) {
    return error_of_option("--decoder-text", target_ids.error());
  }
  const ReadTokens source = read_tokens(*model, std::move(source_ids.ids));
  const ReadTokens target = read_tokens(
      *model, shifted(std::move(target_ids->ids), shape.decoder_start));
  const auto loaded = std::make_shared<const LoadedParts>(
      LoadedParts{std::move(model), executor, {source.ids}, {target.ids}});
  ManyHeads all;
  for (const auto& [kind, name] : kParts) {
    if (!flags.part.empty() && flags.part != name) {
      continue;
    }
    const bool of_encoder = kind == AttentionKind::encoder;
    const bool is_cross = kind == AttentionKind::cross;
    const ReadTokens& queries = of_encoder ? source : target;
    const ReadTokens& keys = kind == AttentionKind::self ? target : source;
    ViewedText text;
    text.model = flags.model;
    text.text = is_cross     ? flags.decoder_text + " | " + source_text
                : of_encoder ? source_text
                             : flags.decoder_text;
    text.variant = name;
    text.cut_tokens = of_encoder ? source_ids.cut : target_ids->cut;
    text.max_tokens = limit.tokens;
    text.max_tokens_from = limit.from;
    text.most_tokens = limit.most;
    text.causal = kind == AttentionKind::self;
    text.cross = is_cross;
    text.query_labels = queries.labels;
    text.key_labels = keys.labels;
    text.query_special = queries.special;
    text.key_special = keys.special;
    HEADWISE_ASSIGN(auto layers,
                    parse_layers(flags.layers, of_encoder ? shape.encoder_layers
                                                          : shape.num_layers));
    auto part = std::make_unique<ViewedPart>(loaded, kind, std::move(text),
                                             std::move(layers));
    HEADWISE_TRY(part->find_separators());
    all.push_back(std::move(part));
  }
  return all;
}

}  // namespace headwise::cli
