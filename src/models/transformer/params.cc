#include "transformer/params.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/check.h"
#include "headwise/base/half.h"
#include "headwise/interop/array.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/param_file.h"
#include "transformer/fused_rows.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

constexpr std::string_view kReadTransformer = "read_transformer";
constexpr std::size_t kNoLayer = ~std::size_t{0};

// A size of a tensor, with its name.
struct NamedSize {
  std::string_view name;
  std::size_t size = 0;
};

class TransformerReader {
 public:
  TransformerReader(ParamFile file, const Description& description,
                    Arithmetic arithmetic)
      : file_(std::move(file)),
        description_(description),
        stack_(description.stack),
        arithmetic_(arithmetic) {}

  Result<Params> read() {
    Params params;
    HEADWISE_TRY(read_embedding(params));
    HEADWISE_TRY(read_layers(params));
    HEADWISE_ASSIGN(params.final_norm, norm(Part::final_norm));
    NamedSize features = hidden_size();
    if (const TensorName* const row = find(Part::unembedding_projection)) {
      features = embedding_size();
      HEADWISE_ASSIGN(params.unembedding_projection,
                      linear(*row, features, hidden_size()));
    }
    if (description_.unembedding) {
      HEADWISE_TRY(read_unembedding(features, params));
    }
    return params;
  }

 private:
  NamedSize hidden_size() const { return {"hidden_size", stack_.hidden_size}; }
  NamedSize embedding_size() const {
    return {"embedding_size", stack_.embedding.size};
  }
  // Of a token when positions are added.
  NamedSize placed_size() const {
    return find(Part::token_projection) ? hidden_size() : embedding_size();
  }
  NamedSize vocab_size() const {
    return {"vocab_size", stack_.embedding.vocab_size};
  }
  FileSubject subject() const {
    return {std::string(kReadTransformer), file_.path()};
  }

  const TensorName* find(Part part) const {
    const auto& names = description_.names;
    const auto row = std::ranges::find(names, part, &TensorName::part);
    return row == names.end() ? nullptr : &*row;
  }

  std::string numbered_name(const TensorName& row, std::string_view end,
                            std::size_t layer) const {
    std::string name(row.name);
    const auto put = [&name](std::string_view mark, std::size_t number) {
      if (const std::size_t at = name.find(mark); at != name.npos) {
        name.replace(at, mark.size(), std::to_string(number));
      }
    };
    if (layer != kNoLayer) {
      put("{N}", stack_.layers[layer].params);
      put("{K}", stack_.layers[layer].inner);
    }
    return name + std::string(row.whole_name ? "" : end);
  }

  // The name in the file, which may be without the outer name; empty: none.
  std::string found_name(const TensorName& row, std::string_view end,
                         std::size_t layer) const {
    const std::string name = numbered_name(row, end, layer);
    const std::string outer = std::string(description_.prefix) + name;
    return file_.names().contains(outer)  ? outer
           : file_.names().contains(name) ? name
                                          : "";
  }

  Result<std::string> name_of(const TensorName& row, std::string_view end,
                              std::size_t layer = kNoLayer) const {
    std::string name = found_name(row, end, layer);
    if (!name.empty()) {
      return name;
    }
    const std::string_view outer =
        row.part == Part::unembedding ? "" : description_.prefix;
    return subject().bad_data(message(
        "has no {}",
        printable(std::string(outer) + numbered_name(row, end, layer))));
  }

  template <std::size_t Rank>
  Result<Tensor<float, Rank>> tensor(
      const std::string& name, const std::array<NamedSize, Rank>& sizes) const {
    HEADWISE_ASSIGN(const Array array, file_.read(name));
    if (Status s = check_finite(array.view(), kReadTransformer, name); !s) {
      return file_.subject_of(kReadTransformer, name).blame_here(s.error());
    }
    HEADWISE_TRY(check_sizes(name, array.shape, sizes));
    return to_float<Rank>(array, kReadTransformer, name);
  }

  Status check_sizes(const std::string& name,
                     std::span<const std::size_t> shape,
                     std::span<const NamedSize> sizes) const {
    std::string words;
    std::vector<std::size_t> expected;
    for (const NamedSize& size : sizes) {
      words += (words.empty() ? "(" : ", ") + std::string(size.name);
      expected.push_back(size.size);
    }
    Status s =
        check_shape(kReadTransformer, name, shape, words + ")", expected);
    return s ? s : subject().blame(s.error());
  }

  // (out, in), whatever way it lies.
  Result<Tensor<float, 2>> matrix(const TensorName& row, NamedSize out,
                                  NamedSize in,
                                  std::size_t layer = kNoLayer) const {
    HEADWISE_ASSIGN(const auto name, name_of(row, ".weight", layer));
    if (row.form != Form::transposed) {
      return tensor<2>(name, {out, in});
    }
    HEADWISE_ASSIGN(const auto lying, tensor<2>(name, {in, out}));
    HEADWISE_ASSIGN(auto weight,
                    Tensor<float, 2>::create_unset({out.size, in.size}));
    for (std::size_t o = 0; o < out.size; ++o) {
      for (std::size_t i = 0; i < in.size; ++i) {
        weight(o, i) = lying(i, o);
      }
    }
    return weight;
  }

  Result<Tensor<float, 1>> bias(const TensorName& row, NamedSize size,
                                std::size_t layer = kNoLayer) const {
    if (!row.bias) {
      return Tensor<float, 1>();
    }
    HEADWISE_ASSIGN(const auto name, name_of(row, ".bias", layer));
    return tensor<1>(name, {size});
  }

  Result<Linear> packed(Tensor<float, 2> weight, Tensor<float, 1> bias) const {
    HEADWISE_ASSIGN(auto linear,
                    Linear::from_params(std::move(weight), std::move(bias)));
    if (arithmetic_ == Arithmetic::bf16) {
      HEADWISE_ASSIGN(linear, linear.in_bf16());
    }
    return std::move(linear).for_inference();
  }

  Result<Linear> linear(const TensorName& row, NamedSize out, NamedSize in,
                        std::size_t layer = kNoLayer) const {
    HEADWISE_ASSIGN(auto weight, matrix(row, out, in, layer));
    HEADWISE_ASSIGN(auto added, bias(row, out, layer));
    return packed(std::move(weight), std::move(added));
  }

  Result<HeadNormParams> norm_params(const TensorName& row, NamedSize size,
                                     std::size_t layer) const {
    HeadNormParams params;
    if (row.name.empty()) {
      HEADWISE_ASSIGN(params.weight, Tensor<float, 1>::create({size.size}));
      std::ranges::fill(params.weight.elements(), 1.0F);
      return params;
    }
    // Old files say gamma and beta.
    const bool is_old = found_name(row, ".weight", layer).empty() &&
                        !found_name(row, ".gamma", layer).empty();
    HEADWISE_ASSIGN(const auto weight,
                    name_of(row, is_old ? ".gamma" : ".weight", layer));
    HEADWISE_ASSIGN(params.weight, tensor<1>(weight, {size}));
    if (row.bias) {
      HEADWISE_ASSIGN(const auto bias,
                      name_of(row, is_old ? ".beta" : ".bias", layer));
      HEADWISE_ASSIGN(params.bias, tensor<1>(bias, {size}));
    }
    return params;
  }

  Result<std::optional<RowNorm>> norm_of(Part part, NamedSize size,
                                         std::size_t layer) const {
    std::optional<RowNorm> made;
    const TensorName* const row = find(part);
    if (row != nullptr && (layer == kNoLayer || layer >= row->first_layer)) {
      HEADWISE_ASSIGN(auto params, norm_params(*row, size, layer));
      made = RowNorm{stack_.norm, std::move(params)};
      made->norm.bias = made->params.bias.size() != 0;
    }
    return made;
  }
  Result<std::optional<RowNorm>> norm(Part part,
                                      std::size_t layer = kNoLayer) const {
    return norm_of(part, hidden_size(), layer);
  }

  Status read_embedding(Params& params) const {
    const EmbeddingSpec& embedding = stack_.embedding;
    HEADWISE_TRY(read_tokens(params.tokens));
    if (const TensorName* const row = find(Part::token_projection)) {
      HEADWISE_ASSIGN(params.token_projection,
                      linear(*row, hidden_size(), embedding_size()));
    }
    if (const TensorName* const row = find(Part::positions)) {
      HEADWISE_ASSIGN(
          params.positions,
          matrix(*row, {"positions", embedding.positions}, placed_size()));
    }
    if (const TensorName* const row = find(Part::token_types)) {
      HEADWISE_ASSIGN(params.token_types,
                      matrix(*row, {"type_vocab_size", embedding.token_types},
                             placed_size()));
    }
    HEADWISE_ASSIGN(params.embedding_norm,
                    norm_of(Part::embedding_norm, placed_size(), kNoLayer));
    if (const TensorName* const row = find(Part::embedding_projection)) {
      HEADWISE_ASSIGN(params.embedding_projection,
                      linear(*row, hidden_size(), embedding_size()));
    }
    if (const TensorName* const row = find(Part::relative)) {
      HEADWISE_ASSIGN(params.relative,
                      matrix(*row, {"buckets", stack_.heads.relative->buckets},
                             {"heads", stack_.heads.num_heads}));
    }
    return ok();
  }

  // Half of a small model's bytes, of which a text needs only a few rows.
  Status read_tokens(TokenTable& tokens) const {
    HEADWISE_ASSIGN(const auto name, name_of(*find(Part::tokens), ".weight"));
    HEADWISE_ASSIGN(auto found, file_.tensor(name));
    if (Status s = check_finite(found.view, kReadTransformer, name); !s) {
      return file_.subject_of(kReadTransformer, name).blame_here(s.error());
    }
    HEADWISE_TRY(check_sizes(name, found.view.extents(),
                             std::array{vocab_size(), embedding_size()}));
    const DType dtype = found.view.dtype();
    if (dtype == DType::float32 || dtype == DType::bfloat16 ||
        dtype == DType::float16) {
      tokens = {found.view, std::move(found.bytes)};
      return ok();
    }
    HEADWISE_ASSIGN(auto copy,
                    tensor<2>(name, {vocab_size(), embedding_size()}));
    const auto owner =
        std::make_shared<const Tensor<float, 2>>(std::move(copy));
    tokens = {AnyView(owner->view()), owner};
    return ok();
  }

  Status read_layers(Params& params) const {
    for (std::size_t n = 0; n < stack_.layers.size(); ++n) {
      const LayerSpec& layer = stack_.layers[n];
      // Layers may have the tensors of one before, with the same positions.
      std::size_t same = 0;
      while (same < n && !(stack_.layers[same].params == layer.params &&
                           stack_.layers[same].inner == layer.inner &&
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
      params.layers.push_back(std::make_shared<const Block>(std::move(block)));
    }
    return ok();
  }

  Result<Block> read_block(std::size_t n) const {
    const auto around = [&](Part before, Part after,
                            Part behind) -> Result<PartNorms> {
      PartNorms norms;
      HEADWISE_ASSIGN(norms.before, norm(before, n));
      HEADWISE_ASSIGN(norms.after, norm(after, n));
      HEADWISE_ASSIGN(norms.behind, norm(behind, n));
      return norms;
    };
    HEADWISE_ASSIGN(auto around_attention,
                    around(Part::attention_before, Part::attention_after,
                           Part::attention_behind));
    HEADWISE_ASSIGN(auto attention, read_attention(n));
    Tensor<float, 1> sinks;
    if (const TensorName* const row = find(Part::sinks)) {
      HEADWISE_ASSIGN(const auto name, name_of(*row, "", n));
      HEADWISE_ASSIGN(
          sinks, tensor<1>(name, {NamedSize{"heads", stack_.heads.num_heads}}));
    }
    HEADWISE_ASSIGN(
        auto around_feed_forward,
        around(Part::feed_before, Part::feed_after, Part::feed_behind));
    HEADWISE_ASSIGN(auto feed_forward, read_feed_forward(n));
    return Block{std::move(around_attention), std::move(attention),
                 std::move(sinks), std::move(around_feed_forward),
                 std::move(feed_forward)};
  }

  Result<MultiHeadAttention> read_attention(std::size_t n) const {
    const HeadsSpec& heads = stack_.heads;
    const LayerSpec& layer = stack_.layers[n];
    HEADWISE_ASSIGN(auto w_q, head_projection(Part::w_q, n));
    HEADWISE_ASSIGN(auto w_k, head_projection(Part::w_k, n));
    HEADWISE_ASSIGN(auto w_v, head_projection(Part::w_v, n));
    HEADWISE_ASSIGN(
        auto w_o,
        linear(*find(Part::w_o), hidden_size(),
               {"heads * head_dim", heads.num_heads * heads.head_dim}, n));
    MultiHeadAttentionParams params{std::move(w_q), std::move(w_k),
                                    std::move(w_v), std::move(w_o)};
    HeadCounts counts{.num_heads = heads.num_heads,
                      .num_kv_heads = heads.num_kv_heads,
                      .head_dim = heads.head_dim,
                      .qk_norm = heads.qk_norm};
    if (heads.qk_norm) {
      const bool over_all = heads.qk_norm->over == NormOver::projection;
      const auto size = [&](std::size_t count) -> NamedSize {
        return {over_all ? "heads * head_dim" : "head_dim",
                (over_all ? count : 1) * heads.head_dim};
      };
      HEADWISE_ASSIGN(params.q_norm, norm_params(*find(Part::q_norm),
                                                 size(heads.num_heads), n));
      HEADWISE_ASSIGN(params.k_norm, norm_params(*find(Part::k_norm),
                                                 size(heads.num_kv_heads), n));
    }
    if (layer.rotary) {
      HEADWISE_ASSIGN(counts.rotary,
                      Rotary::create(stack_.rotary[*layer.rotary]));
    }
    return MultiHeadAttention::from_params(std::move(params), counts);
  }

  // w_q, w_k or w_v, which may lie in one tensor.
  Result<Linear> head_projection(Part part, std::size_t layer) const {
    const HeadsSpec& heads = stack_.heads;
    const std::size_t D = heads.head_dim;
    const std::size_t rows =
        D * (part == Part::w_q ? heads.num_heads : heads.num_kv_heads);
    if (const TensorName* const row = find(part)) {
      return linear(*row, {"heads * head_dim", rows}, hidden_size(), layer);
    }
    const TensorName& fused = *find(Part::w_qkv);
    const NamedSize all{"(heads + 2 kv_heads) * head_dim",
                        D * (heads.num_heads + 2 * heads.num_kv_heads)};
    return part_of(fused, all, rows, layer, [&](std::size_t n) {
      return fused_row(fused.form, part, n, heads);
    });
  }

  // `rows` rows of a tensor of `all` rows: row n is its row `row_of(n)`.
  template <class RowOf>
  Result<Linear> part_of(const TensorName& fused, NamedSize all,
                         std::size_t rows, std::size_t layer,
                         const RowOf& row_of) const {
    HEADWISE_ASSIGN(const auto weights,
                    matrix(fused, all, hidden_size(), layer));
    HEADWISE_ASSIGN(const auto biases, bias(fused, all, layer));
    const std::size_t E = stack_.hidden_size;
    HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create_unset({rows, E}));
    HEADWISE_ASSIGN(auto added,
                    Tensor<float, 1>::create_unset({fused.bias ? rows : 0}));
    for (std::size_t n = 0; n < rows; ++n) {
      std::copy_n(&weights(row_of(n), 0), E, &weight(n, 0));
      if (fused.bias) {
        added(n) = biases(row_of(n));
      }
    }
    return packed(std::move(weight), std::move(added));
  }

  Result<FeedForward> read_feed_forward(std::size_t layer) const {
    const NamedSize size{"intermediate_size", stack_.feed_forward.size};
    HEADWISE_ASSIGN(auto down,
                    linear(*find(Part::down), hidden_size(), size, layer));
    const TensorName* const gate = find(Part::gate);
    const TensorName* const both = find(Part::gate_up);
    const NamedSize two{"2 * intermediate_size", 2 * size.size};
    if (both != nullptr) {
      HEADWISE_ASSIGN(auto up, linear(*both, two, hidden_size(), layer));
      return FeedForward{std::move(up), std::move(down), true};
    }
    const TensorName& row = *find(Part::up);
    if (gate == nullptr) {
      HEADWISE_ASSIGN(auto up, linear(row, size, hidden_size(), layer));
      return FeedForward{std::move(up), std::move(down), false};
    }
    HEADWISE_ASSIGN(const auto first,
                    matrix(*gate, size, hidden_size(), layer));
    HEADWISE_ASSIGN(const auto second, matrix(row, size, hidden_size(), layer));
    HEADWISE_ASSIGN(const auto first_bias, bias(*gate, size, layer));
    HEADWISE_ASSIGN(const auto second_bias, bias(row, size, layer));
    HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create_unset(
                                     {two.size, stack_.hidden_size}));
    HEADWISE_ASSIGN(auto added, Tensor<float, 1>::create_unset(
                                    {first_bias.size() + second_bias.size()}));
    std::ranges::copy(second.elements(),
                      std::ranges::copy(first.elements(), weight.data()).out);
    std::ranges::copy(
        second_bias.elements(),
        std::ranges::copy(first_bias.elements(), added.data()).out);
    HEADWISE_ASSIGN(auto up, packed(std::move(weight), std::move(added)));
    return FeedForward{std::move(up), std::move(down), true};
  }

  // That of the file, or the table of tokens. A file without one whose settings
  // do not tie them has lost it.
  Status read_unembedding(NamedSize features, Params& params) const {
    const TensorName* const own = find(Part::unembedding);
    const bool is_there =
        own != nullptr && !found_name(*own, ".weight", kNoLayer).empty();
    if (!is_there && description_.unembedding->may_miss) {
      return ok();
    }
    const TensorName& row = is_there || !description_.unembedding->tied
                                ? *own
                                : *find(Part::tokens);
    HEADWISE_ASSIGN(params.unembedding, linear(row, vocab_size(), features));
    return ok();
  }

  ParamFile file_;
  const Description& description_;
  const StackSpec& stack_;
  Arithmetic arithmetic_;
};

template <class Number>
void widen_row(const AnyView& table, std::size_t row, float* to) {
  const std::size_t features = table.extents()[1];
  const auto* const from =
      static_cast<const Number*>(table.data()) + row * features;
  std::transform(from, from + features, to,
                 [](Number n) { return widened(n); });
}

}  // namespace

Status RowNorm::apply(TensorView<const float, 3> x, TensorView<float, 3> y,
                      const Executor& executor) const {
  const auto as_heads = [](auto view) {
    return TensorView(view.data(),
                      Extents<4>{1, view.extent(1), 1, view.extent(2)});
  };
  return norm_heads(norm, params, as_heads(x), as_heads(y), executor);
}

void TokenTable::copy_row(std::size_t row, float* to) const {
  switch (view.dtype()) {
    case DType::bfloat16:
      return widen_row<BFloat16>(view, row, to);
    case DType::float16:
      return widen_row<Float16>(view, row, to);
    default:
      return widen_row<float>(view, row, to);
  }
}

Result<Params> read_params(const std::string& folder,
                           const Description& description, FileAccess access,
                           Arithmetic arithmetic) {
  HEADWISE_ASSIGN(const auto path, find_params(kReadTransformer, folder));
  HEADWISE_ASSIGN(auto file, ParamFile::open(kReadTransformer, path, access));
  return TransformerReader(std::move(file), description, arithmetic).read();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
