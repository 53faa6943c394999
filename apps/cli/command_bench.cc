// headwise bench
// How fast attention is here, as a share of what the processor can do.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "args.h"
#include "bench_measure.h"
#include "bench_serve.h"
#include "bench_workload.h"
#include "command.h"
#include "output.h"

namespace headwise::cli {
namespace {

constexpr std::string_view kExamples =
    R"(  headwise bench --list
  headwise bench --workload seed
  headwise bench --workload bert gpt_causal --threads 2 --json)";
constexpr std::string_view kAll = "all";

struct BenchFlags {
  std::vector<std::string> workloads;
  std::size_t threads = 1;
  std::size_t rounds = 10;
  bool list = false;
  bool json = false;
  bool serve = false;
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
  text += workload.causal ? ", causal" : "";
  if (workload.window) {
    text += fmt::format(", window {}", *workload.window);
  }
  if (!workload.lengths.empty()) {
    text += workload.ragged ? ", ragged" : ", padded";
  }
  text += workload.bias ? ", bias" : "";
  text += workload.attn_weights ? ", attn_weights" : "";
  text += workload.backward ? ", forward and backward" : "";
  text +=
      workload.dropout > 0 ? fmt::format(", dropout {}", workload.dropout) : "";
  return text;
}

std::string listed_as_json(const Workload& workload) {
  const AttentionShape& shape = workload.shape;
  const nlohmann::json window =
      workload.window ? nlohmann::json(*workload.window) : nlohmann::json();
  return nlohmann::ordered_json({{"workload", workload.name},
                                 {"B", shape.B},
                                 {"Hq", shape.Hq},
                                 {"Hkv", shape.Hkv},
                                 {"Lq", shape.Lq},
                                 {"Lkv", shape.Lkv},
                                 {"D", shape.D},
                                 {"embed_dim", workload.embed_dim},
                                 {"causal", workload.causal},
                                 {"window", window},
                                 {"attn_weights", workload.attn_weights},
                                 {"bias", workload.bias},
                                 {"ragged", workload.ragged},
                                 {"backward", workload.backward},
                                 {"dropout", workload.dropout},
                                 {"lengths", workload.lengths},
                                 {"gflop", gflop(workload)}})
             .dump() +
         "\n";
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
  return nlohmann::ordered_json({{"workload", result.workload},
                                 {"cpu", result.cpu},
                                 {"target", result.target},
                                 {"threads", result.threads},
                                 {"seconds_min", result.seconds_min},
                                 {"seconds_median", result.seconds_median},
                                 {"gflops", result.gflops},
                                 {"fma_peak_gflops", result.fma_peak_gflops},
                                 {"peak_fraction", result.peak_fraction},
                                 {"read_gb_s", result.read_gb_s}})
             .dump(-1, ' ', false,
                   nlohmann::ordered_json::error_handler_t::replace) +
         "\n";
}

std::string result_as_text(const BenchResult& result) {
  return fmt::format(
      "{:<20}{:>12.3f}{:>12.3f}{:>10.1f}{:>10.1f}{:>8.1f}%"
      "{:>8.1f}\n",
      result.workload, result.seconds_median * 1e3, result.seconds_min * 1e3,
      result.gflops, result.fma_peak_gflops, result.peak_fraction * 100,
      result.read_gb_s);
}

// Above the rows of result_as_text(), once.
std::string heading(const BenchResult& result) {
  return fmt::format(
      "{}, {}, {} thread(s)\n"
      "{:<20}{:>12}{:>12}{:>10}{:>10}{:>9}{:>8}\n",
      result.cpu, result.target, result.threads, "workload", "median ms",
      "least ms", "GFLOP/s", "peak", "share", "GB/s");
}

Outcome run_workloads(const BenchFlags& flags, const Executor& executor,
                      std::ostream& out) {
  const auto peak = PeakMeter::create(executor.threads());
  if (!peak) {
    return failure_of(peak.error());
  }
  const auto asked = [&](const std::string& name) {
    return std::ranges::find(flags.workloads, name) != flags.workloads.end();
  };
  bool headed = false;
  for (const Workload& workload : workloads()) {
    if (!asked(workload.name) && !asked(std::string(kAll))) {
      continue;
    }
    const auto result = measure(workload, executor, *peak, flags.rounds);
    if (!result) {
      return failure_of(result.error());
    }
    const std::string text =
        flags.json ? result_as_json(*result)
                   : (headed ? "" : heading(*result)) + result_as_text(*result);
    headed = true;
    if (Outcome failed = print(out, text)) {
      return failed;
    }
  }
  return {};
}

Outcome run_bench(const BenchFlags& flags, std::ostream& out) {
  if (flags.list + flags.serve + !flags.workloads.empty() != 1) {
    return usage("expected one of --workload, --list and --serve");
  }
  if (flags.list) {
    return list(flags, out);
  }
  const auto executor = Executor::with_threads(flags.threads);
  if (!executor) {
    return failure_of(executor.error());
  }
  return flags.serve ? serve(std::cin, out, *executor)
                     : run_workloads(flags, *executor, out);
}

std::vector<std::string> names_and_all() {
  std::vector<std::string> names = workload_names();
  names.emplace_back(kAll);
  return names;
}

}  // namespace

void add_bench(CLI::App& app, Command& chosen) {
  CLI::App* command =
      add_command(app, "bench", "the speed of attention on this processor",
                  std::string(kExamples));
  auto flags = std::make_shared<BenchFlags>();
  command
      ->add_option("--workload", flags->workloads,
                   "measure these of --list, or all")
      ->type_name("NAME")
      ->check(one_of(names_and_all()));
  add_count(*command, "--threads", flags->threads,
            "at most so many as there are processors (default 1)");
  add_count(*command, "--rounds", flags->rounds, "measurements (default 10)");
  command->add_flag("--json", flags->json, "one object a line");
  command->add_flag("--list", flags->list, "the workloads and their sizes");
  command->add_flag("--serve", flags->serve,
                    "be measured by another program (bench/README.md)");
  command->callback([flags, &chosen] {
    chosen = [flags](const Streams& streams) {
      return run_bench(*flags, streams.out);
    };
  });
}

}  // namespace headwise::cli
