// headwise diff
// Two dialects on the same tensors: the first step that differs, and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "dialect_words.h"
#include "headwise/base/layout.h"
#include "headwise/interop/dialect_diff.h"
#include "operation/dialect_flags.h"
#include "operation/option_errors.h"
#include "operation/read_axes.h"
#include "operation/read_tensor.h"
#include "shell/add_command.h"
#include "shell/checks.h"
#include "shell/json.h"
#include "shell/message_text.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kDiffHelp = {
    .name = "diff",
    .description =
        "find the step at which two libraries give different attention",
    .examples =
        R"(  headwise diff --dialects torch-mha,keras --query q.npy --key k.npy \
      --mask mask.npy
  headwise diff --dialects torch-sdpa,flash-attention --query q.npy \
      --key k.npy --causal --json)",
    .footer =
        R"(The tensors are (B, H, L, D) for both, or as --layout says. Exit code: 0 if
both give the same, 1 if they differ.)"};

struct DiffFlags {
  std::string dialects;
  std::string query;
  std::string key;
  std::string value;
  std::string layout;
  std::string mask;
  std::string key_padding;
  std::string key_lengths;
  bool causal = false;
  std::uint64_t past_length = 0;
  std::optional<double> scale;
  std::optional<double> softcap;
  std::optional<double> dropout;
  bool weights = false;
  bool json = false;

  bool heads_first() const { return layout != "blhd"; }
};

struct TwoDialects {
  const Dialect* first;
  const Dialect* second;
};

Result<TwoDialects> two_dialects(const std::string& names) {
  const std::size_t comma = names.find(',');
  const std::string first = names.substr(0, comma);
  const std::string second =
      comma == std::string::npos ? "" : names.substr(comma + 1);
  const TwoDialects two{find_dialect(first), find_dialect(second)};
  if (two.first == nullptr || two.second == nullptr) {
    return bad_option(
        "--dialects", names,
        message("two names separated by a comma, from {}",
                fmt::format("{}", fmt::join(dialect_names(), "; "))));
  }
  return two;
}

// (B, H, L, D) or, without a batch, (H, L, D), as --layout says; `read` says
// what it was read as.
Result<Tensor<float, 4>> read_heads(const FileOption& file, bool heads_first,
                                    bool& batched, std::string& read) {
  HEADWISE_ASSIGN(auto array, read_file_of(file.option, file.path));
  const std::vector<std::size_t> shape = array.shape;
  batched = array.shape.size() == 4;
  if (array.shape.size() == 3) {
    add_batch_axis(array);
  }
  if (array.shape.size() != 4) {
    return wrong_rank(file.option, array, "4 axes, or 3 without a batch");
  }
  read += read_axes(file.option.substr(2), shape, heads_first, false);
  return tensor_of<float, 4>(file, array);
}

Result<std::optional<Array>> read_array(std::string_view option,
                                        const std::string& path) {
  if (path.empty()) {
    return std::optional<Array>();
  }
  HEADWISE_ASSIGN(auto array, read_file_of(option, path));
  return std::optional<Array>(std::move(array));
}

struct DiffFiles {
  Tensor<float, 4> query;
  Tensor<float, 4> key;
  bool batched = true;
  std::string read;  // read_axes() of the tensors
  std::optional<Array> mask;
  std::optional<Array> key_padding;
  std::optional<Tensor<std::int64_t, 1>> key_lengths;
};

Result<DiffFiles> read_files(const DiffFlags& flags) {
  DiffFiles files;
  const auto read = [&](std::string_view option, const std::string& path,
                        bool& batched) {
    return read_heads({option, path}, flags.heads_first(), batched, files.read);
  };
  HEADWISE_ASSIGN(files.query, read("--query", flags.query, files.batched));
  bool key_batched = true;
  HEADWISE_ASSIGN(auto key, read("--key", flags.key, key_batched));
  files.key = std::move(key);
  // Not needed, but a file that does not fit is an error.
  if (!flags.value.empty()) {
    bool value_batched = true;
    HEADWISE_TRY(read("--value", flags.value, value_batched));
  }
  HEADWISE_ASSIGN(files.mask, read_array("--mask", flags.mask));
  HEADWISE_ASSIGN(files.key_padding,
                  read_array("--key-padding", flags.key_padding));
  HEADWISE_TRY(read_tensor({"--key-lengths", flags.key_lengths}, "(B)",
                           files.batched, files.key_lengths));
  return files;
}

std::string place_text(const DialectDifference& found,
                       const TwoDialects& dialects) {
  const auto& [b, h, i, j] = found.at;
  return say(
      "largest at sequence {}, head {}, query {}, key {}: {} in {}, {} "
      "in {}",
      b, h, i, j, found.first, dialects.first->name, found.second,
      dialects.second->name);
}

std::string diff_text(const TwoDialects& dialects,
                      const std::optional<DialectDifference>& found) {
  if (!found) {
    return say("{} and {} give the same\n", dialects.first->name,
               dialects.second->name);
  }
  std::string text =
      say("{} and {} differ at the step {}: {}\n", dialects.first->name,
          dialects.second->name, found->step, in_language(found->why));
  if (found->rows != 0) {
    text +=
        say("rows (sequence, head, query) that differ, {} in total: {}\n{}\n",
            found->rows, rows_text(found->first_rows, found->rows),
            place_text(*found, dialects));
  }
  return text;
}

// JSON has no NaN and no infinities.
Json number_as_json(double number) {
  return std::isfinite(number) ? Json(number) : Json(fmt::format("{}", number));
}

std::string diff_json(const TwoDialects& dialects,
                      const std::optional<DialectDifference>& found) {
  Json json = {{"dialects", {dialects.first->name, dialects.second->name}},
               {"same", !found.has_value()}};
  if (found) {
    json["step"] = found->step;
    json["why"] = found->why.text();
    json["rows"] = found->rows;
    json["first_rows"] = found->first_rows;
    if (found->rows != 0) {
      json["at"] = found->at;
      json["values"] = {number_as_json(found->first),
                        number_as_json(found->second)};
    }
  }
  return json_text(json, 2);
}

// Two dialects that differ are a check that failed.
Outcome differ(const TwoDialects& dialects) {
  return Failure{
      Exit::check_failed,
      Error(ErrorCode::bad_data,
            {.given = message("{} and {} differ", dialects.first->name,
                              dialects.second->name)})};
}

Outcome run_diff(const DiffFlags& flags, const Streams& streams) {
  HEADWISE_ASSIGN(const auto dialects, two_dialects(flags.dialects));
  HEADWISE_ASSIGN(const auto files, read_files(flags));
  const auto view = [&](const Tensor<float, 4>& tensor) {
    const TensorView<const float, 4> plain = tensor.view();
    return flags.heads_first() ? as_blhd(plain) : plain;
  };
  DialectInput input{
      .query = view(files.query),
      .key = view(files.key),
      .batched = files.batched,
      .mask = files.mask ? &*files.mask : nullptr,
      .key_padding = files.key_padding ? &*files.key_padding : nullptr,
      .causal = flags.causal,
      .past_length = flags.past_length,
      .scale = flags.scale,
      .softcap = flags.softcap,
      .returns_weights = flags.weights,
      .dropout = flags.dropout.value_or(0)};
  if (files.key_lengths) {
    input.key_lengths = files.key_lengths->view();
  }
  const auto found = diff_dialects(*dialects.first, *dialects.second, input);
  if (!found) {
    return in_option_words(found.error(), {});
  }
  HEADWISE_TRY(print(streams.out,
                     flags.json ? diff_json(dialects, *found)
                                : files.read + diff_text(dialects, *found)));
  return *found ? differ(dialects) : Outcome();
}

void add_diff_options(const Arguments& command, DiffFlags& flags) {
  command.add(
      {{"--dialects", &flags.dialects, text("A,B"),
        "the two dialects to compare, of those that lint-mask --help lists",
        required()},
       {"--query", &flags.query, npy(), "(B, Hq, Lq, D), or (Hq, Lq, D)",
        required()},
       {"--key", &flags.key, npy(), "(B, Hkv, Lkv, D)", required()},
       {"--value", &flags.value, npy(), "(B, Hkv, Lkv, Dv)"},
       {"--layout", &flags.layout, choice({"bhld", "blhd"}),
        "axes of the files: bhld (default) or blhd"},
       {"--mask", &flags.mask, npy(), "the mask that both libraries are given"},
       {"--key-padding", &flags.key_padding, npy(),
        "(B, Lkv): the key padding mask that both are given"},
       {"--key-lengths", &flags.key_lengths, npy(),
        "(B): attend to this number of keys, from the first"},
       {"--causal", &flags.causal, flag(), "ask both for a causal mask"},
       {"--past-length", &flags.past_length, number(),
        "number of keys from a cache (default 0)"},
       {"--scale", &flags.scale,
        real("X", number_between(-2e38, 2e38, "a number from -2e38 to 2e38")),
        "factor on q.k (default 1/sqrt(D))"},
       {"--softcap", &flags.softcap,
        real("X", number_between(1e-37, 2e38, "a number from 1e-37 to 2e38")),
        "replace scores by X * tanh(score / X)"},
       {"--dropout", &flags.dropout, real("P", probability()),
        "drop attention weights with probability P"},
       {"--weights", &flags.weights, flag(),
        "ask both to return the attention weights"},
       {"--json", &flags.json, flag(), "print JSON"}});
}

}  // namespace

void add_diff(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kDiffHelp, add_diff_options, run_diff);
}

}  // namespace headwise::cli
