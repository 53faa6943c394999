#include "transformer/param_names.h"

#include <algorithm>
#include <utility>

namespace headwise::inline HEADWISE_ABI::transformer {

// Names the parameters of a stack, in the order of its pass.
class ParamNames::Stack {
 public:
  Stack(const NamedStack& named, StackParams& params, ParamNames& into)
      : named_(named), params_(params), into_(into) {}

  void name_all() {
    name_embedding();
    for (std::size_t n = 0; n < params_.layers.size(); ++n) {
      const auto same = std::ranges::find(params_.layers, params_.layers[n]);
      if (same - params_.layers.begin() == static_cast<std::ptrdiff_t>(n)) {
        name_block(*params_.layers[n], n);
      }
    }
    norm(params_.final_norm, Part::final_norm);
  }

  void linear(Linear& object, Part part, std::size_t layer = kNoLayer) {
    add(NamedLinear{&object, {part_of(part, layer, 0, object.out_features())}});
  }

 private:
  const TensorName* find(Part part) const {
    const auto row = std::ranges::find(named_.names, part, &TensorName::part);
    return row == named_.names.end() ? nullptr : &*row;
  }
  std::string name_of(Part part, std::string_view end,
                      std::size_t layer = kNoLayer) const {
    if (const TensorName* const row = find(part)) {
      return numbered_name(*row, named_.stack, end, layer);
    }
    // One of the parts of w_qkv.
    const std::string all = name_of(Part::w_qkv, "", layer);
    return all +
           (part == Part::w_q   ? ".w_q"
            : part == Part::w_k ? ".w_k"
                                : ".w_v") +
           std::string(end);
  }
  NamedPart part_of(Part part, std::size_t layer, std::size_t first,
                    std::size_t rows) const {
    return {name_of(part, "", layer), name_of(part, ".weight", layer),
            name_of(part, ".bias", layer), first, rows};
  }

  template <class Named>
  void add(Named named) {
    into_.entries_.push_back(std::move(named));
  }
  void table(std::optional<Embedding>& object, Part part) {
    if (object) {
      add(NamedTable{&*object, name_of(part, ""), name_of(part, ".weight")});
    }
  }
  void optional_linear(std::optional<Linear>& object, Part part) {
    if (object) {
      linear(*object, part);
    }
  }
  void norm(std::optional<RowNorm>& object, Part part,
            std::size_t layer = kNoLayer) {
    const TensorName* const row = find(part);
    if (object && !row->name.empty()) {
      add(NamedNorm{&*object, name_of(part, "", layer),
                    name_of(part, ".weight", layer),
                    row->bias ? name_of(part, ".bias", layer) : ""});
    }
  }

  void name_embedding() {
    TrainedTables& tables = *params_.tables;
    add(NamedTable{&tables.tokens, name_of(Part::tokens, ""),
                   name_of(Part::tokens, ".weight")});
    table(tables.positions, Part::positions);
    table(tables.token_types, Part::token_types);
    optional_linear(params_.token_projection, Part::token_projection);
    optional_linear(params_.placed_projection, Part::placed_projection);
    norm(params_.embedding_norm, Part::embedding_norm);
    if (find(Part::relative) != nullptr) {
      add(NamedMatrix{&params_.relative, name_of(Part::relative, ".weight")});
    }
    optional_linear(params_.embedding_projection, Part::embedding_projection);
  }

  void name_block(Block& block, std::size_t n) {
    norm(block.around_attention.before, Part::attention_before, n);
    name_attention(block, n);
    norm(block.around_attention.after, Part::attention_after, n);
    norm(block.around_attention.behind, Part::attention_behind, n);
    norm(block.around_feed_forward.before, Part::feed_before, n);
    // Experts have no names.
    if (auto& networks = block.feed_forward.networks;
        !networks.empty() && !block.feed_forward.router) {
      Network& network = networks.front();
      name_up(network.up, block.feed_forward.gated, n);
      linear(network.down, Part::down, n);
    }
    norm(block.around_feed_forward.after, Part::feed_after, n);
    norm(block.around_feed_forward.behind, Part::feed_behind, n);
  }

  void name_up(Linear& up, bool gated, std::size_t n) {
    const std::size_t rows = up.out_features();
    if (find(Part::gate_up) != nullptr) {
      linear(up, Part::gate_up, n);
    } else if (gated) {
      add(NamedLinear{&up,
                      {part_of(Part::gate, n, 0, rows / 2),
                       part_of(Part::up, n, rows / 2, rows / 2)}});
    } else {
      linear(up, Part::up, n);
    }
  }

  void name_attention(Block& block, std::size_t n) {
    NamedAttention named{.object = &block.attention, .names = {}, .params = {}};
    for (const auto& [param, part] :
         {std::pair("w_q", Part::w_q), std::pair("w_k", Part::w_k),
          std::pair("w_v", Part::w_v), std::pair("w_o", Part::w_o),
          std::pair("q_norm", Part::q_norm),
          std::pair("k_norm", Part::k_norm)}) {
      if (find(part) == nullptr &&
          (part == Part::q_norm || part == Part::k_norm)) {
        continue;
      }
      named.names.emplace(param, name_of(part, "", n));
      named.params.emplace(std::string(param) + ".weight",
                           name_of(part, ".weight", n));
      const TensorName* const row = find(part);
      if ((row != nullptr ? row : find(Part::w_qkv))->bias) {
        named.params.emplace(std::string(param) + ".bias",
                             name_of(part, ".bias", n));
      }
    }
    add(std::move(named));
    if (find(Part::sinks) != nullptr) {
      add(NamedVector{&block.sinks, name_of(Part::sinks, "", n)});
    }
  }

  const NamedStack& named_;
  StackParams& params_;
  ParamNames& into_;
};

ParamNames::ParamNames(const Description& description, Params& params) {
  Stack stack(description, params.stack, *this);
  stack.name_all();
  if (params.unembedding && !params.ties_unembedding) {
    stack.linear(*params.unembedding, Part::unembedding);
  }
}

namespace {

Status update_one(const NamedTable& named, const ParamNames::Change& change) {
  Status s = ok();
  named.object->update(
      [&](std::span<float> weight) { s = change(named.weight, weight); });
  return s;
}

Status update_one(const NamedNorm& named, const ParamNames::Change& change) {
  RowNorm& norm = *named.object;
  if (norm.less_one.size() != 0) {
    // Also if the callback throws.
    struct WriteAtEnd {
      RowNorm& norm;
      ~WriteAtEnd() { norm.write_weight(); }
    };
    const WriteAtEnd write_at_end{norm};
    return change(named.weight, norm.less_one.elements());
  }
  HEADWISE_TRY(change(named.weight, norm.weight.elements()));
  return named.bias.empty() ? ok() : change(named.bias, norm.bias.elements());
}

Status update_one(const NamedLinear& named, const ParamNames::Change& change) {
  Status s = ok();
  const std::size_t in = named.object->in_features();
  named.object->update([&](std::span<float> weight, std::span<float> bias) {
    for (const NamedPart& part : named.parts) {
      s = s ? change(part.weight,
                     weight.subspan(part.first * in, part.rows * in))
            : s;
      s = s && !bias.empty()
              ? change(part.bias, bias.subspan(part.first, part.rows))
              : s;
    }
  });
  return s;
}

Status update_one(const NamedAttention& named,
                  const ParamNames::Change& change) {
  return named.object->update(
      [&](std::string_view param, std::span<float> values) {
        return change(named.params.find(param)->second, values);
      });
}

Status update_one(const NamedVector& named, const ParamNames::Change& change) {
  return change(named.name, named.object->elements());
}

Status update_one(const NamedMatrix& named, const ParamNames::Change& change) {
  return change(named.name, named.object->elements());
}

void view_one(const NamedTable& named, ParamNames::Views& views) {
  views.emplace(named.weight, named.object->weight());
}

void view_one(const NamedNorm& named, ParamNames::Views& views) {
  const RowNorm& norm = *named.object;
  views.emplace(named.weight, norm.less_one.size() != 0 ? norm.less_one.view()
                                                        : norm.weight.view());
  if (!named.bias.empty()) {
    views.emplace(named.bias, norm.bias);
  }
}

void view_one(const NamedLinear& named, ParamNames::Views& views) {
  const auto weight = named.object->weight();
  const auto bias = named.object->bias();
  for (const auto& part : named.parts) {
    views.emplace(part.weight,
                  TensorView<const float, 2>(
                      weight.data() + part.first * weight.extent(1),
                      {part.rows, weight.extent(1)}));
    if (bias.size() != 0) {
      views.emplace(part.bias, TensorView<const float, 1>(
                                   bias.data() + part.first, {part.rows}));
    }
  }
}

void view_one(const NamedAttention& named, ParamNames::Views& views) {
  const MultiHeadAttentionParams& params = *named.object->params();
  for (const auto& [param, linear] :
       {std::pair("w_q", &params.w_q), std::pair("w_k", &params.w_k),
        std::pair("w_v", &*params.w_v), std::pair("w_o", &*params.w_o)}) {
    const std::string name(param);
    views.emplace(named.params.at(name + ".weight"), linear->weight());
    // Without heads it has no elements, but is there.
    if (const auto bias = named.params.find(name + ".bias");
        bias != named.params.end()) {
      views.emplace(bias->second, linear->bias());
    }
  }
  for (const auto& [param, norm] : {std::pair("q_norm", &params.q_norm),
                                    std::pair("k_norm", &params.k_norm)}) {
    const std::string name(param);
    if (*norm) {
      views.emplace(named.params.at(name + ".weight"), (*norm)->weight);
      if ((*norm)->bias.size() != 0) {
        views.emplace(named.params.at(name + ".bias"), (*norm)->bias);
      }
    }
  }
}

void view_one(const NamedVector& named, ParamNames::Views& views) {
  views.emplace(named.name, *named.object);
}

void view_one(const NamedMatrix& named, ParamNames::Views& views) {
  views.emplace(named.name, *named.object);
}

}  // namespace

Status ParamNames::update(const Change& change) const {
  for (const auto& entry : entries_) {
    HEADWISE_TRY(std::visit(
        [&](const auto& named) { return update_one(named, change); }, entry));
  }
  return ok();
}

ParamNames::Views ParamNames::views() const {
  Views views;
  for (const auto& entry : entries_) {
    std::visit([&](const auto& named) { view_one(named, views); }, entry);
  }
  return views;
}

ParamNames::Views ParamNames::attention_views() const {
  Views views;
  for (const auto& entry : entries_) {
    if (const auto* const named = std::get_if<NamedAttention>(&entry)) {
      view_one(*named, views);
    } else if (const auto* const sinks = std::get_if<NamedVector>(&entry)) {
      view_one(*sinks, views);
    }
  }
  return views;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
