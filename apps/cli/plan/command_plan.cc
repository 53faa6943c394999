// headwise plan
// Which tokens and heads of a call each of several ranks would have, and what
// that costs in work, memory, traffic and time.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "headwise/base/dtype.h"
#include "headwise/base/half.h"
#include "operation/parallel_scheme.h"
#include "operation/window_sides.h"
#include "plan_flags.h"
#include "plan_report.h"
#include "shell/add_command.h"
#include "shell/error_of_option.h"
#include "shell/output.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "plan",
    .description = "plan how to divide attention among several machines",
    .examples =
        R"(  headwise plan --ranks 8 --length 1000000 --num-heads 32 --causal
  headwise plan --ranks 64 --length 131072 --kv-heads 8 --dtype bfloat16 \
      --causal --backward --rate 2000 --bandwidth 25
  headwise plan --ranks 4 --length 512 --batch 64 --json)",
    .footer =
        R"(Times are estimates from the rates that you give; nothing is measured.
headwise bench measures the rate of a machine.)"};

constexpr std::size_t kMostSequences = 65'536;
constexpr double kGiga = 1e9;

Status check(const PlanFlags& flags) {
  if (flags.kv_heads && flags.heads % *flags.kv_heads != 0) {
    return option_error(
        "--num-heads", message("is {}", flags.heads),
        message("a multiple of --kv-heads = {}", *flags.kv_heads));
  }
  if (flags.batch > kMostSequences) {
    return option_error("--batch", message("is {}", flags.batch),
                        message("a number from 1 to {}", kMostSequences));
  }
  // The plan counts pairs of a query and a key.
  const std::uint64_t pairs = kMostPairs / flags.batch;
  const auto longest =
      static_cast<std::size_t>(std::sqrt(static_cast<double>(pairs)));
  if (flags.length > longest) {
    return option_error(
        "--length", message("is {}", flags.length),
        message("at most {} with --batch {}", longest, flags.batch));
  }
  return ok();
}

Result<KeyBand> key_band(const PlanFlags& flags) {
  if (flags.window.empty()) {
    return band_of(std::nullopt, flags.causal);
  }
  HEADWISE_ASSIGN(const auto window, WindowSides::parse(flags.window));
  return band_of(window, flags.causal);
}

Result<ShardRequest> request_of(const PlanFlags& flags) {
  HEADWISE_TRY(check(flags));
  HEADWISE_ASSIGN(const auto band, key_band(flags));
  ShardRequest request = {.ranks = flags.ranks,
                          .parallel = parallel_of(flags.parallel),
                          .heads = flags.heads,
                          .kv_heads = flags.kv_heads.value_or(flags.heads),
                          .band = band,
                          .pieces_per_rank = flags.pieces_per_rank.value_or(0)};
  request.sequences.assign(flags.batch, {flags.length, flags.length});
  return request;
}

ForecastOptions options_of(const PlanFlags& flags, Transfer transfer) {
  return {.transfer = transfer,
          .backward = flags.backward,
          .head_dim = flags.head_dim,
          .element_bytes = flags.dtype == name_of(DType::float32)
                               ? sizeof(float)
                               : sizeof(BFloat16),
          .multiply_adds_per_second = flags.rate * kGiga / 2,
          .bytes_per_second = flags.bandwidth * kGiga,
          .latency_seconds = flags.latency * 1e-6};
}

// An error about a member of the request, or of the options of a forecast, has
// the name of an option.
Error in_option_words(const Error& error) {
  if (error.code() == ErrorCode::out_of_memory) {
    return error;
  }
  ErrorDetails details = error.details();
  if (details.argument.starts_with("band")) {
    details.argument = "window";
  } else if (details.argument == "heads") {
    details.argument = "num_heads";
  }
  return error_of_argument({ErrorCode::invalid_argument, std::move(details)});
}

Result<PlanReport> plan(const PlanFlags& flags) {
  PlanReport report = {
      .flags = flags, .request = {}, .plan = {}, .forecasts = {}};
  HEADWISE_ASSIGN(report.request, request_of(flags));
  auto plan = plan_shards(report.request);
  if (!plan) {
    return in_option_words(plan.error());
  }
  report.plan = std::move(*plan);
  const auto add = [&](std::string_view name, Transfer transfer) -> Status {
    auto result =
        forecast(report.request, report.plan, options_of(flags, transfer));
    if (!result) {
      return in_option_words(result.error());
    }
    report.forecasts.push_back({name, std::move(*result)});
    return ok();
  };
  if (report.plan.parallel == Parallel::heads) {
    HEADWISE_TRY(add("by heads", Transfer::pipelined));
  } else {
    HEADWISE_TRY(add("pipelined", Transfer::pipelined));
    HEADWISE_TRY(add("gathered", Transfer::gathered));
  }
  return report;
}

Outcome run_plan(const PlanFlags& flags, const Streams& streams) {
  HEADWISE_ASSIGN(const auto report, plan(flags));
  return print(streams.out, flags.json ? plan_json(report) : plan_text(report));
}

void add_call_options(const Arguments& call, PlanFlags& flags) {
  call.add(
      {{"--length", &flags.length, count(), "tokens of a sequence", required()},
       {"--batch", &flags.batch, count(), "number of sequences (default 1)"},
       {"--num-heads", &flags.heads, count(), "query heads (default 32)"},
       {"--kv-heads", &flags.kv_heads, count(),
        "heads of keys and values (default: as --num-heads)"},
       {"--head-dim", &flags.head_dim, count(),
        "features of a head (default 128)"},
       {"--causal", &flags.causal, flag(), "a query sees no later key"},
       {"--window", &flags.window, text("LEFT,RIGHT[,KEEP_FIRST]"),
        "a query sees LEFT keys before it and RIGHT after it (inf: no limit), "
        "and the first KEEP_FIRST keys (default 0)"},
       {"--dtype", &flags.dtype, choice({"float32", "bfloat16", "float16"}),
        "type of the tensors (default float32)"},
       {"--backward", &flags.backward, flag(),
        "include the backward pass (default: forward only)"}});
}

void add_division_options(const Arguments& division, PlanFlags& flags) {
  division.add(
      {{"--ranks", &flags.ranks, count(),
        "number of processes, usually one per machine", required()},
       {"--parallel", &flags.parallel, choice({"auto", "context", "heads"}),
        "divide tokens (context) or heads; auto (default): heads if there are "
        "enough and they balance as well"},
       {"--pieces-per-rank", &flags.pieces_per_rank, count(),
        "pieces per sequence and rank, by context; more pieces reduce waiting "
        "under --causal (default 2 if the work varies along the sequence, else "
        "1)"}});
}

Check above_zero(std::string_view expected) {
  return number_between(1e-9, 1e12, expected);
}

void add_rate_options(const Arguments& rates, PlanFlags& flags) {
  rates.add({{"--rate", &flags.rate,
              real("X", above_zero("a number from 1e-9 to 1e12")),
              "speed of attention on a rank in GFLOP/s, as headwise bench "
              "prints it (default 1000)"},
             {"--bandwidth", &flags.bandwidth,
              real("X", above_zero("a number from 1e-9 to 1e12")),
              "bandwidth of a rank's link in GB/s, per direction (default "
              "12.5: 100 Gbit/s)"},
             {"--latency", &flags.latency,
              real("X", number_between(0, 1e12, "a number from 0 to 1e12")),
              "latency of a message in microseconds (default 10)"}});
}

void add_options(const Arguments& command, PlanFlags& flags) {
  add_division_options(command.under("Division"), flags);
  add_call_options(command.under("Call"), flags);
  add_rate_options(command.under("Rates"), flags);
  command.add({{"--json", &flags.json, flag(), "print one JSON object"}});
}

}  // namespace

void add_plan(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_plan);
}

}  // namespace headwise::cli
