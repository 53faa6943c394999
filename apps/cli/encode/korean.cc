// Korean of the help of the commands in this room.
#include <array>

#include "shell/translation_tables.h"

namespace headwise::cli {
namespace {

constexpr auto kTexts = std::to_array<Translation>({
    {"Each line of FILE is one text. Each line of the result has the label, "
     "its\nprobability and the text, separated by tabs, in the order of FILE. "
     "Train DIR\nwith: headwise train --model MODEL --data examples.tsv --out "
     "DIR",
     "FILE은 한 줄에 텍스트 하나입니다. 결과의 각 줄은 레이블, 확률, 텍스트를 "
     "탭으로\n구분하며 FILE의 순서와 같습니다. DIR은 이렇게 "
     "학습합니다:\nheadwise train --model MODEL --data examples.tsv --out DIR"},
    {"Under mpirun the processes divide the sentences; the file is the same. "
     "Each\nneeds the input files and the folder of --out.\nTo resume an "
     "interrupted run, run the same command again. Until the run ends,\n"
     "finished embeddings are in the folder FILE.npy.partial.",
     "mpirun으로 실행하면 프로세스들이 문장을 나누며, 파일은 같습니다. 모든 "
     "프로세스가\n입력 파일과 --out의 폴더를 볼 수 있어야 합니다.\n중단된 "
     "실행은 "
     "같은 명령을 다시 실행하면 이어집니다. 끝날 때까지 임베딩은\n"
     "FILE.npy.partial 폴더에 있습니다."},
    {"a model folder with a classifier, from headwise train --model",
     "headwise train --model이 저장한, 분류기가 있는 모델 폴더"},
    {"add a header line and one probability column per label",
     "헤더 줄과 레이블별 확률 열을 추가합니다"},
    {"maximum tokens per text; longer texts are cut (default and maximum: the "
     "model's limit)",
     "텍스트의 최대 토큰 수. 넘으면 자릅니다(기본값이자 최댓값: 모델의 최대 "
     "토큰 수)"},
    {"one sentence per line (default -: standard input)",
     "한 줄에 문장 하나(기본값 -: 표준 입력)"},
    {"one text per line (default -: standard input)",
     "한 줄에 텍스트 하나(기본값 -: 표준 입력)"},
    {"predict the labels of texts", "텍스트의 레이블을 예측합니다"},
    {"print one JSON object per line, with the probabilities of all labels",
     "한 줄에 JSON 객체 하나씩, 모든 레이블의 확률과 함께 출력합니다"},
    {"print one line of JSON per sentence", "문장마다 JSON 한 줄을 출력합니다"},
    {"turn sentences into embeddings with a model",
     "모델로 문장을 임베딩으로 변환합니다"},
    {"write the embeddings: (sentences, size)",
     "임베딩 (문장 수, 임베딩 크기)를 저장합니다"},
    {"write the result to this file (default: print it)",
     "결과를 이 파일에 저장합니다(기본값: 출력)"},
});
static_assert(is_sorted(kTexts), "sort the rows by their English");

}  // namespace

std::span<const Translation> korean_encode() { return kTexts; }

}  // namespace headwise::cli
