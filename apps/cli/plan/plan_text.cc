#include <fmt/format.h>

#include <numeric>

#include "plan_report.h"
#include "shell/quantity_text.h"
#include "shell/say.h"
#include "shell/terminal_text.h"
#include "shell/translation.h"

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
    return say({"window {},{}", "윈도우 {},{}"}, *band.left,
               band.right ? std::to_string(*band.right) : "inf");
  }
  return band.right ? *band.right == 0
                          ? say({"causal", "인과 마스크"})
                          : say({"window inf,{}", "윈도우 inf,{}"}, *band.right)
                    : say({"no mask", "마스크 없음"});
}

std::string call_text(const PlanReport& report) {
  const PlanFlags& flags = report.flags;
  const std::size_t kv_heads = report.request.kv_heads;
  const auto plural = [](std::size_t count) { return count == 1 ? "" : "s"; };
  return say({"Call: {} sequence{} of {} token{}, {} query head{} and {} key "
              "head{} of {} feature{}, {}, {}, {}\n",
              "호출: 토큰 {2}개인 시퀀스 {0}개, 특징 {8}개인 쿼리 헤드 {4}개와 "
              "키 헤드 {6}개, {10}, {11}, {12}\n"},
             count_text(flags.batch), plural(flags.batch),
             count_text(flags.length), plural(flags.length), flags.heads,
             plural(flags.heads), kv_heads, plural(kv_heads), flags.head_dim,
             plural(flags.head_dim), mask_text(report.request.band),
             flags.dtype,
             flags.backward ? say({"forward and backward", "순전파와 역전파"})
                            : say({"forward", "순전파"}));
}

std::string division_text(const PlanReport& report) {
  const bool by_heads = report.plan.parallel == Parallel::heads;
  std::string text =
      say({"Division: {} rank{}, {}{}\n", "분할: 랭크 {0}개, {2}{3}\n"},
          report.flags.ranks, report.flags.ranks == 1 ? "" : "s",
          by_heads ? say({"by heads", "헤드로 나눔"})
                   : say({"by context", "컨텍스트로 나눔"}),
          report.flags.parallel == "auto"
              ? say({" (chosen by auto)", " (auto로 선택)"})
              : "");
  return text + say({"Rates: {:.12g} GFLOP/s per rank, {:.12g} GB/s per link, "
                     "{:.12g} µs per message\n",
                     "속도: 랭크마다 {:.12g} GFLOP/s, 링크마다 {:.12g} GB/s, "
                     "메시지마다 {:.12g} µs\n"},
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
    text += say({"; {} more", "; 외 {}개"},
                count_text(share.queries.size() - kShownPieces));
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
  std::vector<Row> rows = {
      {say({"Rank", "랭크"}),
       by_heads ? say({"Heads", "헤드 수"}) : say({"Tokens", "토큰 수"}),
       say({"Work", "작업량"}), say({"Memory", "메모리"}),
       say({"Received", "수신"}),
       by_heads ? say({"Range", "범위"}) : say({"Pieces", "조각"})}};
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
      {"Warning: ranks without work: {} of {} ({})\n",
       "경고: 할 일이 없는 랭크: {1}개 중 {0}개({2})\n"},
      idle, report.plan.ranks.size(),
      report.plan.parallel == Parallel::heads
          ? say({"key heads: {}", "키 헤드 {}개"}, report.request.kv_heads)
          : say({"sequences are cut at multiples of {} tokens",
                 "시퀀스는 토큰 {}개의 배수에서 나뉩니다"},
                kShardTokens));
}

std::string times_text(const PlanReport& report) {
  const Forecast& main = report.main();
  std::vector<Row> rows = {
      {say({"Keys and values", "키와 밸류"}), say({"Time", "시간"}),
       say({"Efficiency", "효율"}), say({"Memory", "메모리"}),
       say({"Received", "수신"})},
      {say({"all on one rank", "한 랭크에 전부"}),
       seconds_text(main.one_rank_seconds), "100.0%",
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
         say({"Imbalance: {:.1f}% (the largest work over the mean)\n\n",
              "불균형: {:.1f}% (가장 큰 작업량과 평균의 차이)\n\n"},
             100 * report.main().imbalance) +
         times_text(report) +
         say({"Memory and Received: the largest value of any rank.\n",
              "메모리와 수신: 모든 랭크 중 가장 큰 값입니다.\n"});
}

}  // namespace headwise::cli
