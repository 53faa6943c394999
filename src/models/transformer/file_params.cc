#include "transformer/file_params.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>

#include "transformer/fused_rows.h"

namespace headwise::inline HEADWISE_ABI::transformer {
namespace {

constexpr std::array kFusedParts = {std::pair(".w_q", Part::w_q),
                                    std::pair(".w_k", Part::w_k),
                                    std::pair(".w_v", Part::w_v)};

const float* numbers_of(const AnyView& view) {
  return static_cast<const float*>(view.data());
}

class Forms {
 public:
  Forms(const NamedStack& named, FileParams& made)
      : named_(named), made_(made) {}

  Status take(const TensorName& row, std::size_t layer) {
    const std::string name = numbered_name(row, named_.stack, "", layer);
    if (row.part == Part::w_qkv) {
      HEADWISE_TRY(fuse(row, name, layer));
    }
    return row.form == Form::transposed ? transpose(name + ".weight") : ok();
  }

 private:
  // All three matrices, and their biases, in one.
  Status fuse(const TensorName& row, const std::string& name,
              std::size_t layer) {
    if (!made_.views.contains(name + ".w_q.weight")) {
      return ok();
    }
    const StackSpec& stack = named_.stack;
    if (row.form == Form::qkv_by_group && !stack.has_even_groups(layer)) {
      return Error{ErrorCode::unsupported,
                   {.operation = "file_params",
                    .argument = name,
                    .given = "has the rows of each key head and its queries "
                             "side by side",
                    .expected = "as many heads left of each key head"}};
    }
    const HeadsSpec heads = stack.heads_of(layer);
    const std::size_t in = stack.hidden_size;
    const std::size_t rows =
        heads.head_dim * (heads.num_heads + 2 * heads.num_kv_heads);
    HEADWISE_ASSIGN(auto weight, Tensor<float, 2>::create_unset({rows, in}));
    HEADWISE_ASSIGN(auto bias,
                    Tensor<float, 1>::create_unset({row.bias ? rows : 0}));
    for (const auto& [end, part] : kFusedParts) {
      const AnyView own = take_view(name + end + ".weight");
      const AnyView own_bias =
          row.bias ? take_view(name + end + ".bias") : AnyView();
      for (std::size_t n = 0; n < own.extents()[0]; ++n) {
        const std::size_t to = fused_row(row.form, part, n, heads);
        std::copy_n(numbers_of(own) + n * in, in, &weight(to, 0));
        if (row.bias) {
          bias(to) = numbers_of(own_bias)[n];
        }
      }
    }
    keep(name + ".weight", made_.matrices.emplace_back(std::move(weight)));
    if (row.bias) {
      keep(name + ".bias", made_.vectors.emplace_back(std::move(bias)));
    }
    return ok();
  }

  Status transpose(const std::string& name) {
    const auto found = made_.views.find(name);
    if (found == made_.views.end()) {
      return ok();
    }
    const AnyView view = found->second;
    const std::size_t out = view.extents()[0];
    const std::size_t in = view.extents()[1];
    HEADWISE_ASSIGN(auto turned, Tensor<float, 2>::create_unset({in, out}));
    for (std::size_t o = 0; o < out; ++o) {
      for (std::size_t i = 0; i < in; ++i) {
        turned(i, o) = numbers_of(view)[o * in + i];
      }
    }
    found->second = made_.matrices.emplace_back(std::move(turned));
    return ok();
  }

  AnyView take_view(const std::string& name) {
    return made_.views.extract(name).mapped();
  }
  template <std::size_t Rank>
  void keep(std::string name, const Tensor<float, Rank>& tensor) {
    made_.views.insert_or_assign(std::move(name), tensor);
  }

  const NamedStack& named_;
  FileParams& made_;
};

template <class T>
Result<AnyView> narrowed_if_exact(const AnyView& view,
                                  std::deque<Tensor<T, 1>>& keep) {
  HEADWISE_ASSIGN(auto made, Tensor<T, 1>::create_unset({view.size()}));
  for (std::size_t n = 0; n < made.size(); ++n) {
    const float x = numbers_of(view)[n];
    made(n) = narrowed<T>(x);
    if (std::bit_cast<std::uint32_t>(widened(made(n))) !=
        std::bit_cast<std::uint32_t>(x)) {
      return view;
    }
  }
  const auto& kept = keep.emplace_back(std::move(made));
  return AnyView(kept.data(), DTypeOf<T>::value, view.extents());
}

}  // namespace

Result<AnyView> in_type(DType type, const AnyView& view, FileParams& keep) {
  return type == DType::bfloat16  ? narrowed_if_exact(view, keep.bfloats)
         : type == DType::float16 ? narrowed_if_exact(view, keep.halves)
                                  : view;
}

Result<FileParams> file_params(const NamedStack& stack,
                               std::map<std::string, AnyView> params) {
  FileParams made{.views = std::move(params)};
  Forms forms(stack, made);
  for (const TensorName& row : stack.names) {
    if (row.part != Part::w_qkv && row.form == Form::plain) {
      continue;
    }
    const bool of_layer = row.name.find("{N}") != row.name.npos;
    for (std::size_t n = 0; n < (of_layer ? stack.stack.layers.size() : 1);
         ++n) {
      HEADWISE_TRY(forms.take(row, of_layer ? n : kNoLayer));
    }
  }
  return made;
}

}  // namespace headwise::inline HEADWISE_ABI::transformer
