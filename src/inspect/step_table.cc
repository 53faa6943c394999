#include "headwise/inspect/step_table.h"

#include <algorithm>
#include <array>

#include "steps/mask_words.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array kStepsBeforeMasks = {
    StepInfo{"lengths", "count the tokens of each sequence",
             "시퀀스마다 토큰 수를 셉니다",
             "lengths[b] = number of tokens in sequence b",
             "lengths[b] = 시퀀스 b의 토큰 수"},
    StepInfo{"padded", "pad every sequence to the length of the longest",
             "모든 시퀀스를 가장 긴 시퀀스의 길이까지 패딩합니다",
             "padded[b,t] = tokens[b][t] if t < lengths[b] else pad_id"},
    StepInfo{"embedded", "look up the vector of each token",
             "토큰마다 임베딩 벡터를 찾습니다",
             "embedded[b,t,:] = embedding.weight[padded[b,t],:]"},
    StepInfo{"lengths_kv", "count the tokens of each source sequence",
             "소스 시퀀스마다 토큰 수를 셉니다",
             "lengths_kv[b] = number of tokens in source sequence b",
             "lengths_kv[b] = 소스 시퀀스 b의 토큰 수"},
    StepInfo{"padded_kv",
             "pad every source sequence to the length of the longest",
             "모든 소스 시퀀스를 가장 긴 것의 길이까지 패딩합니다",
             "padded_kv[b,t] = source[b][t] if t < lengths_kv[b] else pad_id"},
    StepInfo{"embedded_kv", "look up the vector of each source token",
             "소스 토큰마다 임베딩 벡터를 찾습니다",
             "embedded_kv[b,t,:] = embedding.weight[padded_kv[b,t],:]"},
    StepInfo{"hidden", "the hidden states that go into the layer",
             "이 레이어에 들어오는 은닉 상태입니다",
             "hidden = input of this layer", "hidden = 이 레이어의 입력"},
    StepInfo{"query", "the vectors that become queries", "쿼리가 될 벡터입니다",
             "query: given", "query: 주어진 입력"},
    StepInfo{"key", "the vectors that become keys", "키가 될 벡터입니다",
             "key: given", "key: 주어진 입력"},
    StepInfo{"value", "the vectors that become values", "밸류가 될 벡터입니다",
             "value: given", "value: 주어진 입력"},
    StepInfo{"q", "project to queries: what each token looks for",
             "쿼리로 투영합니다: 각 토큰이 어떤 특징을 찾는지",
             "q = query @ w_q.weight^T + w_q.bias"},
    StepInfo{"k", "project to keys: what each token is found by",
             "키로 투영합니다: 각 토큰이 어떤 특징으로 검색되는지",
             "k = key @ w_k.weight^T + w_k.bias"},
    StepInfo{"v", "project to values: what each token passes on",
             "밸류로 투영합니다: 각 토큰이 어떤 내용을 전달하는지",
             "v = value @ w_v.weight^T + w_v.bias"},
    StepInfo{"q_heads", "split the queries into heads (a view, no copy)",
             "쿼리를 헤드별로 나눕니다(복사 없는 뷰)",
             "q_heads[b,h,i,d] = q[b,i,h*D+d]"},
    StepInfo{"k_heads", "split the keys into heads (a view, no copy)",
             "키를 헤드별로 나눕니다(복사 없는 뷰)",
             "k_heads[b,h,j,d] = k[b,j,h*D+d]"},
    StepInfo{"v_heads", "split the values into heads (a view, no copy)",
             "밸류를 헤드별로 나눕니다(복사 없는 뷰)",
             "v_heads[b,h,j,d] = v[b,j,h*Dv+d]"},
    StepInfo{
        "scores", "compare every query with every key, scaled",
        "모든 쿼리와 모든 키의 내적에 스케일을 적용합니다",
        "scores[b,h,i,j] = scale * sum_d q_heads[b,h,i,d] * k_heads[b,h,j,d]"},
    StepInfo{"capped_scores", "soft cap: no score goes beyond softcap",
             "소프트캡: 점수의 절댓값이 softcap을 넘지 않게 합니다",
             "capped_scores = softcap * tanh(scores / softcap)"},
    StepInfo{"biased_scores", "add the given bias; -inf masks",
             "주어진 바이어스를 더합니다(-inf면 마스킹)",
             "biased_scores = scores + bias"},
    StepInfo{"alibi_scores", "ALiBi: the farther a key, the lower its score",
             "ALiBi: 키가 멀수록 점수를 낮춥니다",
             "alibi_scores[b,h,i,j] = scores[b,h,i,j] - slopes[h] * |i + "
             "query_start - j|"},
};

// The rules' masks come between these two (steps/mask_words.h).
constexpr std::array kStepsAfterMasks = {
    StepInfo{"mask", "the masks combined: True where all of them are",
             "마스크를 모두 합칩니다: 전부 True인 곳만 True입니다",
             "mask = AND of all masks above",
             "mask = 위 마스크를 모두 AND로 결합"},
    StepInfo{"masked_scores", "set masked scores to -inf",
             "마스킹된 위치의 점수를 -inf로 바꿉니다",
             "masked_scores = scores if mask else -inf"},
    StepInfo{"attn_weights", "softmax: each row becomes weights that sum to 1",
             "소프트맥스: 각 행을 합이 1인 가중치로 바꿉니다",
             "attn_weights[b,h,i,:] = softmax(scores[b,h,i,:])"},
    StepInfo{"dropped_weights",
             "dropout: some weights become 0, the others grow",
             "드롭아웃: 일부 가중치를 0으로 만들고 나머지를 그만큼 키웁니다",
             "dropped_weights = attn_weights / (1 - p) if kept else 0",
             "dropped_weights = 유지되면 attn_weights / (1 - p), 아니면 0"},
    StepInfo{
        "context", "sum the values, weighted by the attention weights",
        "어텐션 가중치로 밸류를 가중합합니다",
        "context[b,h,i,d] = sum_j attn_weights[b,h,i,j] * v_heads[b,h,j,d]"},
    StepInfo{"gated", "scale each head by its gate; 0 turns it off",
             "헤드마다 게이트를 곱해 줄이거나 끕니다",
             "gated[b,h,i,d] = head_gates[h] * context[b,h,i,d]"},
    StepInfo{"merged", "concatenate the heads (a view, no copy)",
             "헤드를 다시 이어 붙입니다(복사 없는 뷰)",
             "merged[b,i,h*Dv+d] = context[b,h,i,d]"},
    StepInfo{"output", "project to the output", "출력으로 투영합니다",
             "output = merged @ w_o.weight^T + w_o.bias"},
};

constexpr StepInfo kAdditiveScores{
    "scores", "compare every query with every key through a hidden layer",
    "모든 쿼리와 모든 키를 은닉층 하나로 비교합니다",
    "scores[b,h,i,j] = sum_d w_score.weight[h,d] * tanh(q_heads[b,h,i,d] + "
    "k_heads[b,h,j,d])"};

// Room for all steps, so that none is allocated.
constexpr std::size_t kMostSteps = 64;

struct StepTable {
  std::array<StepInfo, kMostSteps> steps{};
  std::size_t count = 0;

  StepTable() {
    for (const StepInfo& step : kStepsBeforeMasks) {
      add(step);
    }
    for (const internal::MaskWords& mask : internal::mask_words()) {
      add({mask.name, mask.operation_en, mask.operation_ko, mask.formula,
           mask.formula_ko});
    }
    for (const StepInfo& step : kStepsAfterMasks) {
      add(step);
    }
  }
  void add(const StepInfo& step) { steps.at(count++) = step; }
};

}  // namespace

const StepInfo& additive_scores_step() { return kAdditiveScores; }

std::span<const StepInfo> step_table() {
  static const StepTable table;
  return std::span(table.steps).first(table.count);
}

const StepInfo* find_step(std::string_view name) {
  const std::span<const StepInfo> steps = step_table();
  const auto found = std::ranges::find(steps, name, &StepInfo::name);
  return found == steps.end() ? nullptr : &*found;
}

}  // namespace headwise::inline HEADWISE_ABI
