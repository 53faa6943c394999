#include "headwise/prune/remove_heads.h"

#include <nanobind/nanobind.h>

#include <string>
#include <vector>

#include "bindings.h"
#include "error.h"
#include "layer_object.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr std::string_view kOperation = "remove_heads";
constexpr EnumWord<ConstantPart> kConstantParts[] = {
    {"into_bias", ConstantPart::into_bias}, {"dropped", ConstantPart::dropped}};

LayerObject* remove(const LayerObject& layer, nb::handle heads,
                    nb::handle constant) {
  const std::vector<std::size_t> numbers = counts(
      heads, {kOperation, "heads"}, "(n)", 0, "the number of a head, from 0");
  const ConstantPart part =
      one_of(constant, {kOperation, "constant"}, kConstantParts);
  return new LayerObject(  // nanobind owns it
      value_of(layer.use([&](const MultiHeadAttention& whole) {
        return remove_heads(whole, numbers, part);
      })),
      layer.rotary());
}

constexpr char kDocumentation[] =
    R"(A new layer without these heads, smaller and faster; `layer` stays as it is.

    w_q  loses the rows of a head, w_o its columns
    w_k, w_v  lose those of a key head that no query head reads any more

The remaining parameters keep their bits, and so does the context of the
remaining heads. The output is that of head_gates of 0, except for rounding.

    heads     numbers of heads, of this layer
    constant  a removed head added w_o b_v to every output, whatever it attended
              to: "into_bias" adds that to the output bias, "dropped" does not

    >>> layer = headwise.MultiHeadAttention.create(embed_dim=64, num_heads=8)
    >>> smaller = headwise.remove_heads(layer, [1, 6])
    >>> smaller.config["num_heads"], smaller.params["w_q.weight"].shape
    (6, (48, 64))

Errors: ValueError for a head that does not exist or is given twice;
NotImplementedError for a layer without w_o, and for a norm over the whole
projection.)";

}  // namespace

void bind_remove_heads(nb::module_& module) {
  module.def(
      "remove_heads", &remove, nb::arg("layer"), nb::arg("heads").none(),
      nb::kw_only(), nb::arg("constant").none() = "into_bias",
      nb::sig("def remove_heads(layer: MultiHeadAttention, heads: Integers, *, "
              "constant: ConstantPart = 'into_bias') -> MultiHeadAttention"),
      kDocumentation);
}

}  // namespace headwise::python
