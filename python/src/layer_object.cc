#include "layer_object.h"

#include <array>
#include <cstdint>
#include <map>

#include "error.h"
#include "headwise/interop/npz.h"
#include "headwise/interop/safetensors.h"
#include "layer_config.h"
#include "named_fields.h"
#include "path_argument.h"

namespace headwise::python {

namespace {

constexpr std::string_view kForward = "MultiHeadAttention.forward";

OneAtATime* cache_of(const LayerCallOptions& options) {
  return options.cache != nullptr ? &options.cache->one_at_a_time : nullptr;
}

}  // namespace

nb::object LayerObject::forward(nb::handle query, nb::handle key,
                                nb::handle value,
                                const nb::kwargs& keywords) const {
  const LayerCallOptions options(kForward, keywords, Pass::forward);
  const LayerTensors tensors(query, key, value, kForward);
  if (options.out.is_valid()) {
    return forward_into(tensors, options);
  }
  return with_element_type(tensors.query(), [&]<class T>(T) {
    const auto q = tensors.query_view<T>();
    const auto k = tensors.key_view<T>();
    const auto v = tensors.value_view<T>();
    auto result = use(
        [&](const MultiHeadAttention& layer) {
          return layer.forward(q, k, v, options.attention, options.layer);
        },
        cache_of(options));
    return layer_result<T>(value_of(std::move(result)), tensors, options);
  });
}

nb::object LayerObject::forward_into(const LayerTensors& tensors,
                                     const LayerCallOptions& options) const {
  if (options.lse) {
    raise_value({kForward, "lse"}, "is asked for",
                "none with out: only the output is written");
  }
  const ArrayArgument out(options.out, options.named("out"));
  with_element_type(tensors.query(), [&]<class T>(T) {
    const auto q = tensors.query_view<T>();
    const auto k = tensors.key_view<T>();
    const auto v = tensors.value_view<T>();
    const auto output = tensors.output_view<T>(out);
    check(use(
        [&](const MultiHeadAttention& layer) {
          return layer.forward_into(q, k, v, output, options.attention,
                                    options.layer);
        },
        cache_of(options)));
  });
  return options.out;
}

void LayerObject::fix_sizes(const nb::kwargs& keywords) {
  NamedFields fields(keywords, "MultiHeadAttention.fix_sizes");
  InputSizes sizes;
  take_size(fields, "query_dim", sizes.query_dim);
  take_size(fields, "kdim", sizes.kdim);
  take_size(fields, "vdim", sizes.vdim);
  fields.end();
  check(change(
      [&](MultiHeadAttention& layer) { return layer.fix_sizes(sizes); }));
}

void LayerObject::set_rotary(nb::handle rotary) {
  std::optional<Rotary> given;
  if (!rotary.is_none()) {
    given =
        rotary_argument(rotary, {"MultiHeadAttention.set_rotary", "rotary"});
  }
  check(change([&](MultiHeadAttention& layer) {
    return layer.set_rotary(std::move(given));
  }));
  rotary_ = rotary_rules(rotary);
}

nb::object LayerObject::rotary() const {
  return config().rotary ? nb::object(rotary_dict(*config().rotary, rotary_))
                         : nb::none();
}

const MultiHeadAttentionParams& LayerObject::params() const {
  if (!layer_.params()) {
    raise_value({"MultiHeadAttention", "params"},
                "do not exist while an input size is open",
                "a call of fix_sizes() first");
  }
  return *layer_.params();
}

void LayerObject::set_params(nb::handle params) {
  const NamedParams given(params, "MultiHeadAttention.set_params");
  given.check_against(this->params());
  check(change([&](MultiHeadAttention& layer) {
    return layer.update([&](std::string_view name, std::span<float> values) {
      given.write(name, values);
      return ok();
    });
  }));
}

void LayerObject::share_memory_with(const LayerObject& other) {
  if (this == &other) {
    return;
  }
  const nb::gil_scoped_release released;
  std::unique_lock lock(mutex_, std::defer_lock);
  std::shared_lock of_other(other.mutex_, std::defer_lock);
  std::lock(lock, of_other);
  layer_.share_memory_with(other.layer_);
}

void LayerObject::save(nb::handle path) const {
  const std::string file =
      path_argument(path, {"MultiHeadAttention.save", "path"});
  const MultiHeadAttentionConfig& config = this->config();
  const std::size_t kv_heads = config.num_kv_heads.value_or(config.num_heads);
  if (!config.kv_group_sizes.empty()) {
    raise(Error(ErrorCode::unsupported,
                {.operation = "MultiHeadAttention.save",
                 .given = "the layer has kv_group_sizes, which files don't say",
                 .expected = "even groups"}));
  }
  std::map<std::string, AnyView> views;
  for_each_param(params(), [&](std::string_view name, const AnyView& values) {
    views.emplace(name, values);
  });
  check(use([&](const MultiHeadAttention&) -> Status {
    if (file.ends_with(".safetensors")) {
      return write_safetensors(file, views,
                               {{"num_heads", std::to_string(config.num_heads)},
                                {"num_kv_heads", std::to_string(kv_heads)}});
    }
    const std::array<std::int64_t, 2> counts = {
        static_cast<std::int64_t>(config.num_heads),
        static_cast<std::int64_t>(kv_heads)};
    using Count = TensorView<const std::int64_t, 1>;
    views.emplace("num_heads", Count(&counts[0], {1}));
    views.emplace("num_kv_heads", Count(&counts[1], {1}));
    return write_npz(file, views);
  }));
}

}  // namespace headwise::python
