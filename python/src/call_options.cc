#include "call_options.h"

#include <string>
#include <vector>

#include "arithmetic_words.h"
#include "error.h"
#include "executor_object.h"
#include "number_arguments.h"

namespace headwise::python {
namespace {

constexpr EnumWord<EmptyRow> kEmptyRows[] = {{"zero", EmptyRow::zero},
                                             {"uniform", EmptyRow::uniform},
                                             {"nan", EmptyRow::nan}};
constexpr EnumWord<AttnWeights> kAttnWeights[] = {
    {"none", AttnWeights::none},
    {"per_head", AttnWeights::per_head},
    {"mean", AttnWeights::mean},
    {"after_dropout", AttnWeights::after_dropout}};
constexpr EnumWord<ScoresStage> kScores[] = {{"none", ScoresStage::none},
                                             {"raw", ScoresStage::raw},
                                             {"softcap", ScoresStage::softcap},
                                             {"bias", ScoresStage::bias},
                                             {"softmax", ScoresStage::softmax}};
constexpr EnumWord<KeyPart> kKeyParts[] = {{"all", KeyPart::all},
                                           {"first", KeyPart::first},
                                           {"middle", KeyPart::middle},
                                           {"last", KeyPart::last}};

constexpr OptionField kT5Bias[] = {
    {"table",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.t5_bias.table = o.floats<2>(value, name, "(buckets, Hq)");
     }},
    {"max_distance",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.t5_bias.max_distance = integer(value, name);
     }},
    {"bidirectional",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.t5_bias.bidirectional = boolean(value, name);
     }},
};

constexpr OptionField kDropout[] = {
    {"p",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.p = number(value, name);
     }},
    {"training",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.training = boolean(value, name);
     }},
    {"seed",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.seed = {unsigned_integer(value, name)};
     }},
    {"step",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.step = unsigned_integer(value, name);
     }},
    {"layer",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       const std::uint64_t layer = unsigned_integer(value, name);
       if (layer > UINT32_MAX) {
         raise_value(name, "is " + std::to_string(layer), "0 to 2^32 - 1");
       }
       o.attention.dropout.layer = static_cast<std::uint32_t>(layer);
     }},
    {"sequence_ids",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.sequence_ids =
           integers<1>(value, name, "(B)", o.memory());
     }},
    {"keep_mask",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.keep_mask =
           booleans<4>(value, name, "(B, Hq, Lq, Lkv)", o.memory());
     }},
    {"first_key",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.dropout.place.first_key = unsigned_integer(value, name);
     }},
};

constexpr OptionField kStatistics[] = {
    {"rows",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.statistics.rows = boolean(value, name);
     }},
    {"top_keys",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.statistics.top_keys = unsigned_integer(value, name);
     }},
    {"columns",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.statistics.columns = boolean(value, name);
     }},
    {"map",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.statistics.map = boolean(value, name);
     }},
    {"separators",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.statistics.separators =
           booleans<2>(value, name, "(B, Lkv)", o.memory());
     }},
    {"query_lengths",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.statistics.query_lengths =
           integers<1>(value, name, "(B)", o.memory());
     }},
};

constexpr OptionField kAddedKeys[] = {
    {"bias_k",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.added_keys.bias_k = o.floats<2>(value, name, "(Hkv, D)");
     }},
    {"bias_v",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.added_keys.bias_v = o.floats<2>(value, name, "(Hkv, Dv)");
     }},
    {"zero_attn",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.added_keys.zero_attn = boolean(value, name);
     }},
};

void set_query_start(CallOptions& o, nb::handle value, ArgumentName name) {
  if (PyUnicode_Check(value.ptr())) {
    constexpr EnumWord<bool> kWords[] = {{"bottom_right", true}};
    one_of(value, name, kWords);
    o.attention.query_start = QueryStart::bottom_right();
  } else if (PyLong_Check(value.ptr())) {
    o.attention.query_start = integer(value, name);
  } else {
    o.attention.query_start =
        integers<1>(value, name, "a number, (B) or 'bottom_right'", o.memory());
  }
}

void set_kv_groups(CallOptions& o, nb::handle value, ArgumentName name) {
  o.operation.kv_groups = value_of(HeadGroups::create(
      counts(value, name, "(Hkv)", 1, "1 or more query heads")));
}

constexpr OptionField kOfAttention[] = {
    {"mask",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       const MaskObject mask = mask_argument(value, name, o.graph());
       o.attention.mask = mask.mask();
       o.memory().share(mask.memory());
     },
     "Mask | Array",
     "who may attend to whom: causal() & key_lengths(n), or an array\n"
     "of bool, (B, H, Lq, Lkv) or (Lq, Lkv); True = may attend"},
    {"scale",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.scale = number(value, name);
     },
     "float", "factor on q.k; default 1/sqrt(D)"},
    {"softcap",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.softcap = number(value, name);
     },
     "float", "scores become softcap * tanh(scores / softcap)"},
    {"bias",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.set_bias(value, name);
     },
     "Bias | Array",
     "float32, added to the scores; -inf masks. (B, H, Lq, Lkv) or\n"
     "(Lq, Lkv), or dense(array, axes)"},
    {"t5_bias",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.read_fields(value, name, kT5Bias);
     },
     "T5Bias",
     "{\"table\": (buckets, Hq), \"max_distance\": 128,\n"
     "\"bidirectional\": False}; float32"},
    {"alibi",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.alibi = o.floats<1>(value, name, "(Hq)");
     },
     "Array", "(Hq), float32: slopes, as from alibi_slopes(Hq)"},
    {"sinks",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.sinks = o.floats<1>(value, name, "(Hq)");
     },
     "Array", "(Hq), float32: one more score per head, without a value"},
    {"query_start", &set_query_start,
     "int | Integers | Literal['bottom_right']",
     "position of query 0 among the keys: a number, (B), or\n"
     "\"bottom_right\"; default 0"},
    {"offsets",
     [](CallOptions& o, nb::handle value, ArgumentName /*name*/) {
       o.attention.offsets =
           offsets_argument(value, o.operation_name(), o.memory());
     },
     "Integers | tuple[Integers, Integers]",
     "(B + 1) of a ragged batch, or a tuple for queries and keys"},
    {"empty_rows",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.empty_rows = one_of(value, name, kEmptyRows);
     },
     "EmptyRows",
     "what rows without a key give: \"zero\" (default), \"uniform\",\n"
     "\"nan\""},
    {"dropout",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.read_fields(value, name, kDropout);
     },
     "Dropout",
     "{\"p\": 0.1, \"training\": True, \"seed\": 7, \"step\": 0, \"layer\": "
     "0,\n"
     "\"sequence_ids\": (B), \"keep_mask\": (B, Hq, Lq, Lkv),\n"
     "\"first_key\": that of a part of the keys}"},
    {"attn_weights",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.attn_weights = one_of(value, name, kAttnWeights);
     },
     "AttnWeights",
     "\"per_head\", \"mean\" or \"after_dropout\": also return them"},
    {"scores",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.scores = one_of(value, name, kScores);
     },
     "Scores",
     "\"raw\", \"softcap\", \"bias\" or \"softmax\": also return them"},
    {"arithmetic",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.arithmetic = one_of(value, name, kArithmetics);
     },
     "Arithmetic",
     "\"bf16\": multiply numbers rounded to bfloat16, add them up in\n"
     "float32; default \"exact\""},
    {"executor",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.attention.executor = &executor_argument(value, name);
     },
     "Executor", "Executor.with_threads(n)"},
};

constexpr OptionField kOfOperation[] = {
    {"score_weight",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.score_weight = o.floats<2>(value, name, "(Hq, D)");
     },
     "Array", "(Hq, D), float32: additive scores"},
    {"kv_groups", &set_kv_groups, "Integers",
     "(Hkv): number of query heads that read each key head"},
    {"statistics",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.read_fields(value, name, kStatistics);
     },
     "StatisticsOptions",
     "{\"rows\": True, \"top_keys\": 4, \"columns\": True, \"map\": True,\n"
     "\"separators\": (B, Lkv), \"query_lengths\": (B)}"},
    {"added_keys",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.read_fields(value, name, kAddedKeys);
     },
     "AddedKeys",
     "{\"bias_k\": (Hkv, D), \"bias_v\": (Hkv, Dv), \"zero_attn\": True}"},
    {"key_part",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.key_part = one_of(value, name, kKeyParts);
     },
     "KeyPart",
     "\"first\", \"middle\" or \"last\": the call has a part of the keys"},
};

constexpr OptionField kOfDevice[] = {
    {"cuda_stream",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.operation.device =
           Device::cuda(reinterpret_cast<void*>(unsigned_integer(value, name)));
     }},
};

constexpr OptionField kOfOutputs[] = {
    {"lse",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.lse = boolean(value, name);
     },
     "bool", "True: also return the log-sum-exp of each row"},
    {"softmax_rows",
     [](CallOptions& o, nb::handle value, ArgumentName name) {
       o.softmax_rows = boolean(value, name);
     },
     "bool", "True: also return what the backward pass needs"},
    {"out",
     [](CallOptions& o, nb::handle value, ArgumentName /*name*/) {
       o.out = nb::borrow(value);
     },
     "Array", "an array for the output"},
    {"state",
     [](CallOptions& o, nb::handle value, ArgumentName /*name*/) {
       o.state = nb::borrow(value);
     },
     "tuple[Array, Array]",
     "(softmax_rows, context) of such parts; \"first\" makes one"},
};

const OptionField* find(std::string_view name,
                        std::span<const OptionFields> tables) {
  for (const OptionFields& table : tables) {
    for (const OptionField& field : table) {
      if (field.name == name) {
        return &field;
      }
    }
  }
  return nullptr;
}

// Sets what a dict gives; its name is "" for keyword arguments.
void set_from(CallOptions& options, nb::handle dict, ArgumentName name,
              std::span<const OptionFields> tables) {
  PyObject* key = nullptr;
  PyObject* value = nullptr;
  Py_ssize_t place = 0;
  while (PyDict_Next(dict.ptr(), &place, &key, &value) != 0) {
    const std::string_view given = word(key, name);
    const OptionField* field = find(given, tables);
    if (field == nullptr) {
      std::string expected;
      for (const OptionFields& table : tables) {
        for (const OptionField& known : table) {
          expected += (expected.empty() ? "" : ", ") + std::string(known.name);
        }
      }
      raise_type(name,
                 std::string(name.argument.empty() ? "there is" : "has") +
                     " no option '" + std::string(given) + "'",
                 expected);
    }
    // A setter may run code of the value that changes the dict.
    const nb::object kept = nb::borrow(value);
    if (!kept.is_none()) {
      field->set(options, kept,
                 name.argument.empty()
                     ? options.named(field->name)
                     : options.named(name.argument, field->name));
    }
  }
}

}  // namespace

const OptionFields kAttentionOptions = kOfAttention;
const OptionFields kOperationOptions = kOfOperation;
const OptionFields kDeviceOptions = kOfDevice;
const OptionFields kOutputOptions = kOfOutputs;

Offsets offsets_argument(nb::handle value, std::string_view operation,
                         ArgumentMemory& memory) {
  constexpr std::string_view kAxes = "(B + 1)";
  if (nb::isinstance<nb::tuple>(value) && nb::len(value) == 2) {
    return {integers<1>(value[0], {operation, "offsets.query"}, kAxes, memory),
            integers<1>(value[1], {operation, "offsets.key"}, kAxes, memory)};
  }
  return Offsets(integers<1>(value, {operation, "offsets"}, kAxes, memory));
}

std::string parameters_of(std::span<const OptionFields> tables) {
  std::string all;
  for (const OptionFields& table : tables) {
    for (const OptionField& field : table) {
      all += (all.empty() ? "" : ", ") + std::string(field.name) + ": " +
             std::string(field.type) + " | None = None";
    }
  }
  return all;
}

std::string list_of(std::span<const OptionFields> tables) {
  constexpr std::size_t kWidth = 14;
  std::string all;
  for (const OptionFields& table : tables) {
    for (const OptionField& field : table) {
      std::string name(field.name);
      name.resize(kWidth, ' ');
      all += "    " + name;
      for (const char character : field.about) {
        all += character;
        if (character == '\n') {
          all.append(4 + kWidth, ' ');
        }
      }
      all += '\n';
    }
  }
  return all;
}

void CallOptions::read(nb::handle keywords,
                       std::initializer_list<OptionFields> tables) {
  set_from(*this, keywords, named(""),
           std::span(tables.begin(), tables.size()));
}

void CallOptions::read_fields(nb::handle dict, ArgumentName name,
                              OptionFields fields) {
  if (!nb::isinstance<nb::dict>(dict)) {
    std::string expected = "a dict with any of ";
    for (const OptionField& field : fields) {
      expected += (&field == &fields[0] ? "" : ", ") + std::string(field.name);
    }
    raise_kind(dict, name, expected);
  }
  set_from(*this, dict, name, std::span(&fields, 1));
}

void CallOptions::expect_on(int gpu) const {
  memory_.expect_on(gpu);
  if (bias_) {
    bias_->array().expect_on(gpu);
  }
}

void CallOptions::expect_in_place() const {
  memory_.expect_in_place();
  if (bias_) {
    bias_->array().expect_in_place();
  }
}

void CallOptions::set_bias(nb::handle value, ArgumentName name) {
  bias_ = bias_argument(value, name, graph_);
  attention.bias = bias_->bias();
}

}  // namespace headwise::python
