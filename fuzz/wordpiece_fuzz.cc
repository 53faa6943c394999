// Any bytes are a sentence or an error. The first byte chooses the settings,
// the rest is the sentence. Ids and offsets must hold what wordpiece.h says of
// them, and cutting must leave the front as it was.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "headwise/models/vocabulary.h"

namespace {

using headwise::ByteSpan;
using headwise::EncodedSentence;
using headwise::WordPiece;

void require(bool holds) {
  if (!holds) {
    std::abort();
  }
}

headwise::Vocabulary small_vocabulary() {
  return headwise::parse_vocabulary(
             "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##a\n##b\nab\n##bab\n!"
             "\n"
             "\u00E9\n##\u0301\n\u4E2D\n##\u4E2D\n\u1112\n##\u1161\n##\u302E\n",
             "fuzz")
      .value();
}

void check(const EncodedSentence& encoded, std::size_t bytes) {
  const auto& [ids, offsets, cut] = encoded;
  require(ids.size() >= 2 && ids.size() == offsets.size());
  require(ids.front() == 2 && ids.back() == 3);
  require(offsets.front() == ByteSpan{} && offsets.back() == ByteSpan{});
  ByteSpan before;
  for (std::size_t t = 1; t + 1 < ids.size(); ++t) {
    require(ids[t] >= 0 && ids[t] < 19);
    require(offsets[t].begin < offsets[t].end && offsets[t].end <= bytes);
    // Tokens of one decomposed character have its bytes in common.
    require(before.begin <= offsets[t].begin && before.end <= offsets[t].end);
    before = offsets[t];
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size == 0) {
    return 0;
  }
  static const headwise::Vocabulary kVocabulary = small_vocabulary();
  const unsigned choice = data[0];
  const std::string_view sentence(reinterpret_cast<const char*>(data) + 1,
                                  size - 1);
  headwise::WordPieceOptions options{
      .do_lower_case = (choice & 1) != 0,
      .tokenize_chinese_chars = (choice & 2) != 0,
      .special_tokens_in_text = (choice & 4) != 0};
  if ((choice & 8) != 0) {
    options.strip_accents = (choice & 16) != 0;
  }
  const WordPiece wordpiece(kVocabulary, options);
  const auto whole = wordpiece.encode(sentence, size + 5'000'000);
  if (!whole) {
    require(whole.error().code() == headwise::ErrorCode::bad_data);
    return 0;
  }
  check(*whole, sentence.size());
  require(whole->cut == 0);
  const std::size_t most = 2 + (choice >> 5);
  const auto part = wordpiece.encode(sentence, most).value();
  check(part, sentence.size());
  require(part.ids.size() == std::min(most, whole->ids.size()));
  require(part.ids.size() + part.cut == whole->ids.size());
  require(std::equal(part.ids.begin(), part.ids.end() - 1, whole->ids.begin()));
  return 0;
}
