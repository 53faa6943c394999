#include "words.h"

#include <cstdlib>

namespace headwise::cli {
namespace {

struct Pair {
  Word word;
  std::string_view en;
  std::string_view ko;
};

constexpr std::array kWords = {
    Pair{Word::title_tokens,
         "{0} sequences of token ids (vocabulary {1}) attend to themselves: "
         "{2}, embed_dim {3}.",
         "토큰 시퀀스 {0}개가 (어휘 {1}개) 자기 자신에 주목합니다: "
         "{2}, embed_dim {3}."},
    Pair{Word::title_one,
         "One sequence of token ids (vocabulary {1}) attends to itself: "
         "{2}, embed_dim {3}.",
         "토큰 시퀀스 하나가 (어휘 {1}개) 자기 자신에 주목합니다: "
         "{2}, embed_dim {3}."},
    Pair{Word::title_cross_one,
         "One target sequence (queries) attends to one source sequence (keys "
         "and values), vocabulary {1}: {2}, embed_dim {3}.",
         "타깃 시퀀스 하나(쿼리)가 소스 시퀀스 하나(키와 밸류)에 주목합니다, "
         "어휘 {1}개: {2}, embed_dim {3}."},
    Pair{Word::title_cross,
         "{0} target sequences (queries) attend to {0} source sequences (keys "
         "and values), vocabulary {1}: {2}, embed_dim {3}.",
         "타깃 시퀀스 {0}개(쿼리)가 소스 시퀀스 {0}개(키와 밸류)에 주목합니다, "
         "어휘 {1}개: {2}, embed_dim {3}."},
    Pair{Word::title_vectors,
         "Queries attend to keys and values, all given as vectors (batch of "
         "{0}): {2}, embed_dim {3}.",
         "쿼리가 키와 밸류에 주목합니다, 모두 벡터로 주어집니다 (배치 {0}개): "
         "{2}, embed_dim {3}."},
    Pair{Word::title_unbatched,
         "The queries of one sequence attend to its keys and values, given as "
         "vectors without a batch: {2}, embed_dim {3}.",
         "시퀀스 하나의 쿼리가 키와 밸류에 주목합니다, 배치 없이 벡터로 "
         "주어집니다: {2}, embed_dim {3}."},
    Pair{Word::title_sentence, "Sentence: \"{}\"", "문장: \"{}\""},
    Pair{Word::title_layer,
         "Model {0}: layer {1} of {2} (counted from 0), {3}, embed_dim {4}.",
         "모델 {0}: 층 {2}개 가운데 {1}번 (0번부터), {3}, embed_dim {4}."},
    Pair{Word::tokens_and_ids,
         "Its {0} tokens, each behind its id (vocabulary {1}):",
         "토큰 {0}개, 각각 id 뒤에 있습니다 (어휘 {1}개):"},
    Pair{Word::cut_tokens,
         "{0} more did not fit in the model's {1} tokens and were left out.",
         "토큰 {0}개는 모델의 최대 길이 {1}개를 넘어 뺐습니다."},
    Pair{Word::heads, "{} head(s)", "헤드 {}개"},
    Pair{Word::grouped_heads, "{} heads of queries, {} of keys and values",
         "쿼리 헤드 {}개, 키와 밸류 헤드 {}개"},
    Pair{Word::max_length, "Maximum sequence length: {}",
         "최대 시퀀스 길이: {}"},
    Pair{Word::max_target_length, "Maximum target sequence length: {}",
         "최대 타깃 시퀀스 길이: {}"},
    Pair{Word::max_source_length, "Maximum source sequence length: {}",
         "최대 소스 시퀀스 길이: {}"},
    Pair{Word::shape, "shape", "모양"},
    Pair{Word::no_range, "no finite number", "유한한 수 없음"},
    Pair{Word::range, "min {}, max {}", "최솟값 {}, 최댓값 {}"},
    Pair{Word::masked, "{} of {} masked ({:.1f} %)",
         "{1}개 가운데 {0}개 가려짐 ({2:.1f} %)"},
    Pair{Word::allowed, "{} of {} may attend ({:.1f} %)",
         "{1}개 가운데 {0}개 주목 가능 ({2:.1f} %)"},
    Pair{Word::has_nan, "{} NaN", "NaN {}개"},
    Pair{Word::scale, "scale = {:.6g}", "scale = {:.6g}"},
    Pair{Word::softcap, "softcap = {:.6g}", "softcap = {:.6g}"},
    Pair{Word::dropout, "p = {:.6g}, {} of {} dropped",
         "p = {:.6g}, {2}개 가운데 {1}개 버림"},
    Pair{Word::shapes_only, "Shapes only: nothing was computed.",
         "모양만 보여 줍니다: 계산은 하지 않았습니다."},
    Pair{Word::axes,
         "Axes: B batch, L tokens, Lq queries, Lkv keys, H heads, D size of a "
         "query or key head,\nDv size of a value head, E embed_dim; 1 = the "
         "same along this axis (broadcast).",
         "축: B 배치, L 토큰, Lq 쿼리, Lkv 키, H 헤드, D 쿼리·키 헤드 하나의 "
         "크기,\nDv 밸류 헤드 하나의 크기, E embed_dim; 1 = 이 축을 따라 모두 "
         "같음(브로드캐스트)."},
    Pair{
        Word::grouped_axis,
        "Hkv heads of keys and values: head h of the queries reads head "
        "floor(h/{}).",
        "Hkv 키와 밸류 헤드: 쿼리의 h번 헤드는 floor(h/{})번 헤드를 읽습니다."},
    Pair{Word::token_axes,
         "Tables of tokens: a row is the token that asks (query), a column one "
         "that it\nlooks at (key). --step attn_weights prints the whole table "
         "of every head.",
         "토큰 표: 행은 질문하는 토큰(쿼리), 열은 그 토큰이 보는 "
         "토큰(키)입니다.\n--step attn_weights는 모든 헤드의 표를 전부 "
         "보여 줍니다."},
    Pair{Word::no_out_proj,
         "no output projection: the merged heads are the output",
         "출력 투영이 없습니다: 이어 붙인 헤드가 그대로 출력입니다"},
    Pair{Word::no_value_proj, "no value projection: the values as they are",
         "밸류 투영이 없습니다: 밸류를 그대로 씁니다"},
    Pair{Word::heads_title, "Attention weights of every head, sequence {}",
         "모든 헤드의 어텐션 가중치, 시퀀스 {}"},
    Pair{Word::heads_title_sentence,
         "Attention weights of every head, layer {}: {}",
         "모든 헤드의 어텐션 가중치, {}번 층: {}"},
    Pair{Word::padding_label, "(pad)", "(패딩)"},
    Pair{Word::padding_bar, "padding", "패딩"},
    Pair{Word::padding_unit, "sequences", "시퀀스"},
};

// In the order of the enum, and none is missing: checked while compiling.
consteval bool complete() {
  if (kWords.size() != static_cast<std::size_t>(Word::count)) {
    return false;
  }
  for (std::size_t n = 0; n < kWords.size(); ++n) {
    if (kWords[n].word != static_cast<Word>(n) || kWords[n].en.empty() ||
        kWords[n].ko.empty()) {
      return false;
    }
  }
  return true;
}
static_assert(complete());

}  // namespace

std::string_view text_of(Word word, Language language) {
  const Pair& pair = kWords[static_cast<std::size_t>(word)];
  return language == Language::ko ? pair.ko : pair.en;
}

Language language_of_environment() {
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') {
      // "ko", "ko_KR.UTF-8"; "kok" is Konkani.
      const std::string_view locale(value);
      return locale.substr(0, locale.find_first_of("_.@")) == "ko"
                 ? Language::ko
                 : Language::en;
    }
  }
  return Language::en;
}

}  // namespace headwise::cli
