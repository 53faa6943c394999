// The heads of texts in a model.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "ablated_gates.h"
#include "headwise/heads/text_view.h"
#include "headwise/interop/file_subject.h"
#include "headwise/models/text_model.h"
#include "headwise/module/head_hooks.h"
#include "headwise/run/executor.h"
#include "operation/models/text_file.h"
#include "operation/models/token_limit.h"
#include "shell/models/head_list.h"
#include "shell/models/read_model.h"
#include "shell/outcome.h"
#include "shell/say.h"
#include "shell/threads.h"
#include "viewed_heads.h"
#include "viewed_parts.h"

namespace headwise::cli {
namespace {

// What the texts of a call share.
struct LoadedModel {
  std::shared_ptr<const TextModel> model;
  Executor executor;
};

// A text, or the two sentences of a pair.
struct GivenText {
  std::string first;
  std::optional<std::string> second{};
  std::size_t empty_lines = 0;  // left out of its file

  std::string shown() const {
    return second ? "A: " + first + " B: " + *second : first;
  }
};

class ViewedSentence : public ViewedHeads {
 public:
  explicit ViewedSentence(std::shared_ptr<const LoadedModel> loaded)
      : loaded_(std::move(loaded)) {}

  // Reads `text`. The context of the heads `ablated` is replaced by 0. Errors:
  // those of TextModel::encode(), out_of_memory, of --layers, of --ablate for a
  // head that the model does not have and for heads that change none of
  // --layers.
  Status read(const ViewedFlags& flags, const GivenText& text,
              const std::vector<HeadId>& ablated = {});

  const TextModel* text_model() const override { return loaded_->model.get(); }

  AttentionOptions options() const override { return view_->options(); }
  OperationOptions operation_options() const override {
    return view_->operation_options();
  }

  Status visit(SeenParts parts, const SeeLayer& see) const override;

 private:
  const TextModel& model() const { return *loaded_->model; }
  Result<ModelTokens> encode(const ViewedFlags& flags,
                             const GivenText& text) const;

  std::shared_ptr<const LoadedModel> loaded_;
  std::optional<TextView> view_;
};

Result<ModelTokens> ViewedSentence::encode(const ViewedFlags& flags,
                                           const GivenText& text) const {
  if (!text.second) {
    return model().encode(text.first, text_.max_tokens);
  }
  constexpr std::size_t kFewestOfPair = 3;  // [CLS] and two [SEP]
  if (text_.max_tokens < kFewestOfPair) {
    return option_error("--pair",
                        message("has room for {} tokens", text_.max_tokens),
                        message("at least {}", kFewestOfPair));
  }
  auto pair = model().encode_pair(text.first, *text.second, text_.max_tokens);
  if (!pair && pair.error().code() == ErrorCode::unsupported) {
    return option_error(
        "--pair", message("needs token types; {} has none", flags.model),
        "a model that was trained on pairs", ErrorCode::unsupported);
  }
  return pair;
}

Status ViewedSentence::read(const ViewedFlags& flags, const GivenText& text,
                            const std::vector<HeadId>& ablated) {
  const TextModelShape& shape = model().shape();
  HEADWISE_ASSIGN(layers_, parse_layers(flags.layers, shape.num_layers));
  HEADWISE_ASSIGN(const auto limit,
                  token_limit(flags.max_tokens, flags.model, shape));
  text_.max_tokens = limit.tokens;
  text_.max_tokens_from = limit.from;
  text_.most_tokens = limit.most;
  text_.causal = shape.causal;
  HEADWISE_ASSIGN(auto encoded, encode(flags, text));
  if (encoded.ids.empty()) {  // in a model that adds none
    return option_error(flags.texts.empty() ? "TEXT" : "--texts",
                        "has no tokens", "at least 1");
  }
  std::vector<Tensor<float, 1>> gates;
  if (!ablated.empty()) {
    HEADWISE_ASSIGN(auto made, ablated_gates(model(), ablated));
    HEADWISE_TRY(check_seen(model(), ablated, layers_));
    gates = std::move(made);
    text_.variant = say("without {}", heads_text(ablated));
  }
  text_.model = flags.model;
  text_.text = text.shown();
  text_.cut_tokens = encoded.cut;
  text_.empty_lines = text.empty_lines;
  HEADWISE_ASSIGN(
      view_, TextView::create(model(), std::move(encoded), std::move(gates),
                              &loaded_->executor));
  text_.token_types = view_->token_types();
  text_.query_labels = text_.key_labels = view_->labels();
  text_.query_special = text_.key_special = view_->special();
  return ok();
}

Status ViewedSentence::visit(SeenParts parts, const SeeLayer& see) const {
  return view_->visit(
      {.layers = layers_,
       .steps = parts.steps,
       .norms = parts.norms,
       .norm_map = parts.norm_map},
      [&](const ViewedLayer& layer) {
        return see({layer, kept_heads(model(), layer.number), !layer.pruned()});
      });
}

// TEXT or the sentences of --pair.
Result<GivenText> read_one(const ViewedFlags& flags) {
  if (!flags.pair.empty()) {
    HEADWISE_TRY(check_utf8(FileSubject{"--pair", "A"}, flags.pair[0]));
    HEADWISE_TRY(check_utf8(FileSubject{"--pair", "B"}, flags.pair[1]));
    return GivenText{flags.pair[0], flags.pair[1]};
  }
  HEADWISE_ASSIGN(auto text, read_text_argument(*flags.text));
  return GivenText{std::move(text)};
}

constexpr OptionRule kOneStackRules[] = {{"--decoder-text|--part",
                                          OptionRule::never, "--model",
                                          "{} is for an encoder-decoder"}};

Result<std::vector<GivenText>> read_given(const ViewedFlags& flags) {
  std::vector<GivenText> given;
  if (flags.texts.empty()) {
    HEADWISE_ASSIGN(auto one, read_one(flags));
    given.push_back(std::move(one));
    return given;
  }
  HEADWISE_ASSIGN(const auto file, read_text_file(flags.texts));
  for (const std::string_view text : file.texts) {
    given.push_back(
        {.first = std::string(text), .empty_lines = file.empty_lines});
  }
  return given;
}

}  // namespace

Result<ManyHeads> read_viewed_sentences(const ViewedFlags& flags) {
  HEADWISE_ASSIGN(const auto given, read_given(flags));
  HEADWISE_ASSIGN(const auto executor, executor_with(flags.operation.threads));
  // The encoder of an encoder-decoder reads a text alone.
  const bool encoder_alone =
      flags.part == "encoder" && flags.decoder_text.empty();
  std::vector<ViewedFlags> models = {flags};
  if (!flags.against.empty()) {
    models.push_back(flags);
    models.back().model = flags.against;
  }
  std::vector<std::shared_ptr<const LoadedModel>> loaded;
  for (const ViewedFlags& one : models) {
    HEADWISE_ASSIGN(auto model, !loaded.empty()
                                    ? read_any_model(one.model, "--against")
                                : encoder_alone ? read_encoder_alone(one.model)
                                                : read_viewed_model(one.model));
    loaded.push_back(std::make_shared<const LoadedModel>(
        LoadedModel{std::move(model), executor}));
  }
  if (loaded.front()->model->shape().encoder_layers != 0) {
    return read_viewed_parts(flags, loaded.front()->model, executor);
  }
  if (!encoder_alone) {
    HEADWISE_TRY(flags.line.check(kOneStackRules));
  }
  std::vector<HeadId> ablated;
  if (!flags.ablate.empty()) {
    HEADWISE_ASSIGN(ablated, parse_head_list("--ablate", flags.ablate));
  }
  ManyHeads all;
  for (const GivenText& text : given) {
    for (std::size_t n = 0; n < models.size(); ++n) {
      auto seen = std::make_unique<ViewedSentence>(loaded[n]);
      HEADWISE_TRY(seen->read(models[n], text));
      all.push_back(std::move(seen));
    }
    if (!ablated.empty()) {
      auto variant = std::make_unique<ViewedSentence>(loaded.front());
      HEADWISE_TRY(variant->read(flags, text, ablated));
      all.push_back(std::move(variant));
    }
  }
  return all;
}

}  // namespace headwise::cli
