// DeBERTa v2 and v3: BERT's layers, with scores of contents and distances.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <string>
#include <vector>

#include "transformer/families.h"
#include "transformer/families/bert_like.h"
#include "transformer/families/settings.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// Which scores there are: "p2c|c2p", or a list.
std::vector<std::string> score_kinds(Settings& settings) {
  constexpr std::string_view kKey = "pos_att_type";
  const JsonPart part = settings.config().at(kKey);
  std::vector<std::string> kinds;
  std::string joined;
  if (part.exists() && part.json().get(joined)) {
    std::ranges::transform(joined, joined.begin(), [](unsigned char c) {
      return static_cast<char>(c == '|' ? ' ' : std::tolower(c));
    });
    for (std::size_t begin = joined.find_first_not_of(' ');
         begin < joined.size();) {
      const std::size_t end = std::min(joined.find(' ', begin), joined.size());
      kinds.push_back(joined.substr(begin, end - begin));
      begin = joined.find_first_not_of(' ', end);
    }
  } else if (part.exists() && !part.json().get(kinds)) {
    settings.keep(
        settings.config().unexpected(kKey, "a text or a list of texts"));
  }
  for (const std::string& kind : kinds) {
    if (kind != "c2p" && kind != "p2c") {
      settings.keep(settings.config().unexpected(kKey, "c2p and p2c",
                                                 ErrorCode::unsupported));
    }
  }
  return kinds;
}

// A whole number that is not above 0 says that there is none.
std::size_t size_or_none(Settings& settings, std::string_view key) {
  const double number = settings.number(key, -1);
  return number < 1 ? 0 : settings.size(key);
}

void add_distances(Settings& settings, const std::vector<std::string>& kinds,
                   Description& made) {
  HeadsSpec& heads = made.stack.heads;
  const std::size_t buckets = size_or_none(settings, "position_buckets");
  std::size_t longest = size_or_none(settings, "max_relative_positions");
  longest =
      longest == 0 ? settings.size("max_position_embeddings", 512) : longest;
  heads.distances = {.span = buckets == 0 ? longest : buckets,
                     .buckets = buckets,
                     .longest = longest,
                     .with_keys = std::ranges::count(kinds, "c2p") != 0,
                     .with_queries = std::ranges::count(kinds, "p2c") != 0};
  made.names.push_back({"encoder.rel_embeddings", Part::distances});
  std::string norm = "none";
  settings.keep(settings.config().get("norm_rel_ebd", norm));
  if (norm.find("layer_norm") != norm.npos) {
    made.names.push_back(
        {"encoder.LayerNorm", Part::distance_norm, Form::plain, true});
  }
  if (!settings.flag("share_att_key", false)) {
    const std::string own = "encoder.layer.{N}.attention.self.";
    made.names.insert(
        made.names.end(),
        {{own + "pos_key_proj", Part::distance_keys, Form::plain, true},
         {own + "pos_query_proj", Part::distance_queries, Form::plain, true}});
  }
}

void add_convolution(Settings& settings, std::size_t width, Description& made) {
  ConvolutionSpec spec{.width = width,
                       .groups = settings.size("conv_groups", 1)};
  std::string name = "tanh";
  settings.keep(settings.config().get("conv_act", name));
  if (name != "tanh") {
    spec.activation = settings.activation_named("conv_act", name);
  }
  if (width % 2 == 0 || made.stack.hidden_size % spec.groups != 0) {
    settings.keep(settings.config().fault(
        message("has a convolution of width {} in {} groups", width,
                spec.groups),
        "an odd width, and groups that divide hidden_size"));
  }
  made.stack.convolution = spec;
  made.names.insert(
      made.names.end(),
      {{"encoder.conv.conv", Part::convolution, Form::plain, true},
       {"encoder.conv.LayerNorm", Part::convolution_norm, Form::plain, true}});
}

Result<Description> describe_deberta(const JsonPart& config) {
  Settings settings(config);
  Description made =
      describe_bert_like(settings, {.eps = 1e-7, .token_types = 0});
  made.prefix = "deberta.";
  constexpr NewName kNames[] = {
      {"attention.self.query", "attention.self.query_proj"},
      {"attention.self.key", "attention.self.key_proj"},
      {"attention.self.value", "attention.self.value_proj"}};
  rename_layers(kNames, "encoder.layer.{N}.", made);
  StackSpec& stack = made.stack;
  stack.embedding.size = settings.size("embedding_size", stack.hidden_size);
  if (stack.embedding.size != stack.hidden_size) {
    made.names.push_back({"embeddings.embed_proj", Part::placed_projection});
  }
  if (!settings.flag("position_biased_input", true)) {
    stack.embedding.positions = 0;
    std::erase_if(made.names, [](const TensorName& row) {
      return row.part == Part::positions;
    });
  }
  // Scores that are not there count for the scale, too.
  const std::vector<std::string> kinds = score_kinds(settings);
  stack.heads.scale =
      1 /
      std::sqrt(static_cast<double>(stack.heads.head_dim * (1 + kinds.size())));
  if (settings.flag("relative_attention", false)) {
    add_distances(settings, kinds, made);
  }
  if (const std::size_t width = settings.size("conv_kernel_size", 0, 0)) {
    add_convolution(settings, width, made);
  }
  HEADWISE_TRY(settings.status());
  return made;
}

constexpr Family kDeberta[] = {{"deberta-v2", describe_deberta}};

}  // namespace

constexpr std::span<const Family> kDebertaFamilies = kDeberta;

}  // namespace headwise::inline HEADWISE_ABI::transformer
