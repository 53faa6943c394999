// What headwise plan has computed, and how it is printed.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "headwise/distribute/plan_forecast.h"
#include "headwise/distribute/shard_plan.h"
#include "plan_flags.h"

namespace headwise::cli {

struct NamedForecast {
  std::string_view name;  // "pipelined", "gathered", "by heads"
  Forecast forecast;
};

struct PlanReport {
  PlanFlags flags;
  ShardRequest request;
  ShardPlan plan;
  std::vector<NamedForecast> forecasts;  // the first one is in the table

  const Forecast& main() const { return forecasts.front().forecast; }
};

// The largest of all ranks.
inline double largest(const Forecast& forecast, double RankForecast::*number) {
  return std::ranges::max(forecast.ranks, {}, number).*number;
}

std::string plan_text(const PlanReport& report);
std::string plan_json(const PlanReport& report);  // one object on one line

}  // namespace headwise::cli
