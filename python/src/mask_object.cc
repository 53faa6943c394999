#include "mask_object.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>

#include "axes_argument.h"
#include "bindings.h"
#include "error.h"
#include "number_arguments.h"
#include "object_text.h"

namespace headwise::python {
namespace {

std::optional<std::int64_t> side(nb::handle value, const char* name) {
  return value.is_none() ? std::nullopt
                         : std::optional(integer(value, {"window", name}));
}

MaskObject make_window(nb::handle left, nb::handle right,
                       nb::handle keep_first) {
  const std::int64_t kept = integer(keep_first, {"window", "keep_first"});
  const auto first = side(left, "left");
  const auto last = side(right, "right");
  return {window(first, last, kept),
          {},
          {"window", [=] {
             return kept == 0 ? nb::make_tuple(first, last)
                              : nb::make_tuple(first, last, kept);
           }}};
}

template <class T>
nb::object numpy_copy(const T* data, std::span<const std::size_t> extents,
                      std::span<const std::ptrdiff_t> strides) {
  const nb::ndarray<nb::numpy, const T> view(
      data, extents.size(), extents.data(), nb::handle(), strides.data());
  return nb::cast(view, nb::rv_policy::copy);
}
template <class T, std::size_t Rank>
nb::object numpy_copy(TensorView<const T, Rank> view) {
  return numpy_copy(view.data(), view.extents(), view.strides());
}

// Of a function whose arguments are these views.
template <class... Views>
MaskPart part_of(const char* function, Views... views) {
  return {function, [=] { return nb::make_tuple(numpy_copy(views)...); }};
}

// Of key_lengths(), 1 or 2 axes.
template <std::size_t Rank>
MaskObject make_key_lengths_of(nb::handle lengths, ArgumentName name) {
  ArgumentMemory memory;
  const auto given = integers<Rank>(lengths, name, "(B) or (B, Lq)", memory);
  return {key_lengths(given), std::move(memory), part_of("key_lengths", given)};
}

// The rank of an array or of nested sequences, by its first element.
std::size_t rank_of(nb::handle value) {
  if (nb::hasattr(value, "ndim")) {
    return nb::cast<std::size_t>(value.attr("ndim"));
  }
  if (nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value)) {
    const nb::object first =
        nb::len(value) == 0 ? nb::object() : nb::object(value[0]);
    return first.is_valid() ? 1 + rank_of(first) : 1;
  }
  return 0;
}

MaskObject make_key_lengths(nb::handle lengths) {
  const ArgumentName name{"key_lengths", "lengths"};
  return rank_of(lengths) == 2 ? make_key_lengths_of<2>(lengths, name)
                               : make_key_lengths_of<1>(lengths, name);
}

MaskObject make_key_starts(nb::handle starts) {
  ArgumentMemory memory;
  const auto given =
      integers<1>(starts, {"key_starts", "starts"}, "(B)", memory);
  return {key_starts(given), std::move(memory), part_of("key_starts", given)};
}

MaskObject make_key_padding(nb::handle padding) {
  ArgumentMemory memory;
  const auto given =
      booleans<2>(padding, {"key_padding", "padding"}, "(B, Lkv)", memory);
  return {key_padding(given), std::move(memory), part_of("key_padding", given)};
}

template <std::size_t Rank>
MaskObject make_documents_of(nb::handle query_ids, nb::handle key_ids,
                             std::string_view query_axes,
                             std::string_view key_axes) {
  ArgumentMemory memory;
  const auto query =
      integers<Rank>(query_ids, {"documents", "query_ids"}, query_axes, memory);
  const auto key =
      integers<Rank>(key_ids, {"documents", "key_ids"}, key_axes, memory);
  return {documents(query, key), std::move(memory),
          part_of("documents", query, key)};
}

MaskObject make_documents(nb::handle query_ids, nb::handle key_ids) {
  return rank_of(query_ids) == 1
             ? make_documents_of<1>(query_ids, key_ids, "(Lq)", "(Lkv)")
             : make_documents_of<2>(query_ids, key_ids, "(B, Lq)", "(B, Lkv)");
}

MaskObject make_dense_mask(nb::handle array, nb::handle axes,
                           ArgumentName name) {
  ArgumentMemory memory;
  const Booleans read = booleans(array, name, memory);
  const std::vector<Axis> named = axes_of(axes, read.extents, name);
  return {dense(read.data, NamedAxes(read.extents, read.strides, named)),
          std::move(memory),
          {"dense", [=] {
             return nb::make_tuple(
                 numpy_copy(read.data, read.extents, read.strides),
                 axis_names(named));
           }}};
}

// Of one call, which needs to know the array no longer.
MaskObject make_passing_mask(nb::handle array, ArgumentName name, Graph graph) {
  ArgumentMemory memory;
  const Booleans read = booleans(array, name, memory, graph);
  const std::vector<Axis> named = axes_of(nb::none(), read.extents, name);
  return {dense(read.data, NamedAxes(read.extents, read.strides, named)),
          std::move(memory)};
}

const MaskObject* mask_in(nb::handle value) {
  const MaskObject* mask = nullptr;
  if (!nb::try_cast(value, mask, false) || mask == nullptr) {
    return nullptr;
  }
  mask->memory().expect_in_place();
  return mask;
}

BiasObject make_dense_bias(nb::handle array, nb::handle axes, ArgumentName name,
                           Graph graph) {
  ArrayArgument read(array, name, graph);
  if (read.dtype() != DType::float32) {
    read.raise_dtype("float32 for a bias, bool for a mask");
  }
  std::vector<Axis> named = axes_of(axes, read.extents(), name);
  return {std::move(read), std::move(named)};
}

bool is_float(DType dtype) {
  return dtype == DType::float16 || dtype == DType::bfloat16 ||
         dtype == DType::float32 || dtype == DType::float64;
}

// A mask of truth values, a bias of floats.
nb::object make_dense(nb::handle array, nb::handle axes) {
  const ArgumentName name{"dense", "array"};
  if (is_float(ArrayArgument(array, name).dtype())) {
    return nb::cast(make_dense_bias(array, axes, name, Graph::refused));
  }
  return nb::cast(make_dense_mask(array, axes, name));
}

}  // namespace

MaskObject operator&(const MaskObject& a, const MaskObject& b) {
  MaskObject both = a;
  both.mask_ = a.mask_ & b.mask_;
  both.memory_.share(b.memory_);
  std::vector<MaskPart> parts = *a.parts_;
  parts.insert(parts.end(), b.parts_->begin(), b.parts_->end());
  both.parts_ = std::make_shared<std::vector<MaskPart>>(std::move(parts));
  return both;
}

nb::str MaskObject::text() const {
  nb::list texts;
  for (const MaskPart& part : *parts_) {
    nb::list arguments;
    for (const nb::handle each : part.arguments()) {
      const bool numbers =
          nb::hasattr(each, "ndim") && nb::cast<int>(each.attr("ndim")) == 1;
      arguments.append(
          value_text(numbers ? each.attr("tolist")() : nb::borrow(each)));
    }
    texts.append(nb::str("{}({})").format(
        part.function, nb::str(", ").attr("join")(arguments)));
  }
  return nb::str(nb::str(" & ").attr("join")(texts));
}

nb::list MaskObject::state() const {
  nb::list state;
  for (const MaskPart& part : *parts_) {
    state.append(nb::make_tuple(part.function, part.arguments()));
  }
  return state;
}

MaskObject MaskObject::from_state(const nb::list& state) {
  const nb::module_ module = nb::module_::import_("headwise._core");
  std::optional<MaskObject> all;
  for (const nb::handle part : state) {
    const nb::object made = module.attr(part[0])(*nb::tuple(part[1]));
    const auto& mask = nb::cast<const MaskObject&>(made);
    all = all ? *all & mask : mask;
  }
  if (!all) {
    raise_value({"Mask", "state"}, "is empty", "at least one part");
  }
  return *std::move(all);
}

BiasObject::BiasObject(ArrayArgument array, std::vector<Axis> axes)
    : array_(std::move(array)), axes_(std::move(axes)) {}

Bias BiasObject::bias() const {
  return dense(static_cast<const float*>(array_.data()),
               NamedAxes(array_.extents(), array_.strides(), axes_));
}

MaskObject mask_argument(nb::handle value, ArgumentName name, Graph graph) {
  if (const MaskObject* mask = mask_in(value)) {
    return *mask;
  }
  return make_passing_mask(value, name, graph);
}

BiasObject bias_argument(nb::handle value, ArgumentName name, Graph graph) {
  const BiasObject* bias = nullptr;
  if (nb::try_cast(value, bias, false) && bias != nullptr) {
    bias->array().expect_in_place();
    return *bias;
  }
  return make_dense_bias(value, nb::none(), name, graph);
}

void bind_masks(nb::module_& module) {
  const auto combined = [](const MaskObject& a, nb::handle b) {
    const MaskObject* mask = mask_in(b);
    return a &
           (mask != nullptr ? *mask
                            : make_dense_mask(b, nb::none(), {"&", "mask"}));
  };
  nb::class_<MaskObject> mask(module, "Mask",
                              R"(Which keys a query may attend to.

Masks combine with &: a query may attend to a key if all of them allow it. An
array of bool with the axes (B, H, Lq, Lkv) or (Lq, Lkv) is a mask, too. True =
may attend.)");
  mask.def("__and__", combined, nb::arg("other"),
           nb::sig("def __and__(self, other: Mask | Array) -> Mask"))
      .def("__rand__", combined, nb::arg("other"),
           nb::sig("def __rand__(self, other: Array) -> Mask"))
      .def("__getstate__", &MaskObject::state)
      .def("__setstate__",
           [](MaskObject& self, const nb::list& state) {
             new (&self) MaskObject(MaskObject::from_state(state));
           })
      .def("__repr__", &MaskObject::text);
  mask.attr("__array_ufunc__") =
      nb::none();  // NumPy leaves `array & mask` to it

  nb::class_<BiasObject>(module, "Bias",
                         "A bias with named axes, from dense().")
      .def("__getstate__",
           [](const BiasObject& bias) {
             const ArrayArgument& array = bias.array();
             return nb::make_tuple(
                 numpy_copy(static_cast<const float*>(array.data()),
                            array.extents(), array.strides()),
                 axis_names(bias.axes()));
           })
      .def("__setstate__",
           [](BiasObject& self, const nb::tuple& state) {
             new (&self) BiasObject(make_dense_bias(
                 state[0], state[1], {"Bias", "state"}, Graph::refused));
           })
      .def("__repr__", [](const BiasObject& bias) {
        return "Bias(float32 " + shape_text(bias.array().extents()) + ")";
      });

  module.def(
      "causal",
      [] {
        return MaskObject(causal(), {}, {"causal", [] { return nb::tuple(); }});
      },
      R"(Allows key j for query i when j <= i + query_start.

    >>> x = np.ones((1, 4, 1, 2), np.float32)  # 4 tokens
    >>> headwise.explain(x, x, x, mask=headwise.causal())[1].array[0, 0].astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 1]]))");
  module.def("window", &make_window, nb::arg("left").none(),
             nb::arg("right").none(), nb::arg("keep_first") = 0,
             nb::sig("def window(left: int | None, right: int | None, "
                     "keep_first: int = 0) -> Mask"),
             R"(Allows the keys near the query's position p = i + query_start:
p - left <= j <= p + right, and the first `keep_first` keys of the sequence up to
p + right. None: all keys on that side.

    >>> x = np.ones((1, 4, 1, 2), np.float32)  # 4 tokens
    >>> headwise.explain(x, x, x, mask=headwise.window(1, 0))[1].array[0, 0].astype(int)
    array([[1, 0, 0, 0],
           [1, 1, 0, 0],
           [0, 1, 1, 0],
           [0, 0, 1, 1]]))");
  module.def("key_lengths", &make_key_lengths, nb::arg("lengths"),
             nb::sig("def key_lengths(lengths: Integers) -> Mask"),
             R"(Allows key j of sequence b when j < lengths[b], or
j < lengths[b, i] for query i.

    lengths  (B) or (B, Lq)  whole numbers from 0 to Lkv; copied

    >>> headwise.causal() & headwise.key_lengths([20, 13])
    causal() & key_lengths([20, 13]))");
  module.def("key_starts", &make_key_starts, nb::arg("starts"),
             nb::sig("def key_starts(starts: Integers) -> Mask"),
             R"(Allows key j of sequence b when j >= starts[b]: padding on the
left. Positions still include the padding.

    starts  (B)  whole numbers from 0 to Lkv; copied

    >>> headwise.key_starts([0, 7])
    key_starts([0, 7]))");
  module.def("key_padding", &make_key_padding, nb::arg("padding"),
             nb::sig("def key_padding(padding: Array) -> Mask"),
             R"(Allows key j of sequence b when padding[b, j] is True.

    padding  (B, Lkv)  bool, True = may attend; bool arrays are not copied

    >>> tokens = np.array([[5, 9, 2, 0, 0]])
    >>> headwise.key_padding(tokens != 0)
    key_padding(bool (1, 5)))");
  module.def("documents", &make_documents, nb::arg("query_ids"),
             nb::arg("key_ids"),
             nb::sig("def documents(query_ids: Integers, key_ids: Integers) "
                     "-> Mask"),
             R"(Several documents in one row: allows the keys of the query's own
document. Ids do not decrease along a row.

    query_ids  (B, Lq) or (Lq)    whole numbers; copied
    key_ids    (B, Lkv) or (Lkv)  whole numbers; copied

    >>> x = np.ones((1, 4, 1, 2), np.float32)  # 4 tokens
    >>> headwise.explain(x, x, x, mask=headwise.documents([0, 0, 0, 1], [0, 0, 0, 1]))[1].array[0, 0].astype(int)
    array([[1, 1, 1, 0],
           [1, 1, 1, 0],
           [1, 1, 1, 0],
           [0, 0, 0, 1]]))");
  module.def(
      "dense", &make_dense, nb::arg("array"), nb::arg("axes") = nb::none(),
      nb::sig("def dense(array: Array, axes: Sequence[AxisName] | None = "
              "None) -> Mask | Bias"),
      R"(A mask of an array of bool, or a bias of an array of float32,
with named axes: any of "B", "H", "Lq", "Lkv" in any order. An axis that is not
named, or that has extent 1, is broadcast. The array is not copied.

    array  any rank with names, else (Lq, Lkv) or (B, H, Lq, Lkv)

    >>> headwise.dense(np.zeros((8, 20, 20), np.float32), ("H", "Lq", "Lkv"))
    Bias(float32 (8, 20, 20))
    >>> headwise.dense(np.tri(20, dtype=bool))
    dense(bool (20, 20), ('Lq', 'Lkv')))");
}

}  // namespace headwise::python
