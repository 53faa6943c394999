#include "changed_heads.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "shell/error_of_option.h"

namespace headwise::cli {
namespace {

// A layer's attention of one kind.
using Layer = std::pair<AttentionKind, std::size_t>;
// The heads to change there, by their index in the layer.
using HeadsOfLayers = std::map<Layer, std::vector<std::size_t>>;

Result<HeadsOfLayers> by_layer(const Transformer& model,
                               std::string_view option,
                               const std::vector<AttentionPlace>& heads) {
  HeadsOfLayers found;
  for (const AttentionPlace& head : heads) {
    const auto place = model.place_of(head);
    if (!place) {
      return error_of_option(option, place.error());
    }
    found[{head.kind, head.layer}].push_back(*place);
  }
  return found;
}

}  // namespace

Result<ModelHooks> patched_heads(const TextGenerator& generator,
                                 std::string_view option,
                                 const std::vector<AttentionPlace>& heads,
                                 const std::vector<TokenId>& other,
                                 const Executor& executor) {
  const Transformer& model = generator.model();
  HEADWISE_ASSIGN(auto places, by_layer(model, option, heads));
  // What the heads of a layer give on the other prompt, (1, L, H, D).
  using Contexts = std::map<Layer, Tensor<float, 4>>;
  const auto contexts = std::make_shared<Contexts>();
  ModelPass pass{.executor = &executor};
  const RaggedTokens start = {{generator.settings().decoder_start}};
  const RaggedTokens ids = {other};
  pass.decoder_ids = model.shape().encoder_layers != 0 ? &start : nullptr;
  pass.hooks.see = [&](HookPlace at,
                       TensorView<const float, 4> context) -> Status {
    if (places.contains({at.kind, at.layer})) {
      HEADWISE_ASSIGN(auto copy,
                      Tensor<float, 4>::create_unset(context.extents()));
      std::copy_n(context.data(), copy.size(), copy.data());
      contexts->insert_or_assign({at.kind, at.layer}, std::move(copy));
    }
    return ok();
  };
  const auto done = model.hidden(ids, pass);
  if (!done) {
    return error_of_option("--patch-from", done.error());
  }
  ModelHooks hooks;
  hooks.edit = [places = std::move(places), contexts](
                   HookPlace at, const HeadContext& given) {
    const auto found = places.find({at.kind, at.layer});
    if (found == places.end()) {
      return ok();
    }
    const Tensor<float, 4>& from = contexts->at(found->first);
    const auto [B, L, H, D] = given.context.extents();
    for (std::size_t l = 0; l < L && at.first_token + l < from.extent(1); ++l) {
      for (const std::size_t h : found->second) {
        std::copy_n(&from(0, at.first_token + l, h, 0), D,
                    &given.context(0, l, h, 0));
      }
    }
    return ok();
  };
  return hooks;
}

}  // namespace headwise::cli
