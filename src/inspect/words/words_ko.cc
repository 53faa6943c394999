#include "inspect/words/words.h"

namespace headwise::inline HEADWISE_ABI {

constexpr Words kKoreanWords = {
    .steps =
        {.lengths = "시퀀스마다 토큰 수를 셉니다",
         .padded = "모든 시퀀스를 가장 긴 시퀀스의 길이까지 패딩합니다",
         .embedded = "토큰마다 임베딩 벡터를 찾습니다",
         .lengths_kv = "소스 시퀀스마다 토큰 수를 셉니다",
         .padded_kv = "모든 소스 시퀀스를 가장 긴 것의 길이까지 패딩합니다",
         .embedded_kv = "소스 토큰마다 임베딩 벡터를 찾습니다",
         .hidden = "이 레이어에 들어오는 은닉 상태입니다",
         .query = "쿼리가 될 벡터입니다",
         .key = "키가 될 벡터입니다",
         .value = "밸류가 될 벡터입니다",
         .q = "쿼리로 투영합니다: 각 토큰이 어떤 특징을 찾는지",
         .k = "키로 투영합니다: 각 토큰이 어떤 특징으로 검색되는지",
         .v = "밸류로 투영합니다: 각 토큰이 어떤 내용을 전달하는지",
         .v_not_projected = "밸류 투영이 없습니다: 밸류를 그대로 씁니다",
         .q_heads = "쿼리를 헤드별로 나눕니다(복사 없는 뷰)",
         .k_heads = "키를 헤드별로 나눕니다(복사 없는 뷰)",
         .v_heads = "밸류를 헤드별로 나눕니다(복사 없는 뷰)",
         .q_normed = "쿼리의 특징을 정규화하고 스케일을 곱합니다",
         .k_normed = "키도 같은 방식으로 정규화합니다",
         .q_rotated = "쿼리의 특징을 두 개씩 짝지어 위치에 비례하는 각도만큼 "
                      "회전합니다",
         .k_rotated = "키도 같은 방식으로 회전합니다",
         .scores = "모든 쿼리와 모든 키의 내적에 스케일을 적용합니다",
         .additive_scores = "모든 쿼리와 모든 키를 은닉층 하나로 비교합니다",
         .capped_scores =
             "소프트캡: 점수의 절댓값이 softcap을 넘지 않게 합니다",
         .biased_scores = "주어진 바이어스를 더합니다(-inf면 마스킹)",
         .t5_scores = "T5: 키의 상대 위치가 속한 버킷의 값을 더합니다",
         .alibi_scores = "ALiBi: 키가 멀수록 점수를 낮춥니다",
         .mask = "마스크를 모두 합칩니다: 전부 True인 곳만 True입니다",
         .masked_scores = "마스킹된 위치의 점수를 -inf로 바꿉니다",
         .sinks = "싱크: 헤드마다 밸류가 없는 점수를 하나씩 더 둡니다",
         .attn_weights = "소프트맥스: 각 행을 합이 1인 가중치로 바꿉니다",
         .attn_weights_with_sinks =
             "점수와 싱크에 소프트맥스를 적용하고 싱크의 가중치는 뺍니다",
         .dropped_weights =
             "드롭아웃: 일부 가중치를 0으로 만들고 나머지를 그만큼 키웁니다",
         .context = "어텐션 가중치로 밸류를 가중합합니다",
         .gated = "헤드마다 게이트를 곱합니다(0이면 헤드를 끕니다)",
         .merged = "헤드를 다시 이어 붙입니다(복사 없는 뷰)",
         .output = "출력으로 투영합니다",
         .output_not_projected =
             "출력 투영이 없습니다: 이어 붙인 헤드가 그대로 출력입니다"},
    .formulas = {.given = "주어진 입력",
                 .token_count = "시퀀스 b의 토큰 수",
                 .source_token_count = "소스 시퀀스 b의 토큰 수",
                 .layer_input = "이 레이어의 입력",
                 .layer_output = "레이어 {0}의 출력",
                 .all_masks = "위 마스크를 모두 AND로 결합",
                 .if_kept = "유지되면 {0}, 아니면 0"},
    .pictures = {
        .query = "쿼리",
        .key = "키",
        .layer = "레이어 {0}",
        .head = "헤드 {0}",
        .layer_head = "레이어 {0} 헤드 {1}",
        .attention_weight = "어텐션 가중치",
        .weight_axes = "어텐션 가중치(행은 쿼리, 열은 키)",
        .masked = "마스킹됨",
        .pruned = "가지치기됨",
        .removed = "제거됨",
        .largest = "최댓값",
        .root_scale = "색은 가중치의 제곱근에 비례",
        .own_root_scale = "헤드별 최댓값 기준, 색은 가중치의 제곱근에 비례",
        .linear_scale = "색은 최솟값부터 최댓값까지 값에 비례",
        .no_head_has_value = "값이 있는 헤드가 없음",
        .head_scores = "값이 있는 헤드: {0}개. 레이어: {1}개. 최솟값: {2}. "
                       "최댓값: {3}.",
        .heads_removed = "제거한 헤드 수",
        .accuracy = "정확도 (%)",
        .no_points = "데이터 없음"}};

}  // namespace headwise::inline HEADWISE_ABI
