// Korean of the help of the options of the operation.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"(B + 1): a ragged batch, tensors (rows, H, D); sequence b has the rows "
     "offsets[b] to offsets[b + 1] - 1",
     "(B + 1): 길이가 다른 시퀀스를 이어 붙인 배치 (rows, H, D). 시퀀스 b는 "
     "offsets[b]부터 offsets[b + 1] 앞까지의 행입니다"},
    {"(B + 1): offsets of the queries, if they differ from those of the keys",
     "(B + 1): 쿼리의 오프셋. 키의 오프셋과 다를 때 지정합니다"},
    {"(B) or (B, Lq): attend to this number of keys, from the first",
     "(B) 또는 (B, Lq): 앞에서부터 볼 수 있는 키의 개수"},
    {"(B): dropout follows these sequence ids, not the position in the batch",
     "(B): 드롭아웃이 배치 안의 위치가 아니라 시퀀스 id를 따릅니다"},
    {"(B): the first key to attend to, for sequences padded on the left",
     "(B): 볼 수 있는 첫 키. 왼쪽에 패딩이 있는 시퀀스용"},
    {"(B, H, Lq, Lkv): attention weights to keep, instead of a random choice; "
     "they are scaled by 1/(1-P)",
     "(B, H, Lq, Lkv): 무작위로 고르는 대신 유지할 어텐션 가중치. 1/(1-P)을 "
     "곱합니다"},
    {"(B, Lkv): non-decreasing document ids; a query attends to its own "
     "document",
     "(B, Lkv): 오름차순(중복 가능) 문서 id. 쿼리는 같은 문서의 키만 봅니다"},
    {"(B, Lkv): positions of the keys (default: row numbers)",
     "(B, Lkv): 키의 위치(기본값: 행 번호)"},
    {"(B, Lkv): true or 1 = may attend, 0 = padding",
     "(B, Lkv): true 또는 1 = 어텐션 가능, 0 = 패딩"},
    {"(B, Lq): document ids of the queries (default: --documents)",
     "(B, Lq): 쿼리의 문서 id(기본값: --documents와 같음)"},
    {"(B, Lq): positions of the queries (default: row numbers from "
     "--query-start)",
     "(B, Lq): 쿼리의 위치(기본값: --query-start부터의 행 번호)"},
    {"(H): one more score per head, with no value, that joins the softmax; "
     "-inf: none",
     "(H): 밸류 없이 소프트맥스에 더해지는 헤드별 점수. -inf: 없음"},
    {"(H): subtract slope * distance from the scores; auto: the usual slopes",
     "(H): 점수에서 기울기 * 거리를 뺍니다. auto: 표준 기울기"},
    {"(Hkv, D): one more key of every sequence, which every query sees; "
     "weights and scores have a column for it",
     "(Hkv, D): 모든 쿼리가 보는, 시퀀스마다 하나 더 두는 키. 가중치와 점수에 "
     "열이 하나 늘어납니다"},
    {"(Hkv, Dv): the value of --bias-k", "(Hkv, Dv): --bias-k의 밸류"},
    {"(buckets, H): T5's relative-position bias; T5 uses --scale 1",
     "(버킷 수, H): T5의 상대 위치 바이어스. T5는 --scale 1을 씁니다"},
    {"(positions, N/2) each: your own cosines and sines",
     "각각 (위치 수, N/2): 직접 만든 코사인과 사인"},
    {"Dropout", "드롭아웃"},
    {"Layer", "레이어"},
    {"Masks (they can be combined)", "마스크(함께 쓸 수 있음)"},
    {"Rotary positions", "로터리 위치"},
    {"Scores", "점수"},
    {"Tensors", "텐서"},
    {"added to the mean square or the variance (default 1e-6)",
     "제곱의 평균이나 분산에 더할 값(기본값 1e-6)"},
    {"axes of --bias, such as H,Lq,Lkv or B,1,Lkv (default: B,H,Lq,Lkv)",
     "--bias의 축. 예: H,Lq,Lkv 또는 B,1,Lkv (기본값: B,H,Lq,Lkv)"},
    {"axes of --mask, such as B,1,Lkv or Lq,Lkv (default: B,H,Lq,Lkv)",
     "--mask의 축. 예: B,1,Lkv 또는 Lq,Lkv (기본값: B,H,Lq,Lkv)"},
    {"axes of the files: bhld (default), or blhd (default with --offsets and "
     "some dialects); B sequences, L tokens, H heads, D features",
     "파일의 축 순서: bhld(기본값) 또는 blhd(--offsets와 일부 방언의 기본값). "
     "B "
     "시퀀스, L 토큰, H 헤드, D 특징"},
    {"dense mask: true or 1 = may attend, 0 = masked",
     "조밀(dense) 마스크: true 또는 1 = 어텐션 가능, 0 = 마스킹"},
    {"distance from which all keys share a bucket of --t5-bias (default 128)",
     "이 거리부터는 모든 키가 --t5-bias의 같은 버킷에 속합니다(기본값 128)"},
    {"drop attention weights with probability P",
     "어텐션 가중치를 확률 P로 드롭아웃합니다"},
    {"factor on q.k (default 1/sqrt(D))",
     "q.k에 곱할 스케일(기본값 1/sqrt(D))"},
    {"features of a head that rotate, an even number (default: all)",
     "헤드에서 회전할 특징의 개수, 짝수(기본값: 전부)"},
    {"for longer sequences: linear:F, ntk:F, yarn:F,ORIGINAL (then "
     "BETA_FAST,BETA_SLOW,TRUNCATE,FACTOR if given) or "
     "llama3:F,LOW,HIGH,ORIGINAL",
     "더 긴 시퀀스를 위한 스케일링: linear:F, ntk:F, yarn:F,ORIGINAL(이어서 "
     "BETA_FAST,BETA_SLOW,TRUNCATE,FACTOR도 가능), llama3:F,LOW,HIGH,ORIGINAL"},
    {"half of the buckets of --t5-bias are for later keys, as in T5's encoder",
     "T5 인코더처럼 --t5-bias 버킷의 절반을 뒤에 오는 키에 씁니다"},
    {"how queries and keys are compared: q.k, or w . tanh(q + k) (default: "
     "dot, or as the parameters require)",
     "쿼리와 키의 비교 방식: q.k 또는 w . tanh(q + k) (기본값: dot 또는 "
     "파라미터에 맞는 방식)"},
    {"key position of query 0 (default 0); bottom-right: align the last query "
     "with the last key; F.npy: (B), one number per sequence",
     "키를 기준으로 한 쿼리 0의 위치(기본값 0). bottom-right: 마지막 쿼리를 "
     "마지막 키에 맞춤. F.npy: (B), 시퀀스마다 하나"},
    {"multiply by 1 + weight, as Gemma does",
     "Gemma처럼 1 + 가중치를 곱합니다"},
    {"number of threads (default: all)", "사용할 스레드 수(기본값: 전부)"},
    {"one more key and value of zeros, which every query sees",
     "모든 쿼리가 보는, 0으로 된 키와 밸류를 하나 더 둡니다"},
    {"output of a query without any key (default zero, or that of --dialect)",
     "볼 수 있는 키가 없는 쿼리의 결과(기본값 zero 또는 --dialect를 따름)"},
    {"prefix of the names in --params, or its beginning (default: detected)",
     "--params의 이름 앞 접두사 또는 그 앞부분(기본값: 자동으로 찾음)"},
    {"query i attends to LEFT keys before i + query start and RIGHT after it "
     "(inf: no limit), and to the first KEEP_FIRST keys (default 0)",
     "쿼리 i는 i + --query-start의 앞 LEFT개와 뒤 RIGHT개 키(inf: 전부), "
     "그리고 "
     "맨 앞 KEEP_FIRST개 키를 봅니다(기본값 0)"},
    {"query i attends to keys up to i + query start",
     "쿼리 i는 키 i + --query-start까지만 봅니다"},
    {"read masks and give results as this library does (see lint-mask --help)",
     "이 라이브러리처럼 마스크를 읽고 결과를 냅니다(이름은 lint-mask --help)"},
    {"replace scores by X * tanh(score / X), before any bias",
     "바이어스를 더하기 전에 점수를 X * tanh(점수 / X)로 바꿉니다"},
    {"rotate queries and keys by their positions; frequencies are powers of "
     "this base (default 10000)",
     "쿼리와 키를 위치에 따라 회전합니다. 주파수는 이 밑의 "
     "거듭제곱입니다(기본값 10000)"},
    {"round the tensors to this type (default: float32) and compute with it; "
     "outputs are float32. 16-bit tensors are read from .safetensors files",
     "텐서를 이 자료형으로 반올림해 계산합니다(기본값: float32). 출력은 "
     "float32입니다. 16비트 텐서는 .safetensors 파일에서 읽습니다"},
    {"seed of the dropout mask (default 0)", "드롭아웃의 시드(기본값 0)"},
    {"values added to the scores; -inf masks", "점수에 더할 값. -inf면 마스킹"},
    {"what is multiplied: float32 (exact, default), or numbers rounded to "
     "bfloat16, added up in float32 (bf16)",
     "곱하는 수: float32(exact, 기본값) 또는 bfloat16으로 반올림한 수"
     "(bf16, 합은 float32)"},
    {"what is normalised: a head's features with weights for all heads "
     "(default) or for each head, or all heads at once",
     "정규화할 범위: 헤드의 특징(가중치는 모든 헤드 공통, 기본값), 헤드마다 "
     "다른 가중치, 또는 모든 헤드를 한꺼번에"},
    {"which features are a pair: p and p + N/2 (default), or 2p and 2p + 1",
     "짝이 되는 특징: p와 p + N/2(기본값), 또는 2p와 2p + 1"},
    {"which norm q_norm.weight and k_norm.weight are of: queries and keys are "
     "normalised before the scores",
     "q_norm.weight와 k_norm.weight가 어느 정규화의 것인지 정합니다. 쿼리와 "
     "키를 점수 계산 전에 정규화합니다"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_operation() { return kTexts; }

}  // namespace headwise::cli
