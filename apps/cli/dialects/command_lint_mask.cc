// headwise lint-mask
// What looks wrong about a mask, before it silently changes a result.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "dialect_words.h"
#include "headwise/interop/dialect_diff.h"
#include "operation/dialect_flags.h"
#include "operation/option_errors.h"
#include "shell/add_command.h"
#include "shell/json.h"
#include "shell/message_text.h"
#include "shell/outcome.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kLintMaskHelp = {
    .name = "lint-mask",
    .description = "warn about masks that silently change a result",
    .examples =
        R"(  headwise lint-mask --dialect torch-mha --mask attn_mask.npy
  headwise lint-mask --dialect transformers --mask attention_mask.npy \
      --padding left --json)",
    .footer =
        R"(Dialects: torch-mha, torch-sdpa, keras, jax, flax, onnx-1.23, onnx-1.21,
ort-contrib, flash-attention, transformers, d2l, fill-1e12, fill-1e10.
Pass the sizes that the mask's shape does not determine.
Exit code: 0 without warnings, 1 with warnings.)"};

struct LintFlags {
  std::string dialect;
  std::string mask;
  std::string key_padding;
  std::optional<std::uint64_t> batch;
  std::optional<std::uint64_t> heads;
  std::optional<std::uint64_t> queries;
  std::optional<std::uint64_t> keys;
  std::string padding;
  bool json = false;
};

std::string warning_text(const MaskWarning& warning) {
  return say(
      "{}: {}\n  fix: {}\n  rows (sequence, head, query), {} in total: {}\n",
      warning.name, in_language(warning.what), in_language(warning.mend),
      warning.rows, rows_text(warning.first_rows, warning.rows));
}

std::string lint_text(const std::vector<MaskWarning>& warnings) {
  if (warnings.empty()) {
    return say("no warnings\n");
  }
  std::string text;
  for (const MaskWarning& warning : warnings) {
    text += warning_text(warning);
  }
  return text;
}

std::string lint_json(const std::vector<MaskWarning>& warnings) {
  Json list = Json::array();
  for (const MaskWarning& warning : warnings) {
    list.push_back({{"name", warning.name},
                    {"what", warning.what.text()},
                    {"mend", warning.mend.text()},
                    {"rows", warning.rows},
                    {"first_rows", warning.first_rows}});
  }
  return json_text({{"warnings", std::move(list)}}, 2);
}

// A mask with warnings is a check that failed.
Outcome lint_verdict(std::string_view option,
                     const std::vector<MaskWarning>& warnings) {
  if (warnings.empty()) {
    return {};
  }
  std::vector<std::string_view> names;
  for (const MaskWarning& warning : warnings) {
    names.emplace_back(warning.name);
  }
  return Failure{
      Exit::check_failed,
      option_error(option, message("has warnings: {}",
                                   fmt::format("{}", fmt::join(names, ", "))))};
}

// Those that are given must be those of the mask, where it has more than one.
Status check_sizes(const LintFlags& flags, const MaskSizes& sizes) {
  for (const auto& [option, given, own] :
       {std::tuple{"--batch", flags.batch, sizes.B},
        {"--num-heads", flags.heads, sizes.Hq},
        {"--queries", flags.queries, sizes.Lq},
        {"--keys", flags.keys, sizes.Lkv}}) {
    if (given && own > 1 && *given != own) {
      return bad_option(option, std::to_string(*given),
                        message("{}, as the mask has it", own));
    }
  }
  return ok();
}

Outcome run_lint_mask(const LintFlags& flags, const Streams& streams) {
  if (flags.mask.empty() == flags.key_padding.empty()) {
    return usage("give --mask or --key-padding");
  }
  const bool padding = flags.mask.empty();
  const Dialect& dialect = *find_dialect(flags.dialect);
  HEADWISE_ASSIGN(const auto mask,
                  read_file_of(padding ? "--key-padding" : "--mask",
                               padding ? flags.key_padding : flags.mask));
  MaskSizes sizes{flags.batch.value_or(1), flags.heads.value_or(1),
                  flags.queries.value_or(1), flags.keys.value_or(0)};
  if (padding && mask.shape.size() == 2) {
    sizes.B = mask.shape[0];
    sizes.Lkv = mask.shape[1];
  }
  if (!padding) {
    const auto known = sizes_of_mask(dialect, mask, sizes);
    if (!known) {
      return in_option_words(known.error(), {});
    }
    sizes = *known;
  }
  HEADWISE_TRY(check_sizes(flags, sizes));
  if (sizes.Lkv == 0) {
    return usage("--keys is needed: the mask does not say how many there are");
  }
  const auto warnings = lint_mask(
      dialect, mask, sizes,
      {.key_padding = padding, .padded_left = flags.padding == "left"});
  if (!warnings) {
    return in_option_words(warnings.error(), {});
  }
  HEADWISE_TRY(print(streams.out,
                     flags.json ? lint_json(*warnings) : lint_text(*warnings)));
  return lint_verdict(padding ? "--key-padding" : "--mask", *warnings);
}

void add_lint_mask_options(const Arguments& command, LintFlags& flags) {
  command.add(
      {{"--dialect", &flags.dialect, choice(dialect_names(), "NAME"),
        "the library that the mask is for", required()},
       {"--mask", &flags.mask, npy(), "the mask"},
       {"--key-padding", &flags.key_padding, npy(),
        "key padding mask (B, Lkv), instead of --mask"},
       {"--padding", &flags.padding, choice({"right", "left"}),
        "where padding is expected (default right)"},
       {"--batch", &flags.batch, count(), "number of sequences (default 1)"},
       {"--num-heads", &flags.heads, count(),
        "number of query heads (default 1)"},
       {"--queries", &flags.queries, count(), "number of queries (default 1)"},
       {"--keys", &flags.keys, count(), "number of keys"},
       {"--json", &flags.json, flag(), "print JSON"}});
}

}  // namespace

void add_lint_mask(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kLintMaskHelp, add_lint_mask_options, run_lint_mask);
}

}  // namespace headwise::cli
