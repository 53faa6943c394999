#include "transformer/gradient_sums.h"

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "run/float_environment.h"
#include "transformer/pass_parts.h"

namespace headwise::inline HEADWISE_ABI::transformer {

// Passes on the terms of a layer's attention, by their names in files.
class GradientSums::AttentionTerms final : public ParamTerms {
 public:
  AttentionTerms(const NamedAttention& named, ParamTerms& terms)
      : named_(named), terms_(terms) {}

  Status add_projection(std::string_view name, TensorView<const float, 3> x,
                        TensorView<const float, 3> d_y) override {
    return terms_.add_projection(named_.names.find(name)->second, x, d_y);
  }
  Status add_norm(std::string_view name, TensorView<const float, 2> x,
                  TensorView<const float, 2> d_y) override {
    return terms_.add_norm(named_.names.find(name)->second, x, d_y);
  }
  Status add_table(std::string_view name, TensorView<const TokenId, 2> ids,
                   TensorView<const float, 3> d_embedded) override {
    return terms_.add_table(name, ids, d_embedded);
  }

 private:
  const NamedAttention& named_;
  ParamTerms& terms_;
};

// Layers may share a parameter: their gradients add up.
template <std::size_t Rank>
void GradientSums::put(const std::string& name,
                       Tensor<float, Rank> gradient) const {
  const std::size_t size = gradient.size();
  auto flat = std::move(gradient).template with_extents<1>({size});
  const auto found = into_.params.find(name);
  if (found == into_.params.end()) {
    into_.params.emplace(name, std::move(flat));
    return;
  }
  const FloatEnvironment environment;
  std::transform(flat.data(), flat.data() + size, found->second.data(),
                 found->second.data(), std::plus<>());
}

Status GradientSums::put_parts(const NamedLinear& named,
                               LinearGradients by) const {
  if (named.parts.size() == 1) {
    put(named.parts.front().weight, std::move(by.weight));
    if (by.bias.size() != 0) {
      put(named.parts.front().bias, std::move(by.bias));
    }
    return ok();
  }
  const std::size_t in = by.weight.extent(1);
  for (const NamedPart& part : named.parts) {
    HEADWISE_ASSIGN(auto weight,
                    Tensor<float, 1>::create_unset({part.rows * in}));
    std::copy_n(by.weight.data() + part.first * in, weight.size(),
                weight.data());
    put(part.weight, std::move(weight));
    if (by.bias.size() != 0) {
      HEADWISE_ASSIGN(auto bias, Tensor<float, 1>::create_unset({part.rows}));
      std::copy_n(by.bias.data() + part.first, part.rows, bias.data());
      put(part.bias, std::move(bias));
    }
  }
  return ok();
}

Result<Rows> GradientSums::through(const Linear& linear, const Rows& x,
                                   const Rows& d_y) const {
  const auto& named = names_.of<NamedLinear>(linear);
  if (wanted_ && !named.parts.empty()) {
    if (terms_ != nullptr) {
      const auto stride = static_cast<std::ptrdiff_t>(d_y.extent(2));
      for (const NamedPart& part : named.parts) {
        HEADWISE_TRY(terms_->add_projection(part.name, x,
                                            {d_y.data() + part.first,
                                             {1, d_y.extent(1), part.rows},
                                             {0, stride, 1}}));
      }
    } else {
      HEADWISE_ASSIGN(auto by,
                      linear.backward_params(x, d_y, offsets_, executor_));
      HEADWISE_TRY(put_parts(named, std::move(by)));
    }
  }
  return linear.backward_input(d_y, "d_y", executor_);
}

Result<Rows> GradientSums::through(const RowNorm& norm, const Rows& x,
                                   Rows d) const {
  const bool has_params = wanted_ && !names_.of<NamedNorm>(norm).name.empty();
  const auto& named = names_.of<NamedNorm>(norm);
  if (has_params && terms_ != nullptr) {
    HEADWISE_TRY(
        terms_->add_norm(named.name, rows_of(x), rows_of(std::as_const(d))));
  }
  HEADWISE_ASSIGN(
      auto by, layer_norm_backward(rows_of(x), norm, rows_of(std::as_const(d)),
                                   rows_of(d.view()), offsets_, executor_));
  if (has_params && terms_ == nullptr) {
    put(named.weight, std::move(by.weight));
    if (!named.bias.empty()) {
      put(named.bias, std::move(by.bias));
    }
  }
  return d;
}

Status GradientSums::add(const Embedding& table,
                         TensorView<const TokenId, 2> ids,
                         const Rows& d) const {
  const auto& named = names_.of<NamedTable>(table);
  if (terms_ != nullptr) {
    return terms_->add_table(named.name, ids, d);
  }
  HEADWISE_ASSIGN(auto by, table.backward(ids, d, {}, offsets_));
  put(named.weight, std::move(by));
  return ok();
}

Status GradientSums::add_to_table(const Embedding& table,
                                  const Linear& unembedding, const Rows& x,
                                  const Rows& d_y) const {
  if (wanted_) {
    HEADWISE_ASSIGN(auto by,
                    unembedding.backward_params(x, d_y, offsets_, executor_));
    put(names_.of<NamedTable>(table).weight, std::move(by.weight));
  }
  return ok();
}

Status GradientSums::add(const Block& block,
                         MultiHeadAttentionGradients& by) const {
  if (!wanted_) {
    return ok();
  }
  if (by.sinks.size() != 0) {
    put(names_.of<NamedVector>(block.sinks).name, std::move(by.sinks));
  }
  if (terms_ != nullptr) {
    return ok();
  }
  const auto& named = names_.of<NamedAttention>(block.attention);
  Status made = ok();
  by.for_each([&](std::string_view param, std::span<const float> values) {
    const auto name = named.params.find(param);
    if (!made || name == named.params.end()) {
      return;
    }
    auto copy = Tensor<float, 1>::create_unset({values.size()});
    if (!copy) {
      made = copy.error();
      return;
    }
    std::ranges::copy(values, copy->data());
    put(name->second, *std::move(copy));
  });
  if (block.attention.config().num_heads == 0) {  // parameters of no elements
    for (const auto& [param, name] : named.params) {
      into_.params.try_emplace(name);
    }
  }
  return made;
}

Status GradientSums::add_relative(const Tensor<float, 2>& table,
                                  const Tensor<float, 2>& by,
                                  const std::vector<std::size_t>& heads) const {
  if (!wanted_) {
    return ok();
  }
  HEADWISE_ASSIGN(auto all, Tensor<float, 2>::create(table.extents()));
  for (std::size_t bucket = 0; bucket < all.extent(0); ++bucket) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
      all(bucket, heads[h]) = by(bucket, h);
    }
  }
  put(names_.of<NamedMatrix>(table).name, std::move(all));
  return ok();
}

ParamTerms* GradientSums::terms_of(const MultiHeadAttention& attention) {
  if (!wanted_ || terms_ == nullptr) {
    return nullptr;
  }
  of_attention_ = std::make_shared<AttentionTerms>(
      names_.of<NamedAttention>(attention), *terms_);
  return of_attention_.get();
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
