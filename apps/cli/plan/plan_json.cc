#include "plan_report.h"
#include "shell/json.h"

namespace headwise::cli {
namespace {

Json as_json(const HeadRange& heads) {
  return {{"first", heads.first}, {"count", heads.count}};
}

Json as_json(const std::vector<TokenPiece>& pieces) {
  Json list = Json::array();
  for (const TokenPiece& piece : pieces) {
    list.push_back({{"sequence", piece.sequence},
                    {"first", piece.range.first},
                    {"tokens", piece.range.tokens}});
  }
  return list;
}

Json ranks_as_json(const PlanReport& report) {
  Json list = Json::array();
  for (std::size_t r = 0; r < report.plan.ranks.size(); ++r) {
    const RankShare& share = report.plan.ranks[r];
    const RankForecast& cost = report.main().ranks[r];
    list.push_back({{"rank", r},
                    {"pieces", as_json(share.queries)},
                    {"heads", as_json(share.heads)},
                    {"kv_heads", as_json(share.kv_heads)},
                    {"multiply_adds", cost.multiply_adds},
                    {"memory_bytes", cost.memory},
                    {"received_bytes", cost.received}});
  }
  return list;
}

Json call_as_json(const PlanReport& report) {
  const PlanFlags& flags = report.flags;
  return {{"batch", flags.batch},
          {"length", flags.length},
          {"heads", report.request.heads},
          {"kv_heads", report.request.kv_heads},
          {"head_dim", flags.head_dim},
          {"left", report.request.band.left},
          {"right", report.request.band.right},
          {"keep_first", report.request.band.keep_first},
          {"dtype", flags.dtype},
          {"backward", flags.backward}};
}

Json forecasts_as_json(const PlanReport& report) {
  Json list = Json::array();
  for (const auto& [name, forecast] : report.forecasts) {
    list.push_back(
        {{"transfer", name},
         {"seconds", forecast.seconds},
         {"efficiency", forecast.efficiency},
         {"most_memory_bytes", largest(forecast, &RankForecast::memory)},
         {"most_received_bytes", largest(forecast, &RankForecast::received)}});
  }
  return list;
}

}  // namespace

std::string plan_json(const PlanReport& report) {
  const Forecast& main = report.main();
  return json_text(
      {{"call", call_as_json(report)},
       {"rates",
        {{"gflops", report.flags.rate},
         {"gb_s", report.flags.bandwidth},
         {"latency_us", report.flags.latency}}},
       {"parallel",
        report.plan.parallel == Parallel::heads ? "heads" : "context"},
       {"chunk_tokens", main.chunk_tokens},
       {"ranks", ranks_as_json(report)},
       {"imbalance", main.imbalance},
       {"one_rank",
        {{"seconds", main.one_rank_seconds},
         {"memory_bytes", main.one_rank_memory}}},
       {"forecasts", forecasts_as_json(report)}});
}

}  // namespace headwise::cli
