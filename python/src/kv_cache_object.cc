#include "kv_cache_object.h"

#include <nanobind/stl/string.h>

#include <array>
#include <string>

#include "bindings.h"
#include "call_tensors.h"
#include "error.h"
#include "new_array.h"
#include "object_state.h"

namespace headwise::python {
namespace {

constexpr std::string_view kCreate = "KvCache.create";
constexpr EnumWord<DType> kDTypes[] = {{"float32", DType::float32},
                                       {"bfloat16", DType::bfloat16},
                                       {"float16", DType::float16},
                                       {"int8", DType::int8}};

std::size_t size(nb::handle value, const char* name) {
  return unsigned_integer(value, {kCreate, name});
}

std::optional<RollingWindow> window_of(nb::handle window) {
  if (window.is_none()) {
    return std::nullopt;
  }
  if (!nb::isinstance<nb::dict>(window)) {
    raise_kind(window, {kCreate, "window"},
               "a dict with any of left, keep_first");
  }
  RollingWindow rolling;
  for (const auto& [key, value] : nb::borrow<nb::dict>(window)) {
    const std::string_view name = word(key, {kCreate, "window"});
    if (name == "left") {
      rolling.left = integer(value, {kCreate, "window.left"});
    } else if (name == "keep_first") {
      rolling.keep_first = integer(value, {kCreate, "window.keep_first"});
    } else {
      raise_type({kCreate, "window"},
                 "has no option '" + std::string(name) + "'",
                 "left, keep_first");
    }
  }
  return rolling;
}

// As the arguments of create().
nb::dict options_dict(const CacheObject& cache) {
  const KvCacheOptions& options = cache.cache.options();
  nb::dict dict;
  dict["num_kv_heads"] = options.num_kv_heads;
  dict["head_dim"] = options.head_dim;
  dict["v_head_dim"] = options.v_head_dim;
  const std::string_view dtype = name_of(options.dtype);
  dict["dtype"] = nb::str(dtype.data(), dtype.size());
  dict["page_size"] = options.page_size;
  dict["max_tokens"] = options.max_tokens;
  dict["max_sequences"] = options.max_sequences;
  dict["value_is_key_prefix"] = options.value_is_key_prefix;
  dict["window"] = nb::none();
  if (const auto& window = options.window) {
    nb::dict entries;
    entries["left"] = window->left;
    entries["keep_first"] = window->keep_first;
    dict["window"] = entries;
  }
  dict["received_heads"] = options.received_heads;
  return dict;
}

CacheObject* create(nb::handle num_kv_heads, nb::handle head_dim,
                    nb::handle max_tokens, nb::handle v_head_dim,
                    nb::handle dtype, nb::handle page_size,
                    nb::handle max_sequences, nb::handle value_is_key_prefix,
                    nb::handle window, nb::handle received_heads) {
  const KvCacheOptions options{
      .num_kv_heads = size(num_kv_heads, "num_kv_heads"),
      .head_dim = size(head_dim, "head_dim"),
      .v_head_dim = size(v_head_dim, "v_head_dim"),
      .dtype = one_of(dtype, {kCreate, "dtype"}, kDTypes),
      .page_size = size(page_size, "page_size"),
      .max_tokens = size(max_tokens, "max_tokens"),
      .max_sequences = size(max_sequences, "max_sequences"),
      .value_is_key_prefix =
          boolean(value_is_key_prefix, {kCreate, "value_is_key_prefix"}),
      .window = window_of(window),
      .received_heads = size(received_heads, "received_heads")};
  return new CacheObject(value_of(KvCache::create(options)));
}

void append(CacheObject& cache, nb::handle ids, nb::handle key,
            nb::handle value, nb::handle offsets) {
  constexpr std::string_view kAppend = "KvCache.append";
  const auto sequences = sequence_ids(ids, {kAppend, "ids"});
  ArgumentMemory memory;
  const auto rows = token_offsets(offsets, {kAppend, "offsets"}, memory);
  const ArrayArgument keys(key, {kAppend, "key"});
  const bool batched = keys.rank() != 3;
  std::optional<ArrayArgument> values;
  if (!value.is_none()) {
    values.emplace(value, ArgumentName{kAppend, "value"});
  }
  with_element_type(keys, [&]<class T>(T) {
    const auto k = call_view<T>(keys, batched, "(B, L, Hkv, D)");
    TensorView<const T, 4> v;
    if (values) {
      v = call_view<T>(*values, batched,
                       batched ? "(B, L, Hkv, Dv)" : "(L, Hkv, Dv)");
    }
    check(cache.one_at_a_time.run(
        [&] { return cache.cache.append(sequences, k, v, rows); }));
  });
}

// (key, value) from token `first` on.
nb::object read(CacheObject& cache, SequenceId id, nb::handle first) {
  const std::size_t begin = unsigned_integer(first, {"KvCache.read", "first"});
  const KvCacheOptions& options = cache.cache.options();
  Tensor<float, 3> key;
  Tensor<float, 3> value;
  check(cache.one_at_a_time.run([&]() -> Status {
    const auto length = cache.cache.length(id);
    HEADWISE_TRY(length);
    const std::size_t rows = *length < begin ? 0 : *length - begin;
    auto keys = Tensor<float, 3>::create(
        {rows, options.num_kv_heads, options.head_dim});
    HEADWISE_TRY(keys);
    auto values = Tensor<float, 3>::create(
        {rows, options.num_kv_heads, options.v_head_dim});
    HEADWISE_TRY(values);
    key = *std::move(keys);
    value = *std::move(values);
    return cache.cache.read(id, begin, key, value);
  }));
  return nb::make_tuple(NewArray(std::move(key)).object(),
                        NewArray(std::move(value)).object());
}

nb::object read_received(CacheObject& cache, SequenceId id, nb::handle first) {
  const std::size_t begin =
      unsigned_integer(first, {"KvCache.read_received", "first"});
  Tensor<float, 2> sums;
  check(cache.one_at_a_time.run([&]() -> Status {
    const auto length = cache.cache.length(id);
    HEADWISE_TRY(length);
    auto made =
        Tensor<float, 2>::create({cache.cache.options().received_heads,
                                  *length < begin ? 0 : *length - begin});
    HEADWISE_TRY(made);
    sums = *std::move(made);
    return cache.cache.read_received(id, begin, sums);
  }));
  return NewArray(std::move(sums)).object();
}

void keep(CacheObject& cache, SequenceId id, nb::handle indices) {
  ArgumentMemory memory;
  const auto kept =
      integers<1>(indices, {"KvCache.keep", "indices"}, "(n)", memory);
  check(cache.one_at_a_time.run([&] { return cache.cache.keep(id, kept); }));
}

void bind_sequence_id(nb::module_& module) {
  nb::class_<SequenceId>(
      module, "SequenceId",
      "A sequence of one KvCache. An erased sequence's id never comes back.")
      .def(State(
          [](SequenceId& id) { return std::tie(id.slot, id.generation); }))
      .def_ro("slot", &SequenceId::slot)
      .def_ro("generation", &SequenceId::generation)
      .def(
          "__eq__",
          [](SequenceId id, nb::handle other) {
            SequenceId given;
            return nb::try_cast(other, given, false) && given == id;
          },
          nb::arg("other").none(),
          nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__",
           [](SequenceId id) {
             return static_cast<Py_ssize_t>(
                 (std::uint64_t{id.generation} << 32 | id.slot) >> 1);
           })
      .def("__repr__", [](SequenceId id) {
        return nb::str("SequenceId(slot={}, generation={})")
            .format(id.slot, id.generation);
      });
}

}  // namespace

std::vector<SequenceId> sequence_ids(nb::handle ids, ArgumentName name) {
  std::vector<SequenceId> list;
  constexpr std::string_view kExpected = "a list of headwise.SequenceId";
  if (!nb::isinstance<nb::sequence>(ids)) {
    raise_kind(ids, name, kExpected);
  }
  for (const nb::handle given : nb::borrow<nb::sequence>(ids)) {
    SequenceId id;
    if (!nb::try_cast(given, id, false)) {
      raise_kind(given, name, kExpected);
    }
    list.push_back(id);
  }
  return list;
}

TensorView<const std::int64_t, 1> token_offsets(nb::handle offsets,
                                                ArgumentName name,
                                                ArgumentMemory& memory) {
  return offsets.is_none() ? TensorView<const std::int64_t, 1>()
                           : integers<1>(offsets, name, "(B + 1)", memory);
}

void bind_kv_cache(nb::module_& module) {
  bind_sequence_id(module);
  nb::class_<CacheObject> cache(
      module, "KvCache",
      R"(The keys and values of sequences that grow; one cache per layer.

    >>> cache = headwise.KvCache.create(num_kv_heads=8, head_dim=64, max_tokens=4096)
    >>> id = cache.add()
    >>> key, value = np.ones((2, 1, 5, 8, 64), np.float32)
    >>> cache.append([id], key, value)
    >>> keys, values = cache.read(id, first=2)
    >>> keys.shape
    (3, 8, 64)

DecodePlan appends and attends in one call. All memory is taken in create().
Errors are found before anything is changed. Threads may share a cache; their
calls wait for each other.)");
  cache.def_static(
      "create", &create, nb::kw_only(), nb::arg("num_kv_heads"),
      nb::arg("head_dim"), nb::arg("max_tokens"), nb::arg("v_head_dim") = 0,
      nb::arg("dtype") = "float32", nb::arg("page_size") = 128,
      nb::arg("max_sequences") = 1, nb::arg("value_is_key_prefix") = false,
      nb::arg("window") = nb::none(), nb::arg("received_heads") = 0,
      nb::sig("def create(*, num_kv_heads: int, head_dim: int, "
              "max_tokens: int, v_head_dim: int = 0, dtype: CacheDType = "
              "'float32', "
              "page_size: int = 128, max_sequences: int = 1, "
              "value_is_key_prefix: bool = False, "
              "window: RollingWindow | None = None, received_heads: int = 0) "
              "-> KvCache"),
      R"(v_head_dim: 0 is head_dim. dtype: float32, bfloat16, float16, or int8
with a scale per head and token. page_size: tokens, 16, 32 or a multiple of 64;
0: contiguous. max_tokens: over all sequences. value_is_key_prefix: values are
the first v_head_dim features of the keys; append() then takes none. window: a
dict {"left": 1024, "keep_first": 4}, for a model that sees the last keys only.
received_heads: the query heads whose attention is summed for each token.

Errors: ValueError for wrong sizes; MemoryError.)");
  cache.def(NoState("read() what it holds, and append() it to another"))
      .def(
          "add",
          [](CacheObject& self) {
            return value_of(
                self.one_at_a_time.run([&] { return self.cache.add(); }));
          },
          "A new sequence without tokens. Errors: ValueError if there are "
          "max_sequences already.")
      .def("append", &append, nb::arg("ids").none(), nb::arg("key").none(),
           nb::arg("value") = nb::none(), nb::arg("offsets") = nb::none(),
           nb::sig("def append(self, ids: Sequence[SequenceId], key: Array, "
                   "value: Array | None = None, "
                   "offsets: Integers | None = None) -> None"),
           R"(Adds tokens at the end of sequences, all or none.

    key    (B, L, Hkv, D)    or (L, Hkv, D) as a batch of one; sequence n gets
    value  (B, L, Hkv, Dv)   the rows n, or rows offsets[n] to offsets[n + 1]

Float32, bfloat16 or float16; stored as the cache's dtype. Errors: ValueError
for sequences that do not exist or come twice, shapes that do not fit, and where
the cache has too few free pages.)")
      .def(
          "truncate",
          [](CacheObject& self, SequenceId id, nb::handle length) {
            const std::size_t tokens =
                unsigned_integer(length, {"KvCache.truncate", "length"});
            check(self.one_at_a_time.run(
                [&] { return self.cache.truncate(id, tokens); }));
          },
          nb::arg("id"), nb::arg("length"),
          nb::sig("def truncate(self, id: SequenceId, length: int) -> None"),
          "Keeps the first `length` tokens. Errors: ValueError for a length "
          "beyond the sequence's; NotImplementedError with received_heads.")
      .def(
          "fork",
          [](CacheObject& self, SequenceId id) {
            return value_of(
                self.one_at_a_time.run([&] { return self.cache.fork(id); }));
          },
          nb::arg("id"),
          "A new sequence with the same tokens, which takes no page unless the "
          "cache is contiguous. Errors: ValueError as in add().")
      .def("keep", &keep, nb::arg("id"), nb::arg("indices"),
           nb::sig("def keep(self, id: SequenceId, indices: Integers) -> None"),
           "Keeps the tokens `indices` (n), which increase, and evicts the "
           "others: token indices[i] becomes token i. Errors: ValueError; "
           "NotImplementedError with a window.")
      .def(
          "erase",
          [](CacheObject& self, SequenceId id) {
            check(self.one_at_a_time.run([&] { return self.cache.erase(id); }));
          },
          nb::arg("id"), "Ends a sequence.")
      .def(
          "length",
          [](CacheObject& self, SequenceId id) {
            return value_of(
                self.one_at_a_time.run([&] { return self.cache.length(id); }));
          },
          nb::arg("id"),
          "The number of tokens, those that a window gave back included.")
      .def("read", &read, nb::arg("id"), nb::arg("first") = 0,
           nb::sig("def read(self, id: SequenceId, first: int = 0) "
                   "-> tuple[NDArray[numpy.float32], NDArray[numpy.float32]]"),
           "The stored keys (L, Hkv, D) and values (L, Hkv, Dv) of the tokens "
           "from `first` on: NumPy arrays of float32, copied.")
      .def("read_received", &read_received, nb::arg("id"), nb::arg("first") = 0,
           nb::sig("def read_received(self, id: SequenceId, first: int = 0) "
                   "-> NDArray[numpy.float32]"),
           "The attention (received_heads, L) that the tokens from `first` on "
           "received so far: sums of attention weights. Errors: ValueError; "
           "NotImplementedError where received_heads is 0.");
  cache.def_prop_ro("options", &options_dict,
                    nb::sig("def options(self) -> dict[str, Any]"),
                    "The arguments of create(), with v_head_dim filled in.");
  const auto count = [&](const char* name, auto number, const char* what) {
    cache.def_prop_ro(
        name,
        [number](CacheObject& self) {
          return self.one_at_a_time.run([&] { return (self.cache.*number)(); });
        },
        what);
  };
  cache.def("__repr__", [](CacheObject& self) {
    const KvCacheOptions& options = self.cache.options();
    const auto numbers = self.one_at_a_time.run([&] {
      return std::array{self.cache.sequences(), self.cache.pages(),
                        self.cache.free_pages(), self.cache.bytes()};
    });
    return nb::str(
               "<KvCache: {} of {} sequences, {} of {} pages free, {} heads of "
               "{}, {}, {:.1f} MiB>")
        .format(numbers[0], options.max_sequences, numbers[2], numbers[1],
                options.num_kv_heads, options.head_dim,
                std::string(name_of(options.dtype)),
                static_cast<double>(numbers[3]) / (1 << 20));
  });
  count("sequences", &KvCache::sequences, "How many there are.");
  count("pages", &KvCache::pages, "How many there are.");
  count("free_pages", &KvCache::free_pages, "How many are free.");
  count("bytes", &KvCache::bytes, "Of the stored keys and values.");
}

}  // namespace headwise::python
