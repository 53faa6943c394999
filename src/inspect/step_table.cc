#include "headwise/inspect/step_table.h"

#include <algorithm>
#include <array>

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::array kSteps = {
    StepInfo{"lengths", "count the tokens of each sequence",
             "시퀀스마다 토큰이 몇 개인지 셉니다",
             "lengths[b] = number of tokens in sequence b"},
    StepInfo{"padded", "pad every sequence to the length of the longest",
             "모든 시퀀스를 가장 긴 시퀀스의 길이까지 패딩으로 채웁니다",
             "padded[b,t] = tokens[b][t] if t < lengths[b] else pad_id"},
    StepInfo{"embedded", "look up the vector of each token",
             "토큰마다 임베딩 표에서 벡터를 찾아 옵니다",
             "embedded[b,t,:] = embedding.weight[padded[b,t],:]"},
    StepInfo{"lengths_kv", "count the tokens of each source sequence",
             "소스 시퀀스마다 토큰이 몇 개인지 셉니다",
             "lengths_kv[b] = number of tokens in source sequence b"},
    StepInfo{"padded_kv",
             "pad every source sequence to the length of the longest",
             "소스 시퀀스를 가장 긴 것의 길이까지 패딩으로 채웁니다",
             "padded_kv[b,t] = source[b][t] if t < lengths_kv[b] else pad_id"},
    StepInfo{"embedded_kv", "look up the vector of each source token",
             "소스 토큰마다 임베딩 표에서 벡터를 찾아 옵니다",
             "embedded_kv[b,t,:] = embedding.weight[padded_kv[b,t],:]"},
    StepInfo{"hidden", "the hidden states that the model's layer takes",
             "모델의 이 층에 들어오는 은닉 상태입니다",
             "hidden = the vectors that go into this layer"},
    StepInfo{"query", "the vectors that ask", "질문하는 쪽의 벡터입니다",
             "query: given"},
    StepInfo{"key", "the vectors that are looked at",
             "비교의 대상이 되는 벡터입니다", "key: given"},
    StepInfo{"value", "the vectors that are mixed",
             "섞여서 결과가 되는 벡터입니다", "value: given"},
    StepInfo{"q", "project to queries: what each token looks for",
             "쿼리로 투영합니다: 각 토큰이 무엇을 찾는지",
             "q = query @ w_q.weight^T + w_q.bias"},
    StepInfo{"k", "project to keys: what each token offers to be found by",
             "키로 투영합니다: 각 토큰이 무엇으로 찾아지는지",
             "k = key @ w_k.weight^T + w_k.bias"},
    StepInfo{"v", "project to values: what each token hands over",
             "밸류로 투영합니다: 각 토큰이 무엇을 건네는지",
             "v = value @ w_v.weight^T + w_v.bias"},
    StepInfo{"q_heads", "split the queries into heads (a view, no copy)",
             "쿼리를 헤드별로 나눕니다 (복사 없이 보는 방식만 바꿉니다)",
             "q_heads[b,h,i,d] = q[b,i,h*D+d]"},
    StepInfo{"k_heads", "split the keys into heads (a view, no copy)",
             "키를 헤드별로 나눕니다 (복사 없이 보는 방식만 바꿉니다)",
             "k_heads[b,h,j,d] = k[b,j,h*D+d]"},
    StepInfo{"v_heads", "split the values into heads (a view, no copy)",
             "밸류를 헤드별로 나눕니다 (복사 없이 보는 방식만 바꿉니다)",
             "v_heads[b,h,j,d] = v[b,j,h*Dv+d]"},
    StepInfo{"scores", "compare every query with every key, scaled",
             "모든 쿼리를 모든 키와 비교하고 크기를 조정합니다",
             "scores[b,h,i,j] = scale * sum_d q_heads[b,h,i,d] * "
             "k_heads[b,h,j,d]"},
    StepInfo{"capped_scores", "soft cap: no score goes beyond softcap",
             "소프트캡: 점수가 softcap을 넘지 않게 부드럽게 누릅니다",
             "capped_scores = softcap * tanh(scores / softcap)"},
    StepInfo{"biased_scores", "add the bias that was given; -inf masks",
             "직접 준 바이어스를 더합니다; -inf인 곳은 가려집니다",
             "biased_scores = scores + bias"},
    StepInfo{"alibi_scores", "ALiBi: the farther a key, the lower its score",
             "ALiBi: 키가 멀수록 점수를 낮춥니다",
             "alibi_scores[b,h,i,j] = scores[b,h,i,j] - slopes[h] * "
             "|i + query_start - j|"},
    StepInfo{"padding_mask", "padding mask: True where a key is a real token",
             "패딩 마스크: 키가 진짜 토큰인 곳이 True입니다",
             "padding_mask[b,0,0,j] = key j of sequence b is no padding"},
    StepInfo{"causal_mask",
             "no-peek mask: True where the key is not in the future",
             "미래 가리기(no-peek) 마스크: 키가 미래가 아닌 곳이 True입니다",
             "causal_mask[0,0,i,j] = j <= i + query_start"},
    StepInfo{"window_mask", "window mask: True where the key is near the query",
             "윈도 마스크: 키가 쿼리 가까이에 있는 곳이 True입니다",
             "window_mask[0,0,i,j] = p - left <= j <= p + right, "
             "p = i + query_start"},
    StepInfo{"key_starts_mask",
             "left padding mask: True from the first real key on",
             "왼쪽 패딩 마스크: 첫 진짜 키부터 True입니다",
             "key_starts_mask[b,0,0,j] = j >= key_starts[b]"},
    StepInfo{"documents_mask",
             "document mask: True where query and key are of one document",
             "문서 마스크: 쿼리와 키가 같은 문서인 곳이 True입니다",
             "documents_mask[b,0,i,j] = query_ids[b,i] == key_ids[b,j]"},
    StepInfo{"key_lengths_mask", "length mask: True for the keys that count",
             "길이 마스크: 유효한 키가 True입니다",
             "key_lengths_mask[b,0,i,j] = j < key_lengths[b] (or [b,i])"},
    StepInfo{"dense_mask", "the mask that was given, True = attend",
             "직접 준 마스크: True가 주목할 곳입니다", "dense_mask: given"},
    StepInfo{"mask", "the masks combined: True where all of them are",
             "마스크를 모두 합칩니다: 전부 True인 곳만 True입니다",
             "mask = all of the masks above, joined by AND"},
    StepInfo{"masked_scores", "masked places become -inf",
             "가려진 자리를 -inf로 바꿉니다",
             "masked_scores = scores if mask else -inf"},
    StepInfo{"attn_weights", "softmax: each row becomes shares that sum to 1",
             "소프트맥스: 각 행이 합이 1인 비율이 됩니다",
             "attn_weights[b,h,i,:] = softmax(scores[b,h,i,:])"},
    StepInfo{"dropped_weights",
             "dropout: some weights become 0, the others grow",
             "드롭아웃: 일부 가중치를 0으로 만들고 나머지를 키웁니다",
             "dropped_weights = attn_weights / (1 - p) if kept else 0"},
    StepInfo{"context", "mix the values by the attention weights",
             "어텐션 가중치로 밸류를 섞습니다",
             "context[b,h,i,d] = sum_j attn_weights[b,h,i,j] * "
             "v_heads[b,h,j,d]"},
    StepInfo{"gated", "turn each head down or off by its gate",
             "각 헤드를 게이트로 줄이거나 끕니다",
             "gated[b,h,i,d] = head_gates[h] * context[b,h,i,d]"},
    StepInfo{"merged", "put the heads side by side again (a view, no copy)",
             "헤드를 다시 나란히 이어 붙입니다 (복사 없음)",
             "merged[b,i,h*Dv+d] = context[b,h,i,d]"},
    StepInfo{"output", "project to the output", "출력으로 투영합니다",
             "output = merged @ w_o.weight^T + w_o.bias"},
};

constexpr StepInfo kAdditiveScores{
    "scores", "compare every query with every key through a hidden layer",
    "모든 쿼리를 모든 키와 은닉층 하나를 거쳐 비교합니다",
    "scores[b,h,i,j] = sum_d w_score.weight[h,d] * tanh(q_heads[b,h,i,d] + "
    "k_heads[b,h,j,d])"};

}  // namespace

const StepInfo& additive_scores_step() { return kAdditiveScores; }

std::span<const StepInfo> step_table() { return kSteps; }

const StepInfo* find_step(std::string_view name) {
  const auto* found = std::ranges::find(kSteps, name, &StepInfo::name);
  return found == kSteps.end() ? nullptr : found;
}

}  // namespace headwise::inline HEADWISE_ABI
