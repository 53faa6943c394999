// Korean of the help of the command in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"(B, Hkv, Lkv, D)", "(B, Hkv, Lkv, D)"},
    {"(B, Hkv, Lkv, Dv)", "(B, Hkv, Lkv, Dv)"},
    {"(B, Hkv, P, D): keys of P tokens before those of --key; the default of "
     "--query-start is then P",
     "(B, Hkv, P, D): --key의 토큰보다 앞선 토큰 P개의 키. 이때 "
     "--query-start의 기본값은 P입니다"},
    {"(B, Hkv, P, Dv): values of these tokens",
     "(B, Hkv, P, Dv): 이 토큰들의 밸류"},
    {"(B, Hq, Lq, D), or (Hq, Lq, D)", "(B, Hq, Lq, D) 또는 (Hq, Lq, D)"},
    {"--scores-out has the scores of raw q.k (default), after the softcap, "
     "after biases and masks, or after the softmax",
     "--scores-out에 저장할 점수: q.k 그대로(기본값), 소프트캡 뒤, 바이어스와 "
     "마스크 뒤, 소프트맥스 뒤"},
    {"Axes: B sequences, Hq = H query heads, Hkv key/value heads, Lq queries, "
     "Lkv keys\n(with --offsets those of the longest sequence), D and Dv the "
     "head sizes of\nquery/key and value, E the size of a token's vector. "
     "Without B: one sequence.",
     "축: B는 시퀀스 수, Hq = H는 쿼리 헤드 수, Hkv는 키·밸류 헤드 수, Lq는 "
     "쿼리 수,\nLkv는 키 수(--offsets를 쓰면 가장 긴 시퀀스 기준), D는 쿼리·키 "
     "헤드의 크기, Dv는\n밸류 헤드의 크기, E는 토큰 벡터의 크기입니다. B가 "
     "없으면 시퀀스가 하나입니다."},
    {"Gradients", "그래디언트"},
    {"Keys and values of earlier tokens", "이전 토큰의 키와 밸류"},
    {"Several processes", "여러 프로세스"},
    {"gradient of the loss with respect to the attention weights, with the "
     "shape of --attn-weights",
     "어텐션 가중치에 대한 손실의 그래디언트. --attn-weights와 모양이 "
     "같습니다"},
    {"gradient of the loss with respect to the output, with its shape",
     "출력에 대한 손실의 그래디언트. 출력과 모양이 같습니다"},
    {"layer of --params (default 0)", "--params의 레이어(기본값 0)"},
    {"number of heads", "헤드 수"},
    {"per head (default), their mean (B, Lq, Lkv), or after dropout",
     "헤드별(기본값), 헤드의 평균 (B, Lq, Lkv) 또는 드롭아웃을 적용한 값"},
    {"queries at a time, 1: token by token (default: all); needs --causal or "
     "--window LEFT,0",
     "한 번에 처리할 쿼리 수. 1이면 토큰을 하나씩 처리합니다(기본값: 전부). "
     "--causal 또는 --window LEFT,0이 필요합니다"},
    {"run a layer with the parameters in a folder of .npy files, a .npz or a "
     ".safetensors: w_q.weight, w_q.bias, the same for w_k, w_v and w_o, "
     "w_score.weight for additive scoring, q_norm.weight and k_norm.weight for "
     "--qk-norm, and bias_k and bias_v of an added key; query, key and value "
     "are then (B, L, E)",
     "레이어를 실행합니다: w_q.weight, w_q.bias와 w_k, w_v, w_o의 같은 이름, "
     "가산 점수의 w_score.weight, --qk-norm의 q_norm.weight와 k_norm.weight, "
     "더하는 키의 bias_k와 bias_v. .npy 폴더, .npz 또는 .safetensors. 이때 "
     "쿼리, 키, 밸류는 (B, L, E)입니다"},
    {"run attention on your own tensors (.npy)",
     "내 텐서(.npy)로 어텐션을 계산합니다"},
    {"run the call through a cache of keys and values; the last query is then "
     "at the last key",
     "키와 밸류의 캐시를 거쳐 계산합니다. 이때 마지막 쿼리가 마지막 키의 "
     "위치에 있습니다"},
    {"tokens per page of --cache paged: 16, 32 or a multiple of 64 (default "
     "128)",
     "--cache paged의 페이지당 토큰 수: 16, 32 또는 64의 배수(기본값 128)"},
    {"type of the cached numbers (default float32)",
     "캐시에 저장하는 수의 자료형(기본값 float32)"},
    {"under mpirun: divide the call among the processes by tokens (context), "
     "by heads, or as headwise plan would (auto); the files are those of one "
     "process",
     "mpirun으로 실행할 때, 계산을 토큰이나 헤드로, 또는 둘 중 알맞은 "
     "쪽으로(auto) 프로세스에 나눕니다. 저장되는 파일은 프로세스가 하나일 때와 "
     "같습니다"},
    {"with --parallel: seconds that a process may stay silent before the job "
     "ends; one that computes, or reads or writes files, is not silent "
     "(default "
     "600)",
     "--parallel에서: 프로세스가 응답하지 않아도 되는 가장 긴 시간(초). "
     "계산하거나 "
     "파일을 읽고 쓰는 프로세스는 응답합니다(기본값 600)"},
    {"write past and new keys and values to this folder: key.npy and "
     "value.npy, for --past-key and --past-value of the next call",
     "이전과 새 토큰의 키와 밸류를 이 폴더의 key.npy와 value.npy에 저장합니다. "
     "다음 호출의 --past-key와 --past-value로 쓸 수 있습니다"},
    {"write the attention weights (B, H, Lq, Lkv)",
     "어텐션 가중치 (B, H, Lq, Lkv)를 저장합니다"},
    {"write the gradients to this folder: d_query.npy, d_key.npy, d_value.npy, "
     "d_bias.npy, d_t5_bias.npy, d_alibi.npy, d_sinks.npy, d_bias_k.npy, "
     "d_bias_v.npy and those of the parameters, such as d_w_q.weight.npy",
     "d_query.npy, d_key.npy, d_value.npy, d_bias.npy, d_t5_bias.npy, "
     "d_alibi.npy, d_sinks.npy, d_bias_k.npy, d_bias_v.npy와 d_w_q.weight.npy "
     "같은 파라미터의 그래디언트를 이 폴더에 저장합니다"},
    {"write the log-sum-exp of the scores (B, H, Lq), natural log",
     "점수의 log-sum-exp (B, H, Lq)를 자연로그로 저장합니다"},
    {"write the output, in the layout of the query",
     "출력을 쿼리와 같은 축 순서로 저장합니다"},
    {"write the scores (B, H, Lq, Lkv)", "점수 (B, H, Lq, Lkv)를 저장합니다"},
    {"write which attention weights --dropout kept (B, H, Lq, Lkv), true = "
     "kept; --keep-mask reads it",
     "--dropout이 유지한 어텐션 가중치 (B, H, Lq, Lkv)를 저장합니다(true = "
     "유지). --keep-mask로 다시 읽을 수 있습니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_run() { return kTexts; }

}  // namespace headwise::cli
