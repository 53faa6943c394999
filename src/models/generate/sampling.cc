#include "headwise/generate/sampling.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/out_of_memory.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kNextToken = "next_token";

struct Candidate {
  TokenId id;
  double weight;  // exp((logit - largest) / temperature)
};

Status check_logits(std::span<const float> logits) {
  bool has_finite = false;
  for (const float logit : logits) {
    if (std::isnan(logit) || logit == HUGE_VALF) {
      return argument_error(kNextToken, "logits", "are not finite",
                            "finite numbers");
    }
    has_finite |= std::isfinite(logit);
  }
  return has_finite
             ? ok()
             : Status(argument_error(kNextToken, "logits",
                                     "have no finite number", "at least one"));
}

// The largest first, and of equal ones the lower id.
std::vector<Candidate> candidates_of(std::span<const float> logits,
                                     const Sampling& sampling) {
  std::vector<TokenId> ids(logits.size());
  for (std::size_t n = 0; n < ids.size(); ++n) {
    ids[n] = static_cast<TokenId>(n);
  }
  const std::size_t kept =
      sampling.top_k == 0 ? ids.size() : std::min(sampling.top_k, ids.size());
  std::partial_sort(ids.begin(),
                    ids.begin() + static_cast<std::ptrdiff_t>(kept), ids.end(),
                    [&](TokenId a, TokenId b) {
                      const float x = logits[static_cast<std::size_t>(a)];
                      const float y = logits[static_cast<std::size_t>(b)];
                      return x != y ? x > y : a < b;
                    });
  std::vector<Candidate> made;
  const double largest = logits[static_cast<std::size_t>(ids[0])];
  for (std::size_t n = 0; n < kept; ++n) {
    const double logit = logits[static_cast<std::size_t>(ids[n])];
    made.push_back(
        {ids[n], std::exp((logit - largest) / sampling.temperature)});
  }
  return made;
}

double sum_of(const std::vector<Candidate>& candidates) {
  double sum = 0;
  for (const Candidate& one : candidates) {
    sum += one.weight;
  }
  return sum;
}

// Keeps the first whose sum reaches top_p of all.
void keep_top_p(double top_p, std::vector<Candidate>& candidates) {
  const double enough = top_p * sum_of(candidates);
  double sum = 0;
  for (std::size_t n = 0; n < candidates.size(); ++n) {
    sum += candidates[n].weight;
    if (sum >= enough) {
      candidates.resize(n + 1);
      return;
    }
  }
}

// In [0, 1), with 53 random bits.
double drawn(const Seed& seed, const DrawPlace& place) {
  const auto low = [](std::uint64_t x) {
    return static_cast<std::uint32_t>(x);
  };
  const PhiloxCounter words =
      philox4x32({low(place.step), low(place.step >> 32U), place.stream,
                  /*of this purpose*/ 0x67656e65U},
                 {low(seed.value), low(seed.value >> 32U)});
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32U | words[1]) >> 11U;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace

Status check_sampling(std::string_view operation, const Sampling& sampling) {
  const double temperature = sampling.temperature;
  if (!(temperature >= 0) || std::isinf(temperature)) {
    return value_error(operation, "temperature", std::to_string(temperature),
                       "a finite number, at least 0");
  }
  const double top_p = sampling.top_p;
  return top_p > 0 && top_p <= 1
             ? ok()
             : Status(value_error(operation, "top_p", std::to_string(top_p),
                                  "above 0 and at most 1"));
}

Result<TokenId> next_token(std::span<const float> logits,
                           const Sampling& sampling,
                           const DrawPlace& place) try {
  HEADWISE_TRY(check_sampling(kNextToken, sampling));
  HEADWISE_TRY(check_logits(logits));
  if (sampling.temperature == 0) {
    return static_cast<TokenId>(std::ranges::max_element(logits) -
                                logits.begin());
  }
  std::vector<Candidate> candidates = candidates_of(logits, sampling);
  keep_top_p(sampling.top_p, candidates);
  double left = drawn(sampling.seed, place) * sum_of(candidates);
  for (const Candidate& one : candidates) {
    left -= one.weight;
    if (left < 0) {
      return one.id;
    }
  }
  return candidates.back().id;
} catch (...) {
  return caught_out_of_memory();
}

double log_probability(std::span<const float> logits, TokenId id) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const float logit : logits) {
    sum += std::exp(double{logit} - largest);
  }
  return double{logits[static_cast<std::size_t>(id)]} - largest - std::log(sum);
}

}  // namespace headwise::inline HEADWISE_ABI
