#include "generate_page.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "headwise/heads/text_view.h"
#include "headwise/inspect/view_page.h"
#include "headwise/interop/atomic_file.h"
#include "shell/error_of_option.h"
#include "shell/language.h"

namespace headwise::cli {
namespace {

// A text as tokens of an axis.
struct Axis {
  std::vector<std::string> labels{};
  std::vector<std::size_t> special{};
};

Axis axis_of(const TextModel& model, const std::vector<TokenId>& ids) {
  Axis axis;
  for (const TokenId id : ids) {
    if (model.is_special(id)) {
      axis.special.push_back(axis.labels.size());
    }
    axis.labels.push_back(model.label(id));
  }
  return axis;
}

// The last part of a path.
std::string title_of(std::string_view path) {
  const std::size_t end = path.find_last_not_of('/') + 1;
  const std::string_view whole = path.substr(0, end);
  return std::string(whole.substr(whole.find_last_of('/') + 1));
}

void describe(const GenerateFlags& flags, const std::string& text,
              ViewPageSettings& settings) {
  settings.title = title_of(flags.model);
  settings.command = "headwise generate" + flags.line.text();
  settings.model = flags.model;
  settings.text = text;
  settings.language = language();
}

// The decoder's tokens, as it read them.
std::vector<TokenId> decoder_tokens(std::vector<TokenId> before,
                                    const GeneratedText& text) {
  before.insert(before.end(), text.ids.begin(), text.ids.end());
  return before;
}

Result<std::string> page_of_decoder(const GenerateFlags& flags,
                                    const LanguageModel& model,
                                    const Executor& executor,
                                    const std::vector<TokenId>& prompt,
                                    const std::string& shown_text,
                                    const GeneratedText& text) {
  HEADWISE_ASSIGN(const auto view,
                  TextView::create(model, {.ids = decoder_tokens(prompt, text)},
                                   {}, &executor));
  ViewPageSettings settings = view.settings("");
  describe(flags, shown_text, settings);
  settings.generated_from = prompt.size();
  HEADWISE_ASSIGN(auto page, ViewPage::create(std::move(settings)));
  HEADWISE_TRY(view.visit(
      {}, [&](const ViewedLayer& layer) { return page.add(layer); }));
  return page.html();
}

// The documents of an encoder-decoder, a pass for each.
class PartsPage {
 public:
  PartsPage(const GenerateFlags& flags, const LanguageModel& model,
            const Executor& executor, const std::vector<TokenId>& source,
            const std::vector<TokenId>& target, std::string prompt,
            std::string text)
      : flags_(flags),
        model_(model),
        executor_(executor),
        source_({source}),
        target_({target}),
        prompt_(std::move(prompt)),
        text_(std::move(text)) {}

  Result<std::string> html() const {
    HEADWISE_ASSIGN(auto page,
                    ViewPage::create(settings_of(AttentionKind::encoder)));
    HEADWISE_TRY(add(AttentionKind::encoder, page));
    for (const AttentionKind kind :
         {AttentionKind::self, AttentionKind::cross}) {
      HEADWISE_TRY(page.next(settings_of(kind)));
      HEADWISE_TRY(add(kind, page));
    }
    return page.html();
  }

 private:
  ViewPageSettings settings_of(AttentionKind kind) const {
    const bool of_encoder = kind == AttentionKind::encoder;
    const bool is_cross = kind == AttentionKind::cross;
    Axis queries = axis_of(model_, (of_encoder ? source_ : target_)[0]);
    Axis keys =
        axis_of(model_, (of_encoder || is_cross ? source_ : target_)[0]);
    ViewPageSettings settings{.title = {},
                              .command = {},
                              .variant = of_encoder ? "encoder"
                                         : is_cross ? "cross"
                                                    : "decoder",
                              .cross = is_cross,
                              .query_labels = std::move(queries.labels),
                              .key_labels = std::move(keys.labels),
                              .query_special = std::move(queries.special),
                              .key_special = std::move(keys.special)};
    settings.attention.executor = &executor_;
    if (kind == AttentionKind::self) {
      settings.attention.mask = causal();
    }
    if (!of_encoder) {
      settings.generated_from = 1;
    }
    describe(flags_,
             of_encoder ? prompt_
             : is_cross ? text_ + " | " + prompt_
                        : text_,
             settings);
    return settings;
  }

  Status add(AttentionKind kind, ViewPage& page) const {
    const auto see = [&](const AttentionPlace& place,
                         TensorView<const float, 4> weights) -> Status {
      return place.kind == kind
                 ? page.add({.number = place.layer, .attn_weights = weights})
                 : ok();
    };
    return model_.run(source_, {.decoder_ids = &target_,
                                .see_attn_weights = see,
                                .executor = &executor_});
  }

  const GenerateFlags& flags_;
  const LanguageModel& model_;
  const Executor& executor_;
  RaggedTokens source_;
  RaggedTokens target_;
  std::string prompt_;
  std::string text_;
};

}  // namespace

Outcome write_generated_page(const GenerateFlags& flags, GenerateJob job,
                             const GeneratedText& text) {
  const bool has_encoder = job.model.model().shape().encoder_layers != 0;
  const TokenId start = job.model.settings().decoder_start;
  const auto model = std::move(job.model).into_language_model();
  const std::vector<TokenId>& prompt = job.prompts[0];
  const auto html =
      has_encoder
          ? PartsPage(flags, *model, job.executor, prompt,
                      decoder_tokens({start}, text), job.texts[0], text.text)
                .html()
          : page_of_decoder(flags, *model, job.executor, prompt,
                            job.texts[0] + text.text, text);
  if (!html) {
    return error_of_option("--page", html.error());
  }
  return written(write_file_atomically(flags.page, *html));
}

}  // namespace headwise::cli
