#include <fmt/format.h>

#include <numeric>

#include "plan_report.h"
#include "shell/quantity_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"

namespace headwise::cli {
namespace {

constexpr std::size_t kShownPieces = 4;

using Row = std::vector<std::string>;

// Columns as wide as they need to be, the first one on the left. `last` is
// where the last one stands.
enum class Side { left, right };
std::string table_text(const std::vector<Row>& rows, Side last) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const Row& row : rows) {
    for (std::size_t n = 0; n < row.size(); ++n) {
      widths[n] = std::max(widths[n], columns_of(row[n]));
    }
  }
  std::string text;
  for (const Row& row : rows) {
    for (std::size_t n = 0; n < row.size(); ++n) {
      const std::string gap(widths[n] - columns_of(row[n]), ' ');
      text += n == 0                                      ? row[n] + gap
              : last == Side::left && n + 1 == row.size() ? "  " + row[n]
                                                          : "  " + gap + row[n];
    }
    text += "\n";
  }
  return text;
}

std::string mask_text(const KeyBand& band) {
  if (band.left) {
    return say("window {},{}", *band.left,
               band.right ? std::to_string(*band.right) : "inf");
  }
  return band.right ? *band.right == 0 ? say_in(language(), "plan", "causal")
                                       : say("window inf,{}", *band.right)
                    : say("no mask");
}

std::string call_text(const PlanReport& report) {
  const PlanFlags& flags = report.flags;
  const std::size_t kv_heads = report.request.kv_heads;
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  return say(
      "Call: {} sequence{} of {} token{}, {} query head{} and {} key "
      "head{} of {} feature{}, {}, {}, {}\n",
      count_text(flags.batch), plural(flags.batch), count_text(flags.length),
      plural(flags.length), flags.heads, plural(flags.heads), kv_heads,
      plural(kv_heads), flags.head_dim, plural(flags.head_dim),
      mask_text(report.request.band), flags.dtype,
      flags.backward ? say("forward and backward") : say("forward"));
}

std::string division_text(const PlanReport& report) {
  const bool by_heads = report.plan.parallel == Parallel::heads;
  std::string text =
      say("Division: {} rank{}, {}{}\n", report.flags.ranks,
          report.flags.ranks == 1 ? "" : "s",
          by_heads ? say_in(language(), "plan", "by heads") : say("by context"),
          report.flags.parallel == "auto" ? say(" (chosen by auto)") : "");
  return text + say("Rates: {:.12g} GFLOP/s per rank, {:.12g} GB/s per link, "
                    "{:.12g} µs per message\n",
                    report.flags.rate, report.flags.bandwidth,
                    report.flags.latency);
}

// "0-62,207", of a batch with the sequence in front: "3: 0-511"
std::string piece_text(const TokenPiece& piece, bool of_batch) {
  const std::string range =
      count_text(piece.range.first) + "-" + count_text(piece.range.end() - 1);
  return of_batch ? fmt::format("{}: {}", piece.sequence, range) : range;
}

std::string pieces_text(const RankShare& share, bool of_batch) {
  std::string text = share.queries.empty() ? "-" : "";
  for (std::size_t n = 0; n < share.queries.size() && n < kShownPieces; ++n) {
    text += (n == 0 ? "" : "; ") + piece_text(share.queries[n], of_batch);
  }
  if (share.queries.size() > kShownPieces) {
    text += say("; {} more", count_text(share.queries.size() - kShownPieces));
  }
  return text;
}

std::string heads_text(const RankShare& share) {
  return share.heads.count == 0
             ? "-"
             : fmt::format("{}-{}", share.heads.first,
                           share.heads.first + share.heads.count - 1);
}

std::size_t tokens_of(const RankShare& share) {
  return std::transform_reduce(
      share.queries.begin(), share.queries.end(), std::size_t{0}, std::plus<>(),
      [](const TokenPiece& piece) { return piece.range.tokens; });
}

double all_work(const Forecast& forecast) {
  return std::transform_reduce(
      forecast.ranks.begin(), forecast.ranks.end(), 0.0, std::plus<>(),
      [](const RankForecast& rank) { return rank.multiply_adds; });
}

std::string ranks_text(const PlanReport& report) {
  const bool by_heads = report.plan.parallel == Parallel::heads;
  const double all = all_work(report.main());
  std::vector<Row> rows = {{say("Rank"),
                            by_heads ? say("Heads") : say("Tokens"),
                            say("Work"), say("Memory"), say("Received"),
                            by_heads ? say("Range") : say("Pieces")}};
  for (std::size_t r = 0; r < report.plan.ranks.size(); ++r) {
    const RankShare& share = report.plan.ranks[r];
    const RankForecast& cost = report.main().ranks[r];
    rows.push_back(
        {std::to_string(r),
         count_text(by_heads ? share.heads.count : tokens_of(share)),
         fmt::format("{:.2f}%", all == 0 ? 0 : 100 * cost.multiply_adds / all),
         bytes_text(cost.memory), bytes_text(cost.received),
         by_heads ? heads_text(share)
                  : pieces_text(share, report.flags.batch > 1)});
  }
  return table_text(rows, Side::left);
}

std::string idle_text(const PlanReport& report) {
  const auto idle = std::ranges::count(report.main().ranks, 0.0,
                                       &RankForecast::multiply_adds);
  if (idle == 0) {
    return "";
  }
  return say(
      "Warning: ranks without work: {} of {} ({})\n", idle,
      report.plan.ranks.size(),
      report.plan.parallel == Parallel::heads
          ? say("key heads: {}", report.request.kv_heads)
          : say("sequences are cut at multiples of {} tokens", kShardTokens));
}

std::string times_text(const PlanReport& report) {
  const Forecast& main = report.main();
  std::vector<Row> rows = {
      {say("Keys and values"), say("Time"), say("Efficiency"), say("Memory"),
       say("Received")},
      {say("all on one rank"), seconds_text(main.one_rank_seconds), "100.0%",
       bytes_text(main.one_rank_memory), bytes_text(0)}};
  for (const auto& [name, forecast] : report.forecasts) {
    rows.push_back({in_language(name), seconds_text(forecast.seconds),
                    fmt::format("{:.1f}%", 100 * forecast.efficiency),
                    bytes_text(largest(forecast, &RankForecast::memory)),
                    bytes_text(largest(forecast, &RankForecast::received))});
  }
  return table_text(rows, Side::right);
}

}  // namespace

std::string plan_text(const PlanReport& report) {
  return call_text(report) + division_text(report) + "\n" + ranks_text(report) +
         idle_text(report) +
         say("Imbalance: {:.1f}% (the largest work over the mean)\n\n",
             100 * report.main().imbalance) +
         times_text(report) +
         say("Memory and Received: the largest value of any rank.\n");
}

}  // namespace headwise::cli
