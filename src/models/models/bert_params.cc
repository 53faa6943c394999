#include "models/bert_params.h"

#include <initializer_list>
#include <memory>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "headwise/interop/layouts.h"
#include "interop/error_text.h"
#include "interop/find_params.h"
#include "interop/param_file.h"
#include "models/bert_names.h"
#include "transformer/kept_heads.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kBertParams = "read_bert_encoder";

// The sizes of a parameter, each with its name in the config.
using BertAxes =
    std::initializer_list<std::pair<std::string_view, std::size_t>>;

class BertReader {
 public:
  static Result<BertReader> open(const std::string& path,
                                 const BertConfig& config,
                                 const BertAccess& access) {
    HEADWISE_ASSIGN(auto file, ParamFile::open(kBertParams, path, access.file));
    HEADWISE_ASSIGN(auto shapes, file.shapes());
    const BertNames& names = bert_names(config.family);
    const FileSubject subject{std::string(kBertParams), path};
    HEADWISE_ASSIGN(auto match, find_layout(shapes, subject, names.layout));
    if (match.layers.size() != config.num_layers) {
      return subject.bad_data(
          message("has {} layers", match.layers.size()),
          message("{} as in config.json", config.num_layers));
    }
    BertConfig kept = config;
    HEADWISE_TRY(read_kept_heads(file.metadata(), subject, kept.num_layers,
                                 kept.num_heads, kept.kept_heads));
    return BertReader(std::move(file), access, std::move(shapes),
                      std::move(match), names, std::move(kept));
  }

  const BertConfig& config() const { return config_; }

  Result<BertEmbeddings> embeddings() const {
    HEADWISE_ASSIGN(auto norm, this->norm(std::string(kEmbeddingNorm)));
    return access_.use == BertUse::training
               ? embeddings_to_train(std::move(norm))
               : embeddings_in_place(std::move(norm));
  }

  Result<BertLayer> layer(std::size_t number) const {
    const auto named = [&](std::string_view name) {
      return numbered(name, number);
    };
    auto attention = this->attention(number);
    auto attention_norm = norm(named(names_->attention_norm));
    auto intermediate =
        linear(named(names_->intermediate),
               {"intermediate_size", config_.intermediate_size}, hidden_size());
    auto output = linear(named(names_->output), hidden_size(),
                         {"intermediate_size", config_.intermediate_size});
    auto output_norm = norm(named(names_->output_norm));
    HEADWISE_TRY(attention);
    HEADWISE_TRY(attention_norm);
    HEADWISE_TRY(intermediate);
    HEADWISE_TRY(output);
    HEADWISE_TRY(output_norm);
    return BertLayer{*std::move(attention), *std::move(attention_norm),
                     *std::move(intermediate), *std::move(output),
                     *std::move(output_norm)};
  }

 private:
  using Axis = std::pair<std::string_view, std::size_t>;

  Axis vocab_size() const { return {"vocab_size", config_.vocab_size}; }
  Axis max_positions() const {
    return {"max_positions", config_.max_positions};
  }
  Axis type_vocab_size() const {
    return {"type_vocab_size", config_.type_vocab_size};
  }
  Axis hidden_size() const { return {"hidden_size", config_.hidden_size}; }

  Result<BertEmbeddings> embeddings_in_place(LayerNormParams norm) const {
    HEADWISE_ASSIGN(auto word,
                    in_place(kWordTable, {vocab_size(), hidden_size()}));
    HEADWISE_ASSIGN(
        const auto position,
        tensor<2>(kPositionTable, {max_positions(), hidden_size()}));
    Tensor<float, 2> types;
    if (config_.type_vocab_size != 0) {
      HEADWISE_ASSIGN(
          types, tensor<2>(kTypeTable, {type_vocab_size(), hidden_size()}));
    }
    HEADWISE_ASSIGN(auto places, create_places(position, types));
    return BertEmbeddings{word.view,
                          std::move(word.owner),
                          std::move(places),
                          std::move(norm),
                          {}};
  }

  Result<BertEmbeddings> embeddings_to_train(LayerNormParams norm) const {
    HEADWISE_ASSIGN(auto word, table(kWordTable, vocab_size()));
    HEADWISE_ASSIGN(auto position, table(kPositionTable, max_positions()));
    BertTables tables{std::move(word), std::move(position), {}};
    if (config_.type_vocab_size != 0) {
      HEADWISE_ASSIGN(tables.type, table(kTypeTable, type_vocab_size()));
    }
    BertEmbeddings embeddings;
    embeddings.norm = std::move(norm);
    Status s = set_tables(embeddings, std::move(tables));
    return s ? Result<BertEmbeddings>(std::move(embeddings)) : s.error();
  }

  Result<Embedding> table(std::string_view name, const Axis& rows) const {
    auto weight = tensor<2>(name, {rows, hidden_size()});
    return weight ? Embedding::from_weight(*std::move(weight))
                  : Result<Embedding>(weight.error());
  }

  BertReader(ParamFile file, const BertAccess& access, ShapesByName shapes,
             LayoutMatch match, const BertNames& names, BertConfig config)
      : file_(std::move(file)),
        access_(access),
        shapes_(std::move(shapes)),
        match_(std::move(match)),
        names_(&names),
        config_(std::move(config)) {}

  FileSubject subject() const {
    return {std::string(kBertParams), file_.path()};
  }

  Status check_there(const std::string& name) const {
    return file_.names().contains(name) ? ok()
                                        : Status(subject().bad_data(message(
                                              "has no {}", printable(name))));
  }

  Result<Array> read(const std::string& name) const {
    HEADWISE_TRY(check_there(name));
    auto array = file_.read(name);
    const Status finite = array ? finite_param(array->view(), name) : ok();
    return finite ? std::move(array) : finite.error();
  }

  Status finite_param(const AnyView& view, const std::string& name) const {
    Status s = check_finite(view, kBertParams, name);
    return s ? s : file_.subject_of(kBertParams, name).blame_here(s.error());
  }

  Status check_axes(std::string_view name, std::span<const std::size_t> shape,
                    BertAxes axes) const {
    std::string words;
    std::vector<std::size_t> expected;
    for (const auto& [word, size] : axes) {
      words += (words.empty() ? "(" : ", ") + std::string(word);
      expected.push_back(size);
    }
    Status s = check_shape(kBertParams, name, shape, words + ")", expected);
    return s ? s : subject().blame(s.error());
  }

  template <std::size_t Rank>
  Result<Tensor<float, Rank>> tensor(std::string_view name,
                                     BertAxes axes) const {
    HEADWISE_ASSIGN(const auto array, read(match_.prefix + std::string(name)));
    HEADWISE_TRY(check_axes(name, array.shape, axes));
    return of_file(to_float<Rank>(array, kBertParams, name));
  }

  struct Kept {
    TensorView<const float, 2> view;
    std::shared_ptr<const void> owner;
  };

  // A parameter in the bytes of the mapped file, or in a copy where there are
  // none or they are no float32 that can be read as it lies. (Of a file that
  // was read, one parameter would keep all.)
  Result<Kept> in_place(std::string_view name, BertAxes axes) const {
    const std::string full = match_.prefix + std::string(name);
    HEADWISE_TRY(check_there(full));
    HEADWISE_ASSIGN(auto found, file_.tensor(full));
    const AnyView& view = found.view;
    if (access_.file == FileAccess::read || !found.in_place || !found.bytes ||
        view.dtype() != DType::float32) {
      HEADWISE_ASSIGN(auto copy, tensor<2>(name, axes));
      auto owner = std::make_shared<const Tensor<float, 2>>(std::move(copy));
      const auto elements = owner->view();
      return Kept{elements, std::move(owner)};
    }
    HEADWISE_TRY(finite_param(view, full));
    HEADWISE_TRY(check_axes(name, view.extents(), axes));
    return Kept{{static_cast<const float*>(view.data()),
                 {view.extents()[0], view.extents()[1]}},
                std::move(found.bytes)};
  }

  // What was made of parameters that do not fit together is the file's fault.
  template <class T>
  Result<T> of_file(Result<T> made) const {
    return made ? std::move(made) : subject().blame(made.error());
  }

  Result<Linear> linear(const std::string& name, const Axis& out,
                        const Axis& in) const {
    auto weight = tensor<2>(name + ".weight", {out, in});
    auto bias = tensor<1>(name + ".bias", {out});
    return packed(std::move(weight), std::move(bias));
  }

  Result<Linear> packed(Result<Tensor<float, 2>> weight,
                        Result<Tensor<float, 1>> bias) const {
    HEADWISE_TRY(weight);
    HEADWISE_TRY(bias);
    auto linear =
        of_file(Linear::from_params(*std::move(weight), *std::move(bias)));
    if (linear && access_.use == BertUse::inference) {
      linear = std::move(*linear).for_inference();
    }
    return linear && access_.arithmetic == Arithmetic::bf16 ? linear->in_bf16()
                                                            : std::move(linear);
  }

  // Old files say gamma and beta.
  Result<LayerNormParams> norm(const std::string& name) const {
    const bool old = file_.names().contains(match_.prefix + name + ".gamma");
    HEADWISE_ASSIGN(auto weight, tensor<1>(name + (old ? ".gamma" : ".weight"),
                                           {hidden_size()}));
    HEADWISE_ASSIGN(auto bias, tensor<1>(name + (old ? ".beta" : ".bias"),
                                         {hidden_size()}));
    return LayerNormParams{std::move(weight), std::move(bias),
                           config_.layer_norm_eps};
  }

  Result<MultiHeadAttention> attention(std::size_t number) const {
    HEADWISE_ASSIGN(
        const auto read,
        take_layer(match_, shapes_, number, [this](const std::string& name) {
          return this->read(name);
        }));
    const auto linear = [&](const std::string& name) -> Result<Linear> {
      auto weight = of_file(to_float<2>(read.params.at(name + ".weight"),
                                        kBertParams, name + ".weight"));
      auto bias = of_file(to_float<1>(read.params.at(name + ".bias"),
                                      kBertParams, name + ".bias"));
      return packed(std::move(weight), std::move(bias));
    };
    HEADWISE_ASSIGN(auto w_q, linear("w_q"));
    HEADWISE_ASSIGN(auto w_k, linear("w_k"));
    HEADWISE_ASSIGN(auto w_v, linear("w_v"));
    HEADWISE_ASSIGN(auto w_o, linear("w_o"));
    const std::size_t E = config_.hidden_size;
    if (w_q.in_features() != E || w_o.out_features() != E) {
      return subject().bad_data(
          message("has attention of {} features", w_q.in_features()),
          "hidden_size = " + std::to_string(E));
    }
    const std::size_t heads = heads_of(config_, number);
    HEADWISE_TRY(check_heads(number, heads, w_q.out_features()));
    return of_file(MultiHeadAttention::from_params(
        {std::move(w_q), std::move(w_k), std::move(w_v), std::move(w_o)},
        heads));
  }

  Status check_heads(std::size_t number, std::size_t heads,
                     std::size_t features) const {
    const std::size_t expected =
        heads * (config_.hidden_size / config_.num_heads);
    if (features == expected) {
      return ok();
    }
    return subject().bad_data(
        message("has queries of {} features in layer {}", features, number),
        message("{} of its {} heads", expected, heads));
  }

  ParamFile file_;
  BertAccess access_;
  ShapesByName shapes_;
  LayoutMatch match_;
  const BertNames* names_;
  BertConfig config_;
};

}  // namespace

Result<BertParams> read_bert_params(const std::string& folder,
                                    const BertConfig& config,
                                    const BertAccess& access) {
  HEADWISE_ASSIGN(const auto path, find_params(kBertParams, folder));
  HEADWISE_ASSIGN(const auto reader, BertReader::open(path, config, access));
  HEADWISE_ASSIGN(auto embeddings, reader.embeddings());
  BertParams params{reader.config(), std::move(embeddings), {}};
  for (std::size_t n = 0; n < config.num_layers; ++n) {
    HEADWISE_ASSIGN(auto layer, reader.layer(n));
    if (n != 0) {
      layer.attention.share_memory_with(params.layers.front().attention);
    }
    params.layers.push_back(std::move(layer));
  }
  return params;
}

Result<BertEncoder> BertEncoder::read(const std::string& folder,
                                      const BertConfig& config,
                                      const BertAccess& access) {
  return catching_out_of_memory([&]() -> Result<BertEncoder> {
    HEADWISE_ASSIGN(auto params, read_bert_params(folder, config, access));
    return BertEncoder(std::make_unique<State>(State{std::move(params)}));
  });
}

}  // namespace headwise::inline HEADWISE_ABI
