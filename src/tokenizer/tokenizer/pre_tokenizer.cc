#include "tokenizer/pre_tokenizer.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "interop/error_text.h"
#include "tokenizer/byte_level_words.h"
#include "tokenizer/character_words.h"
#include "tokenizer/metaspace_words.h"
#include "tokenizer/pattern_words.h"
#include "tokenizer/shared_keys.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Made = Result<std::unique_ptr<PreTokenizer>>;

struct PreTokenizerType {
  std::string_view name;
  Made (*read)(const JsonPart& part, ByteLevelEnd end);
};
const std::array<PreTokenizerType, 12>& pre_tokenizer_types();

constexpr std::string_view kSequence = "Sequence";
constexpr std::string_view kByteLevel = "ByteLevel";
constexpr std::string_view kSteps = "pretokenizers";

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(
      std::vector<std::unique_ptr<PreTokenizer>> steps)
      : steps_(std::move(steps)) {}

  Status apply(PieceList& pieces) const override {
    for (const auto& step : steps_) {
      HEADWISE_TRY(step->apply(pieces));
    }
    return ok();
  }

 private:
  std::vector<std::unique_ptr<PreTokenizer>> steps_;
};

Made read_sequence(const JsonPart& part, ByteLevelEnd end) {
  HEADWISE_ASSIGN(const auto parts, part.list(kSteps));
  std::vector<std::unique_ptr<PreTokenizer>> steps;
  for (const JsonPart& step : parts) {
    HEADWISE_ASSIGN(auto made, read_pre_tokenizer(step, end));
    if (!made) {
      return step.fault("is null", "a pre-tokenizer");
    }
    steps.push_back(std::move(made));
  }
  return Made(std::make_unique<PreTokenizerSequence>(std::move(steps)));
}

// A step that has no use for ByteLevelEnd.
template <Made (*read)(const JsonPart& part)>
Made read_words(const JsonPart& part, ByteLevelEnd /*end*/) {
  return read(part);
}

const std::array<PreTokenizerType, 12>& pre_tokenizer_types() {
  static constexpr std::array<PreTokenizerType, 12> kTypes = {
      {{"BertPreTokenizer", read_words<read_bert_words>},
       {kByteLevel, read_byte_level_words},
       {"CharDelimiterSplit", read_words<read_delimited_words>},
       {"Digits", read_words<read_digit_words>},
       {"FixedLength", read_words<read_fixed_length_words>},
       {"Metaspace", read_words<read_metaspace_words>},
       {"Punctuation", read_words<read_punctuation_words>},
       {kSequence, read_sequence},
       {"Split", read_words<read_split_words>},
       {"UnicodeScripts", read_words<read_script_words>},
       {"Whitespace", read_words<read_whitespace_words>},
       {"WhitespaceSplit", read_words<read_spaced_words>}}};
  return kTypes;
}

}  // namespace

bool ends_with_byte_level(const JsonPart& part) {
  const auto steps = sequence_parts(part, kSteps);
  std::vector<std::string> types;
  for (const JsonPart& step : steps ? *steps : std::vector<JsonPart>()) {
    if (!step.get("type", types.emplace_back())) {
      return false;
    }
  }
  return !types.empty() && types.back() == kByteLevel &&
         std::ranges::count(types, kByteLevel) == 1;
}

Result<std::unique_ptr<PreTokenizer>> read_pre_tokenizer(const JsonPart& part,
                                                         ByteLevelEnd end) {
  if (!part.exists()) {
    return std::unique_ptr<PreTokenizer>();
  }
  HEADWISE_ASSIGN(const auto type, part.type());
  const auto& types = pre_tokenizer_types();
  const auto found =
      std::ranges::find(types, std::string_view(type), &PreTokenizerType::name);
  if (found == types.end()) {
    return part.unexpected(
        "type",
        Message::verbatim(list_text(types, ", ", &PreTokenizerType::name)),
        ErrorCode::unsupported);
  }
  return found->read(part, end);
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
