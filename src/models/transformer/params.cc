#include "transformer/params.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "interop/error_text.h"
#include "run/float_environment.h"
#include "transformer/fused_rows.h"
#include "transformer/pass_parts.h"
#include "transformer/tensor_reader.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

// The sentences of a pair have the first two token types.
constexpr std::size_t kTypesOfPair = 2;

void add_types(TensorView<const float, 2> types,
               std::span<Tensor<float, 2>> places) {
  const FloatEnvironment environment;
  for (std::size_t n = 0; n < places.size(); ++n) {
    for (std::size_t p = 0; p < places[n].extent(0); ++p) {
      float* const to = &places[n](p, 0);
      std::transform(to, to + places[n].extent(1), &types(n, 0), to,
                     std::plus<>());
    }
  }
}

Result<std::vector<Tensor<float, 2>>> created_places(
    const Tensor<float, 2>& positions, const Tensor<float, 2>& types) {
  std::vector<Tensor<float, 2>> places;
  do {
    HEADWISE_ASSIGN(places.emplace_back(), positions.clone());
  } while (places.size() < std::min(types.extent(0), kTypesOfPair));
  if (types.extent(0) != 0) {
    add_types(types, places);
  }
  return places;
}

// Without rows there is none.
Result<std::optional<Embedding>> table_of(Tensor<float, 2> weight) {
  std::optional<Embedding> table;
  if (weight.extent(0) != 0) {
    HEADWISE_ASSIGN(table, Embedding::from_weight(std::move(weight)));
  }
  return table;
}

class StackReader {
 public:
  StackReader(const TensorReader& tensors, const StackSpec& stack, ModelUse use)
      : tensors_(tensors),
        stack_(stack),
        is_trained_(use == ModelUse::training) {}

  Result<StackParams> read() {
    StackParams params;
    HEADWISE_TRY(read_embedding(params));
    if (const TensorName* const row = tensors_.find(Part::distances)) {
      HEADWISE_TRY(read_distances(*row));
    }
    HEADWISE_TRY(read_layers(params));
    if (const TensorName* const row = tensors_.find(Part::convolution)) {
      HEADWISE_TRY(read_convolution(*row, params.convolution));
    }
    HEADWISE_ASSIGN(params.final_norm, norm(Part::final_norm));
    return params;
  }

 private:
  NamedSize hidden_size() const { return {"hidden_size", stack_.hidden_size}; }
  // Where both are one, the settings have one name for them.
  NamedSize embedding_size() const {
    return stack_.embedding.size == stack_.hidden_size
               ? hidden_size()
               : NamedSize{"embedding_size", stack_.embedding.size};
  }
  NamedSize vocab_size() const {
    return {"vocab_size", stack_.embedding.vocab_size};
  }
  // Of a token when positions are added, and when they were.
  NamedSize placed_size() const {
    return tensors_.find(Part::token_projection) ? hidden_size()
                                                 : embedding_size();
  }
  NamedSize normed_size() const {
    return tensors_.find(Part::placed_projection) ? hidden_size()
                                                  : placed_size();
  }

  Result<std::optional<RowNorm>> norm_of(Part part, NamedSize size,
                                         std::size_t layer) const {
    std::optional<RowNorm> made;
    const TensorName* const row = tensors_.find(part);
    if (row != nullptr && (layer == kNoLayer || layer >= row->first_layer)) {
      HEADWISE_ASSIGN(auto params, tensors_.norm(*row, size, layer));
      if (params.bias.size() == 0) {
        HEADWISE_ASSIGN(params.bias, Tensor<float, 1>::create({size.size}));
      }
      made.emplace();
      made->weight = std::move(params.weight);
      made->bias = std::move(params.bias);
      made->eps = stack_.norm.eps;
      made->centred = stack_.norm.kind == NormKind::layer;
      if (stack_.norm.plus_one) {
        HEADWISE_ASSIGN(made->less_one, made->weight.clone());
        made->write_weight();
      }
      if (!is_trained_) {
        made->less_one = {};
      }
    }
    return made;
  }
  Result<std::optional<RowNorm>> norm(Part part,
                                      std::size_t layer = kNoLayer) const {
    return norm_of(part, hidden_size(), layer);
  }

  Status read_embedding(StackParams& params) const {
    HEADWISE_ASSIGN(const auto tokens,
                    tensors_.name_of(*tensors_.find(Part::tokens), ".weight"));
    // Half of a small model's bytes, of which a text needs only a few rows.
    const std::array sizes{vocab_size(), embedding_size()};
    if (is_trained_) {
      HEADWISE_ASSIGN(auto weight, tensors_.tensor<2>(tokens, sizes));
      HEADWISE_ASSIGN(auto table, Embedding::from_weight(std::move(weight)));
      params.tables = TrainedTables{std::move(table)};
    } else {
      HEADWISE_ASSIGN(params.tokens, tensors_.rows(tokens, sizes));
    }
    for (const auto& [part, linear] :
         {std::pair(Part::token_projection, &params.token_projection),
          {Part::placed_projection, &params.placed_projection},
          {Part::embedding_projection, &params.embedding_projection}}) {
      if (const TensorName* const row = tensors_.find(part)) {
        HEADWISE_ASSIGN(*linear,
                        tensors_.linear(*row, hidden_size(), embedding_size()));
      }
    }
    HEADWISE_TRY(read_places(params));
    HEADWISE_ASSIGN(params.embedding_norm,
                    norm_of(Part::embedding_norm, normed_size(), kNoLayer));
    if (const TensorName* const row = tensors_.find(Part::relative)) {
      HEADWISE_ASSIGN(
          params.relative,
          tensors_.matrix(*row, {"buckets", stack_.heads.relative->buckets},
                          {"heads", stack_.heads.num_heads}));
    }
    return ok();
  }

  // Positions and token types.
  Status read_places(StackParams& params) const {
    const EmbeddingSpec& embedding = stack_.embedding;
    Tensor<float, 2> positions;
    if (const TensorName* const row = tensors_.find(Part::positions)) {
      HEADWISE_ASSIGN(positions,
                      tensors_.matrix(*row, {"positions", embedding.positions},
                                      placed_size()));
    }
    if (const TensorName* const row = tensors_.find(Part::token_types)) {
      HEADWISE_ASSIGN(
          params.token_types,
          tensors_.matrix(*row, {"type_vocab_size", embedding.token_types},
                          placed_size()));
    }
    if (positions.size() != 0) {
      HEADWISE_ASSIGN(params.places,
                      created_places(positions, params.token_types));
    }
    auto types = std::exchange(params.token_types, {});
    if (params.places.empty() && types.size() != 0) {
      HEADWISE_ASSIGN(params.token_types, types.clone());
    }
    if (params.tables) {
      HEADWISE_ASSIGN(params.tables->positions, table_of(std::move(positions)));
      HEADWISE_ASSIGN(params.tables->token_types, table_of(std::move(types)));
    }
    return ok();
  }

  Status read_layers(StackParams& params) const {
    for (std::size_t n = 0; n < stack_.layers.size(); ++n) {
      const LayerSpec& layer = stack_.layers[n];
      // Layers may have the tensors of one before, with the same positions.
      std::size_t same = 0;
      while (same < n && !(stack_.layers[same].params == layer.params &&
                           stack_.layers[same].inner == layer.inner &&
                           stack_.layers[same].kept_heads == layer.kept_heads &&
                           stack_.layers[same].rotary == layer.rotary)) {
        ++same;
      }
      if (same < n) {
        params.layers.push_back(params.layers[same]);
        continue;
      }
      HEADWISE_ASSIGN(auto block, read_block(n));
      if (n != 0) {
        block.attention.share_memory_with(params.layers.front()->attention);
      }
      if (block.cross) {
        block.cross->attention.share_memory_with(
            n == 0 ? block.attention : params.layers.front()->attention);
      }
      params.layers.push_back(std::make_shared<Block>(std::move(block)));
    }
    if (stack_.heads.relative) {
      for (std::size_t n = 0; n < stack_.layers.size(); ++n) {
        if (stack_.layers[n].kept_heads) {
          HEADWISE_ASSIGN(
              params.layers[n]->relative,
              Tensor<float, 2>::create_unset(
                  {params.relative.extent(0), stack_.heads_in(n).size()}));
        }
      }
      params.write_relative(stack_);
    }
    return ok();
  }

  Result<PartNorms> norms(Part before, std::optional<Part> after, Part behind,
                          std::size_t n) const {
    PartNorms made;
    HEADWISE_ASSIGN(made.before, norm(before, n));
    if (after) {
      HEADWISE_ASSIGN(made.after, norm(*after, n));
    }
    HEADWISE_ASSIGN(made.behind, norm(behind, n));
    return made;
  }

  Result<Block> read_block(std::size_t n) const {
    HEADWISE_ASSIGN(auto around_attention,
                    norms(Part::attention_before, Part::attention_after,
                          Part::attention_behind, n));
    DistanceParams distances;
    HEADWISE_ASSIGN(auto attention, read_attention(n, distances));
    Tensor<float, 1> sinks;
    if (const TensorName* const row = tensors_.find(Part::sinks)) {
      HEADWISE_ASSIGN(const auto name, tensors_.name_of(*row, "", n));
      HEADWISE_ASSIGN(
          sinks, tensors_.tensor<1>(
                     name, {NamedSize{"heads", stack_.heads_in(n).size()}}));
    }
    std::optional<CrossAttention> cross;
    if (tensors_.find(Part::cross_q)) {
      HEADWISE_ASSIGN(auto around, norms(Part::cross_before, std::nullopt,
                                         Part::cross_behind, n));
      HEADWISE_ASSIGN(auto attending, read_cross(n));
      cross = CrossAttention{std::move(around), std::move(attending)};
    }
    HEADWISE_ASSIGN(
        auto around_feed_forward,
        norms(Part::feed_before, Part::feed_after, Part::feed_behind, n));
    FeedForward feed_forward;
    if (stack_.feed_forward.size != 0) {
      HEADWISE_ASSIGN(feed_forward, stack_.feed_forward.experts
                                        ? read_experts(n)
                                        : read_feed_forward(n));
    }
    return Block{.around_attention = std::move(around_attention),
                 .attention = std::move(attention),
                 .sinks = std::move(sinks),
                 .distances = std::move(distances),
                 .cross = std::move(cross),
                 .around_feed_forward = std::move(around_feed_forward),
                 .feed_forward = std::move(feed_forward)};
  }

  NamedSize all_heads() const { return features_of(stack_.heads); }
  static NamedSize features_of(const HeadsSpec& heads) {
    return {"heads * head_dim", heads.num_heads * heads.head_dim};
  }

  Result<MultiHeadAttention> read_attention(std::size_t n,
                                            DistanceParams& distances) const {
    const HeadsSpec heads = stack_.heads_of(n);
    const LayerSpec& layer = stack_.layers[n];
    HEADWISE_ASSIGN(auto w_q, head_projection(Part::w_q, n, heads));
    HEADWISE_ASSIGN(auto w_k, head_projection(Part::w_k, n, heads));
    HEADWISE_ASSIGN(auto w_v, head_projection(Part::w_v, n, heads));
    HEADWISE_ASSIGN(auto w_o,
                    tensors_.linear(*tensors_.find(Part::w_o), hidden_size(),
                                    features_of(heads), n));
    if (heads.distances) {
      HEADWISE_TRY(project_distances(w_q, w_k, n, heads, distances));
    }
    MultiHeadAttentionParams params{std::move(w_q), std::move(w_k),
                                    std::move(w_v), std::move(w_o)};
    HeadCounts counts{.num_heads = heads.num_heads,
                      .num_kv_heads = heads.num_kv_heads,
                      .head_dim = heads.head_dim};
    if (layer.kept_heads) {
      for (const auto& key : stack_.key_heads_in(n)) {
        counts.kv_group_sizes.push_back(key.queries);
      }
    }
    if (heads.num_heads == 0) {
      return MultiHeadAttention::from_params(std::move(params), 0);
    }
    if (heads.qk_norm) {
      counts.qk_norm = heads.qk_norm;
      const bool over_all = heads.qk_norm->over == NormOver::projection;
      const auto size = [&](std::size_t count) -> NamedSize {
        return {over_all ? "heads * head_dim" : "head_dim",
                (over_all ? count : 1) * heads.head_dim};
      };
      HEADWISE_ASSIGN(params.q_norm, tensors_.norm(*tensors_.find(Part::q_norm),
                                                   size(heads.num_heads), n));
      HEADWISE_ASSIGN(params.k_norm,
                      tensors_.norm(*tensors_.find(Part::k_norm),
                                    size(heads.num_kv_heads), n));
    }
    if (layer.rotary) {
      HEADWISE_ASSIGN(counts.rotary,
                      Rotary::create(stack_.rotary[*layer.rotary].config));
    }
    return MultiHeadAttention::from_params(std::move(params), counts);
  }

  Result<MultiHeadAttention> read_cross(std::size_t n) const {
    const auto linear = [&](Part part, NamedSize out, NamedSize in) {
      return tensors_.linear(*tensors_.find(part), out, in, n);
    };
    HEADWISE_ASSIGN(auto w_q,
                    linear(Part::cross_q, all_heads(), hidden_size()));
    HEADWISE_ASSIGN(auto w_k,
                    linear(Part::cross_k, all_heads(), hidden_size()));
    HEADWISE_ASSIGN(auto w_v,
                    linear(Part::cross_v, all_heads(), hidden_size()));
    HEADWISE_ASSIGN(auto w_o,
                    linear(Part::cross_o, hidden_size(), all_heads()));
    return MultiHeadAttention::from_params(
        {std::move(w_q), std::move(w_k), std::move(w_v), std::move(w_o)},
        {.num_heads = stack_.heads.num_heads,
         .num_kv_heads = stack_.heads.num_heads,
         .head_dim = stack_.heads.head_dim});
  }

  // w_q, w_k or w_v, which may lie in one tensor.
  Result<Linear> head_projection(Part part, std::size_t layer,
                                 const HeadsSpec& heads) const {
    const std::size_t D = heads.head_dim;
    const std::size_t rows =
        D * (part == Part::w_q ? heads.num_heads : heads.num_kv_heads);
    if (const TensorName* const row = tensors_.find(part)) {
      return tensors_.linear(*row, {"heads * head_dim", rows}, hidden_size(),
                             layer);
    }
    const TensorName& fused = *tensors_.find(Part::w_qkv);
    if (fused.form == Form::qkv_by_group && !stack_.has_even_groups(layer)) {
      return tensors_.fault(message("has other heads left of each key head in "
                                    "layer {}",
                                    layer),
                            "as many of each");
    }
    const NamedSize all{"(heads + 2 kv_heads) * head_dim",
                        D * (heads.num_heads + 2 * heads.num_kv_heads)};
    return tensors_.linear_of_some(
        {&fused, all}, rows,
        [&](std::size_t n) { return fused_row(fused.form, part, n, heads); },
        hidden_size(), layer);
  }

  // The table of distances, normed.
  Status read_distances(const TensorName& row) {
    HEADWISE_ASSIGN(const auto name, tensors_.name_of(row, ".weight"));
    HEADWISE_ASSIGN(
        const auto table,
        tensors_.tensor<2>(
            name, {NamedSize{"2 * span", 2 * stack_.heads.distances->span},
                   hidden_size()}));
    HEADWISE_ASSIGN(distances_, Tensor<float, 3>::create_unset(
                                    {1, table.extent(0), table.extent(1)}));
    std::ranges::copy(table.elements(), distances_.data());
    HEADWISE_ASSIGN(const auto normed, norm(Part::distance_norm));
    return normed ? layer_norm(rows_of(distances_), *normed,
                               rows_of(distances_.view()))
                  : ok();
  }

  // The table as keys and queries of a layer, head by head. A pruned file has
  // matrices of its own for all heads.
  Status project_distances(const Linear& w_q, const Linear& w_k, std::size_t n,
                           const HeadsSpec& heads, DistanceParams& made) const {
    const DistanceSpec& spec = *stack_.heads.distances;
    const auto project = [&](Part part, const Linear& shared,
                             std::vector<Linear>& into) -> Status {
      const TensorName* const row = tensors_.find(part);
      std::optional<Linear> own;
      if (row != nullptr) {
        HEADWISE_ASSIGN(own,
                        tensors_.linear(*row, all_heads(), hidden_size(), n));
      }
      HEADWISE_ASSIGN(const auto all,
                      (own ? *own : shared).forward(distances_, "distances"));
      const std::size_t D = heads.head_dim;
      const std::vector<std::size_t> kept = stack_.heads_in(n);
      for (std::size_t h = 0; h < heads.num_heads; ++h) {
        const std::size_t place = own ? kept[h] : h;
        HEADWISE_ASSIGN(auto head,
                        Tensor<float, 2>::create_unset({all.extent(1), D}));
        for (std::size_t d = 0; d < all.extent(1); ++d) {
          std::copy_n(&all(0, d, place * D), D, &head(d, 0));
        }
        HEADWISE_ASSIGN(auto product, tensors_.packed(std::move(head), {}));
        into.push_back(std::move(product));
      }
      return ok();
    };
    if (spec.with_keys) {
      HEADWISE_TRY(project(Part::distance_keys, w_k, made.keys));
    }
    return spec.with_queries
               ? project(Part::distance_queries, w_q, made.queries)
               : ok();
  }

  Result<FeedForward> read_feed_forward(std::size_t layer) const {
    const NamedSize size{"intermediate_size", stack_.feed_forward.size};
    HEADWISE_ASSIGN(auto down, tensors_.linear(*tensors_.find(Part::down),
                                               hidden_size(), size, layer));
    const auto made = [&](Linear up, bool gated) {
      FeedForward network{.networks = {}, .gated = gated};
      network.networks.push_back({std::move(up), std::move(down)});
      return network;
    };
    if (const TensorName* const both = tensors_.find(Part::gate_up)) {
      HEADWISE_ASSIGN(
          auto up,
          tensors_.linear(*both, {"2 * intermediate_size", 2 * size.size},
                          hidden_size(), layer));
      return made(std::move(up), true);
    }
    const TensorName& row = *tensors_.find(Part::up);
    const TensorName* const gate = tensors_.find(Part::gate);
    if (gate == nullptr) {
      HEADWISE_ASSIGN(auto up,
                      tensors_.linear(row, size, hidden_size(), layer));
      return made(std::move(up), false);
    }
    HEADWISE_ASSIGN(auto up, tensors_.linear_of({{gate, size}, {&row, size}},
                                                hidden_size(), layer));
    return made(std::move(up), true);
  }

  Result<FeedForward> read_experts(std::size_t layer) const {
    const NamedSize count{"experts", stack_.feed_forward.experts->count};
    const NamedSize size{"intermediate_size", stack_.feed_forward.size};
    const NamedSize two{"2 * intermediate_size", 2 * size.size};
    FeedForward made{.networks = {}, .gated = true};
    HEADWISE_ASSIGN(made.router, tensors_.linear(*tensors_.find(Part::router),
                                                 count, hidden_size(), layer));
    const auto read = [&](Part part, NamedSize in, NamedSize out, auto& weights,
                          auto& biases) -> Status {
      HEADWISE_ASSIGN(const auto name,
                      tensors_.name_of(*tensors_.find(part), "", layer));
      HEADWISE_ASSIGN(weights, tensors_.tensor<3>(name, {count, in, out}));
      HEADWISE_ASSIGN(biases, tensors_.tensor<2>(name + "_bias", {count, out}));
      return ok();
    };
    Tensor<float, 3> ups, downs;
    Tensor<float, 2> up_biases, down_biases;
    HEADWISE_TRY(
        read(Part::experts_gate_up, hidden_size(), two, ups, up_biases));
    HEADWISE_TRY(
        read(Part::experts_down, size, hidden_size(), downs, down_biases));
    // Of an expert: its output `column(n)` as row n.
    const auto expert = [&](const Tensor<float, 3>& weights,
                            const Tensor<float, 2>& biases, std::size_t e,
                            const auto& column) -> Result<Linear> {
      const auto [experts, in, out] = weights.extents();
      HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create_unset({out, in}));
      HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create_unset({out}));
      for (std::size_t n = 0; n < out; ++n) {
        bias(n) = biases(e, column(n));
        for (std::size_t i = 0; i < in; ++i) {
          weight(n, i) = weights(e, i, column(n));
        }
      }
      return tensors_.packed(std::move(weight), std::move(bias));
    };
    for (std::size_t e = 0; e < count.size; ++e) {
      HEADWISE_ASSIGN(auto up, expert(ups, up_biases, e, [&](std::size_t n) {
                        return n < size.size ? 2 * n : 2 * (n - size.size) + 1;
                      }));
      HEADWISE_ASSIGN(auto down, expert(downs, down_biases, e,
                                        [](std::size_t n) { return n; }));
      made.networks.push_back({std::move(up), std::move(down)});
    }
    return made;
  }

  // As one product: groups see other features as zeros.
  Status read_convolution(const TensorName& row,
                          std::optional<Convolution>& made) const {
    const ConvolutionSpec& spec = *stack_.convolution;
    const std::size_t E = stack_.hidden_size;
    const std::size_t part = E / spec.groups;
    HEADWISE_ASSIGN(const auto name, tensors_.name_of(row, ".weight"));
    HEADWISE_ASSIGN(
        const auto kernel,
        tensors_.tensor<3>(
            name, {hidden_size(), NamedSize{"hidden_size / groups", part},
                   NamedSize{"conv_kernel_size", spec.width}}));
    HEADWISE_ASSIGN(auto bias, tensors_.bias(row, hidden_size()));
    HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create({E, spec.width * E}));
    for (std::size_t o = 0; o < E; ++o) {
      for (std::size_t i = 0; i < part; ++i) {
        for (std::size_t at = 0; at < spec.width; ++at) {
          weight(o, at * E + o / part * part + i) = kernel(o, i, at);
        }
      }
    }
    HEADWISE_ASSIGN(auto linear,
                    tensors_.packed(std::move(weight), std::move(bias)));
    HEADWISE_ASSIGN(auto normed, norm(Part::convolution_norm));
    made = Convolution{std::move(linear), std::move(*normed)};
    return ok();
  }

  const TensorReader& tensors_;
  const StackSpec& stack_;
  bool is_trained_;
  Tensor<float, 3> distances_{};  // (1, 2 * span, hidden_size)
};

// That of the file, or the table of tokens. A file without one whose settings
// do not tie them has lost it.
Status read_unembedding(const TensorReader& tensors,
                        const Description& description, Params& params) {
  const EmbeddingSpec& embedding = description.stack.embedding;
  const NamedSize vocab_size{"vocab_size", embedding.vocab_size};
  const NamedSize hidden_size{"hidden_size", description.stack.hidden_size};
  NamedSize features = hidden_size;
  if (const auto* const row = tensors.find(Part::unembedding_projection)) {
    features = {"embedding_size", embedding.size};
    HEADWISE_ASSIGN(params.unembedding_projection,
                    tensors.linear(*row, features, hidden_size));
  }
  const TensorName* const own = tensors.find(Part::unembedding);
  const bool is_there = own != nullptr && tensors.has(*own, ".weight");
  if (!is_there && description.unembedding->may_miss) {
    return ok();
  }
  params.ties_unembedding = !is_there && description.unembedding->tied;
  const TensorName& row =
      !params.ties_unembedding ? *own : *tensors.find(Part::tokens);
  const TensorName* const added = tensors.find(Part::unembedding_bias);
  if (added == nullptr || !tensors.has(*added, "")) {
    HEADWISE_ASSIGN(params.unembedding,
                    tensors.linear(row, vocab_size, features));
    return ok();
  }
  HEADWISE_ASSIGN(auto weight, tensors.matrix(row, vocab_size, features));
  HEADWISE_ASSIGN(const auto name, tensors.name_of(*added, ""));
  HEADWISE_ASSIGN(const auto values,
                  tensors.tensor<2>(name, {NamedSize{"1", 1}, vocab_size}));
  HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create_unset({vocab_size.size}));
  std::ranges::copy(values.elements(), bias.data());
  HEADWISE_ASSIGN(params.unembedding,
                  tensors.packed(std::move(weight), std::move(bias)));
  return ok();
}

// The settings may not say fewer layers than the file has.
Status check_no_more_layers(const ParamFile& file, const NamedStack& named,
                            std::string_view prefix) {
  std::size_t layers = 0;
  for (const LayerSpec& layer : named.stack.layers) {
    layers = std::max(layers, layer.params + 1);
  }
  constexpr std::string_view kNumber = "{N}";
  std::set<std::string_view> beginnings;
  for (const TensorName& row : named.names) {
    const std::string_view name = row.name;
    if (const auto at = name.find(kNumber); at != name.npos) {
      beginnings.insert(name.substr(0, at));
    }
  }
  for (const std::string& given : file.names()) {
    std::string_view name = given;
    if (name.starts_with(prefix)) {
      name.remove_prefix(prefix.size());
    }
    for (const std::string_view beginning : beginnings) {
      std::size_t number = 0;
      const char* const digits = name.data() + beginning.size();
      if (name.starts_with(beginning) &&
          std::from_chars(digits, name.data() + name.size(), number).ec ==
              std::errc() &&
          number >= layers) {
        return FileSubject{std::string(kReadTransformer), file.path()}.bad_data(
            message("has {}", printable(given)),
            message("{} layers as in config.json", layers));
      }
    }
  }
  return ok();
}

}  // namespace

void RowNorm::write_weight() {
  const FloatEnvironment environment;
  std::ranges::transform(less_one.elements(), weight.data(),
                         [](float e) { return 1 + e; });
}

void StackParams::copy_token(std::size_t id, float* to) const {
  if (tables) {
    std::copy_n(&tables->tokens.weight()(id, 0), tables->tokens.embed_dim(),
                to);
  } else {
    tokens.copy_row(id, to);
  }
}

void StackParams::write_places() {
  for (Tensor<float, 2>& place : places) {
    std::copy_n(tables->positions->weight().data(), place.size(), place.data());
  }
  if (tables->token_types) {
    const auto types = tables->token_types->weight();
    add_types(types, places);
    std::copy_n(types.data(), token_types.size(), token_types.data());
  }
}

void StackParams::write_relative(const StackSpec& stack) {
  for (std::size_t n = 0; n < layers.size(); ++n) {
    Tensor<float, 2>& part = layers[n]->relative;
    if (part.size() == 0) {
      continue;
    }
    const std::vector<std::size_t> kept = stack.heads_in(n);
    for (std::size_t bucket = 0; bucket < part.extent(0); ++bucket) {
      for (std::size_t h = 0; h < kept.size(); ++h) {
        part(bucket, h) = relative(bucket, kept[h]);
      }
    }
  }
}

void Params::tie_unembedding() {
  if (ties_unembedding) {
    const auto table = stack.tables->tokens.weight();
    unembedding->update([&](std::span<float> weight, std::span<float>) {
      std::copy_n(table.data(), table.size(), weight.data());
    });
  }
}

Result<Params> read_params(const ParamFile& file,
                           const Description& description,
                           const ModelAccess& access) {
  Params params;
  HEADWISE_TRY(check_no_more_layers(file, description, description.prefix));
  const TensorReader tensors(file, description, description.prefix, access);
  HEADWISE_ASSIGN(params.stack,
                  StackReader(tensors, description.stack, access.use).read());
  if (const auto& encoder = description.encoder) {
    HEADWISE_TRY(check_no_more_layers(file, *encoder, description.prefix));
    const TensorReader of_encoder(file, *encoder, description.prefix, access);
    HEADWISE_ASSIGN(params.encoder,
                    StackReader(of_encoder, encoder->stack, access.use).read());
  }
  if (description.unembedding) {
    HEADWISE_TRY(read_unembedding(tensors, description, params));
  }
  return params;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
