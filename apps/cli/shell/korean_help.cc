// Korean of the help of the program, and of options that several commands have.
#include <array>

#include "translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kHelpTexts = std::to_array<Translation>({
    {"(H, D): w of --scoring additive; D is the size of the hidden layer",
     "(H, D): --scoring additive의 w. D는 은닉층의 크기입니다"},
    {"Examples", "예제"},
    {"Multi-head attention, every step and every head visible.",
     "모든 단계와 모든 헤드를 볼 수 있는 멀티 헤드 어텐션."},
    {"OPTIONS", "옵션"},
    {"Options", "옵션"},
    {"Output", "출력"},
    {"Positionals", "위치 인자"},
    {"REQUIRED", "필수"},
    {"SUBCOMMAND", "명령"},
    {"Subcommands", "명령"},
    {"Usage", "사용법"},
    {"a BERT-family model folder: config.json, vocab.txt, model.safetensors",
     "BERT 계열 모델 폴더(config.json, vocab.txt, model.safetensors)"},
    {"command to explain (default: list the commands)",
     "도움말을 볼 명령(기본값: 명령 목록)"},
    {"language of help and messages (default: from LC_ALL, LC_MESSAGES or "
     "LANG)",
     "도움말과 메시지의 언어(기본값: LC_ALL, LC_MESSAGES, LANG에서 결정)"},
    {"layout of --params: headwise, headwise-causal, torch-mha, "
     "torch-mha-split, bert, distilbert, d2l, d2l-dense, keras, flax (default: "
     "detected)",
     "--params의 레이아웃: headwise, headwise-causal, torch-mha, "
     "torch-mha-split, bert, distilbert, d2l, d2l-dense, keras, flax (기본값: "
     "자동으로 찾음)"},
    {"maximum tokens per text; longer texts are cut (default: the limit set in "
     "the model folder)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값: 모델 폴더에 설정된 값)"},
    {"number of key/value heads (default: --num-heads)",
     "키와 밸류의 헤드 수(기본값: --num-heads)"},
    {"print JSON", "JSON으로 출력합니다"},
    {"print every option", "모든 옵션을 출력합니다"},
    {"print the common options", "자주 쓰는 옵션을 출력합니다"},
    {"print the version", "버전을 출력합니다"},
    {"seconds after which finished work is saved to resume from (default 30)",
     "이어서 실행할 수 있도록 끝난 작업을 저장하는 간격(초, 기본값 30)"},
    {"show the help of a command", "명령의 도움말을 보여 줍니다"},
    {"under mpirun: seconds that a process may stay silent before the job "
     "ends; "
     "one that works is not silent (default 600)",
     "mpirun으로 실행할 때: 프로세스가 응답하지 않아도 되는 가장 긴 시간(초). "
     "일하는 프로세스는 응답합니다(기본값 600)"},
    {"watch a batch go through attention",
     "배치 하나가 어텐션을 거치는 과정 보기"},
});
static_assert(is_sorted(kHelpTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_help() { return kHelpTexts; }

}  // namespace headwise::cli
