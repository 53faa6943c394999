// headwise bench
// How fast attention is here, as a share of what the processor can do; or on a
// GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "bench_device.h"
#include "bench_measure.h"
#include "bench_workload.h"
#include "operation/arithmetic_option.h"
#include "operation/option_errors.h"
#include "shell/add_command.h"
#include "shell/json.h"
#include "shell/output.h"
#include "shell/say.h"

namespace headwise::cli {
namespace {

constexpr CommandHelp kHelp = {
    .name = "bench",
    .description = "benchmark attention on this machine",
    .examples =
        R"(  headwise bench --list
  headwise bench --workload seed
  headwise bench --workload bert gpt_causal --threads 2 --json)"};
constexpr std::string_view kAll = "all";

struct BenchFlags {
  std::vector<std::string> workloads;
  std::size_t threads = 1;
  std::size_t rounds = 10;
  bool list = false;
  bool json = false;
  std::string device = "cpu";
  std::string dtype;  // empty: not given
  std::string arithmetic;
};

std::string described(const Workload& workload) {
  const AttentionShape& shape = workload.shape;
  std::string text = fmt::format("B {} H {}", shape.B, shape.Hq);
  if (shape.Hkv != shape.Hq) {
    text += fmt::format(" Hkv {}", shape.Hkv);
  }
  text += shape.Lq == shape.Lkv
              ? fmt::format(" L {}", shape.Lq)
              : fmt::format(" Lq {} Lkv {}", shape.Lq, shape.Lkv);
  text += workload.embed_dim != 0 ? fmt::format(" E {}", workload.embed_dim)
                                  : fmt::format(" D {}", shape.D);
  if (shape.Dv != shape.D) {
    text += fmt::format(" Dv {}", shape.Dv);
  }
  if (workload.embed_dim != 0 && workload.embed_dim != shape.Hq * shape.D) {
    text += say(", heads of {}", shape.D);
  }
  text += workload.bfloat16 ? ", bfloat16" : "";
  text += workload.causal ? say(", causal") : "";
  if (workload.window) {
    text += say(", window {}", *workload.window);
  }
  if (workload.cache) {
    const KvCacheOptions& cache = *workload.cache;
    text += fmt::format(", {}", name_of(cache.dtype));
    text += cache.page_size == 0 ? say(", contiguous")
                                 : say(", pages of {}", cache.page_size);
    text += workload.shuffled ? say(", shuffled") : "";
  }
  if (workload.chunk != 0) {
    text += say(", chunks of {}", workload.chunk);
  }
  if (!workload.lengths.empty()) {
    text += workload.ragged ? say(", ragged") : say(", padded");
  }
  text += workload.rotary ? say(", rotary positions") : "";
  text += workload.bias ? say(", bias") : "";
  text += workload.attn_weights ? say(", attention weights") : "";
  text += workload.backward ? say(", forward and backward") : "";
  text += workload.dropout > 0 ? say(", dropout {}", workload.dropout) : "";
  return text;
}

Json as_json(const KvCacheOptions& cache) {
  return {{"dtype", name_of(cache.dtype)},
          {"page_size", cache.page_size},
          {"value_is_key_prefix", cache.value_is_key_prefix}};
}

std::string listed_as_json(const Workload& workload) {
  const AttentionShape& shape = workload.shape;
  const Json json = {
      {"workload", workload.name},
      {"B", shape.B},
      {"Hq", shape.Hq},
      {"Hkv", shape.Hkv},
      {"Lq", shape.Lq},
      {"Lkv", shape.Lkv},
      {"D", shape.D},
      {"Dv", shape.Dv},
      {"bfloat16", workload.bfloat16},
      {"embed_dim", workload.embed_dim},
      {"rotary", workload.rotary},
      {"causal", workload.causal},
      {"window", workload.window},
      {"attn_weights", workload.attn_weights},
      {"bias", workload.bias},
      {"ragged", workload.ragged},
      {"backward", workload.backward},
      {"dropout", workload.dropout},
      {"lengths", workload.lengths},
      {"cache", workload.cache ? as_json(*workload.cache) : Json()},
      {"shuffled", workload.shuffled},
      {"chunk", workload.chunk},
      {"gflop", gflop(workload)}};
  return json_text(json);
}

Outcome list(const BenchFlags& flags, std::ostream& out) {
  std::string text;
  for (const Workload& workload : workloads()) {
    text += flags.json
                ? listed_as_json(workload)
                : fmt::format("{:<20}{:>11.4f} GFLOP  {}\n", workload.name,
                              gflop(workload), described(workload));
  }
  return print(out, text);
}

std::string result_as_json(const BenchResult& result) {
  const char* const peak = result.arithmetic == Arithmetic::bf16
                               ? "bf16_peak_gflops"
                               : "fma_peak_gflops";
  const Json json = {{"workload", result.workload},
                     {"cpu", result.cpu},
                     {"target", result.target},
                     {"threads", result.threads},
                     {"arithmetic", name_of(result.arithmetic)},
                     {"seconds_min", result.seconds_min},
                     {"seconds_median", result.seconds_median},
                     {"gflops", result.gflops},
                     {peak, result.peak_gflops},
                     {"peak_fraction", result.peak_fraction},
                     {"read_gb_s", result.read_gb_s}};
  return json_text(json);
}

std::string result_as_text(const BenchResult& result) {
  return fmt::format(
      "{:<20}{:>11.3f}{:>11.3f}{:>9.1f}{:>13.1f}{:>7.1f}%"
      "{:>8.1f}\n",
      result.workload, result.seconds_median * 1e3, result.seconds_min * 1e3,
      result.gflops, result.peak_gflops, result.peak_fraction * 100,
      result.read_gb_s);
}

// Above the rows of result_as_text(), once.
std::string heading(const BenchResult& result) {
  return say("{}, {}, {} thread{}\n", result.cpu, result.target, result.threads,
             result.threads == 1 ? "" : "s") +
         fmt::format("{:<20}{:>11}{:>11}{:>9}{:>13}{:>8}{:>8}\n",
                     say("workload"), say("median ms"), say("min ms"),
                     "GFLOP/s", say("peak GFLOP/s"), say("share"), "GB/s");
}

std::string result_as_json(const DeviceBenchResult& result) {
  const Json json = {{"workload", result.workload},
                     {"gpu", result.gpu},
                     {"dtype", name_of(result.dtype)},
                     {"seconds_min", result.seconds_min},
                     {"seconds_median", result.seconds_median},
                     {"gflops", result.gflops}};
  return json_text(json);
}

std::string result_as_text(const DeviceBenchResult& result) {
  return fmt::format("{:<20}{:>12.4f}{:>12.4f}{:>12.0f}\n", result.workload,
                     result.seconds_median * 1e3, result.seconds_min * 1e3,
                     result.gflops);
}

std::string heading(const DeviceBenchResult& result) {
  return fmt::format("{}, {}\n{:<20}{:>12}{:>12}{:>12}\n", result.gpu,
                     name_of(result.dtype), say("workload"), say("median ms"),
                     say("min ms"), "GFLOP/s");
}

// Those that were asked for, in the order of the list.
std::vector<Workload> chosen_workloads(const BenchFlags& flags) {
  const auto asked = [&](const std::string& name) {
    return std::ranges::find(flags.workloads, name) != flags.workloads.end();
  };
  std::vector<Workload> chosen;
  for (const Workload& workload : workloads()) {
    // Layers and caches are no workloads of the GPU.
    const bool on_gpu = workload.embed_dim == 0 && !workload.cache;
    const bool of_all =
        asked(std::string(kAll)) && (flags.device == "cpu" || on_gpu);
    if (of_all || asked(workload.name)) {
      chosen.push_back(workload);
      chosen.back().arithmetic = arithmetic_of(flags.arithmetic);
    }
  }
  return chosen;
}

// measure_one(workload) -> a Result of either kind.
template <class Measure>
Outcome run_workloads(const BenchFlags& flags, const Measure& measure_one,
                      std::ostream& out) {
  bool headed = false;
  for (const Workload& workload : chosen_workloads(flags)) {
    const auto result = measure_one(workload);
    if (!result) {
      return in_option_words(result.error(), {});
    }
    const std::string text =
        flags.json ? result_as_json(*result)
                   : (headed ? "" : heading(*result)) + result_as_text(*result);
    headed = true;
    HEADWISE_TRY(print(out, text));
  }
  return {};
}

Outcome run_bench(const BenchFlags& flags, const Streams& streams) {
  if (flags.list != flags.workloads.empty()) {
    return usage("expected either --workload or --list");
  }
  if (flags.list) {
    return list(flags, streams.out);
  }
  if (flags.device == "cuda") {
    if (!flags.arithmetic.empty()) {
      return usage("--arithmetic is for --device cpu");
    }
    const DType dtype =
        flags.dtype == "float16" ? DType::float16 : DType::bfloat16;
    return run_workloads(
        flags,
        [&](const Workload& workload) {
          return measure_on_device(workload, dtype, flags.rounds);
        },
        streams.out);
  }
  if (!flags.dtype.empty()) {
    return usage("--dtype is for --device cuda");
  }
  HEADWISE_ASSIGN(const auto executor, Executor::with_threads(flags.threads));
  HEADWISE_ASSIGN(const auto peak, PeakMeter::create(executor.threads()));
  return run_workloads(
      flags,
      [&](const Workload& workload) {
        return measure(workload, executor, peak, flags.rounds);
      },
      streams.out);
}

std::vector<std::string> names_and_all() {
  std::vector<std::string> names = workload_names();
  names.emplace_back(kAll);
  return names;
}

void add_options(const Arguments& command, BenchFlags& flags) {
  command.add(
      {{"--workload", &flags.workloads, choice(names_and_all(), "NAME"),
        "workloads to measure: names from --list, or all"},
       {"--threads", &flags.threads, count(),
        "number of threads, at most the number of processors (default 1)"},
       {"--rounds", &flags.rounds, count(),
        "number of measurements (default 10)"},
       {"--device", &flags.device, choice({"cpu", "cuda"}, "NAME"),
        "cpu (default), or cuda: a Hopper GPU"},
       {"--dtype", &flags.dtype, choice({"bfloat16", "float16"}, "NAME"),
        "element type for --device cuda: bfloat16 (default) or float16",
        advanced()},
       arithmetic_option(flags.arithmetic),
       {"--json", &flags.json, flag(), "print one JSON object per line"},
       {"--list", &flags.list, flag(), "list the workloads and their sizes"}});
}

}  // namespace

void add_bench(const Arguments& app, Command& chosen) {
  add_command(app, chosen, kHelp, add_options, run_bench);
}

}  // namespace headwise::cli
