#include "tokenizer/tiktoken_families.h"

#include <array>
#include <initializer_list>

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

constexpr std::string_view kEndOfText = "<|endoftext|>";
constexpr std::string_view kBeginOfText = "<|begin_of_text|>";

// Special tokens with consecutive ids.
class SpecialTexts {
 public:
  explicit SpecialTexts(std::uint32_t first) : next_(first) {}

  SpecialTexts& add(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) {
      texts_.push_back({std::string(text), next_++});
    }
    return *this;
  }
  // `before` N `|>`, from `first` on.
  SpecialTexts& number(std::string_view before, std::uint32_t first,
                       std::uint32_t count) {
    for (std::uint32_t n = 0; n < count; ++n) {
      texts_.push_back(
          {std::string(before) + std::to_string(first + n) + "|>", next_++});
    }
    return *this;
  }
  SpecialTexts& skip_to(std::uint32_t id) {
    next_ = id;
    return *this;
  }
  std::vector<SpecialText> take() { return std::move(texts_); }

 private:
  std::uint32_t next_;
  std::vector<SpecialText> texts_;
};

std::vector<SpecialText> gpt2_special() {
  return SpecialTexts(50256).add({kEndOfText}).take();
}

std::vector<SpecialText> cl100k_special() {
  return SpecialTexts(100257)
      .add({kEndOfText, "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"})
      .skip_to(100276)
      .add({"<|endofprompt|>"})
      .take();
}

std::vector<SpecialText> o200k_special() {
  return SpecialTexts(199999)
      .add({kEndOfText})
      .skip_to(200018)
      .add({"<|endofprompt|>"})
      .take();
}

std::vector<SpecialText> llama3_special() {
  return SpecialTexts(128000)
      .add({kBeginOfText, "<|end_of_text|>", "<|reserved_special_token_0|>",
            "<|reserved_special_token_1|>", "<|finetune_right_pad_id|>",
            "<|step_id|>", "<|start_header_id|>", "<|end_header_id|>",
            "<|eom_id|>", "<|eot_id|>", "<|python_tag|>", "<|image|>"})
      .number("<|reserved_special_token_", 2, 244)
      .take();
}

std::vector<SpecialText> llama4_special() {
  constexpr std::string_view kText =
      "<|text_post_train_reserved_special_token_";
  constexpr std::string_view kVision = "<|vision_reserved_special_token_";
  return SpecialTexts(200000)
      .add({kBeginOfText, "<|end_of_text|>", "<|fim_prefix|>", "<|fim_middle|>",
            "<|fim_suffix|>", "<|header_start|>", "<|header_end|>", "<|eom|>",
            "<|eot|>", "<|step|>"})
      .number(kText, 0, 6)
      .add({"<|python_start|>", "<|python_end|>", "<|finetune_right_pad|>"})
      .number(kText, 8, 61)
      .add({"<|image_start|>", "<|image_end|>"})
      .number(kVision, 0, 2)
      .add({"<|tile_x_separator|>", "<|tile_y_separator|>"})
      .number(kVision, 2, 4)
      .add({"<|image|>"})
      .number(kVision, 6, 1)
      .add({"<|patch|>"})
      .number(kVision, 7, 1041)
      .number("<|reasoning_reserved_special_token_", 0, 8)
      .add({"<|reasoning_thinking_start|>", "<|reasoning_thinking_end|>"})
      .number("<|reserved_special_token_", 0, 2048 - 1144)
      .take();
}

std::vector<SpecialText> qwen_special() {
  return SpecialTexts(151643)
      .add({kEndOfText, "<|im_start|>", "<|im_end|>"})
      .number("<|extra_", 0, 205)
      .take();
}

std::vector<SpecialText> qwen35_special() {
  return SpecialTexts(248044)
      .add({kEndOfText,
            "<|im_start|>",
            "<|im_end|>",
            "<|object_ref_start|>",
            "<|object_ref_end|>",
            "<|box_start|>",
            "<|box_end|>",
            "<|quad_start|>",
            "<|quad_end|>",
            "<|vision_start|>",
            "<|vision_end|>",
            "<|vision_pad|>",
            "<|image_pad|>",
            "<|video_pad|>",
            "<tool_call>",
            "</tool_call>",
            "<|fim_prefix|>",
            "<|fim_middle|>",
            "<|fim_suffix|>",
            "<|fim_pad|>",
            "<|repo_name|>",
            "<|file_sep|>",
            "<tool_response>",
            "</tool_response>",
            "<think>",
            "</think>",
            "<|audio_start|>",
            "<|audio_end|>",
            "<tts_pad>",
            "<tts_text_bos>",
            "<tts_text_eod>",
            "<tts_text_bos_single>",
            "<|audio_pad|>"})
      .take();
}

}  // namespace

std::span<const TiktokenFamily> tiktoken_families() {
  static const auto kFamilies = std::to_array<TiktokenFamily>({
      {"r50k_base", 50256, " gazed", kGpt2Pattern, gpt2_special},
      {"p50k_base", 50280, "                         ", kGpt2Pattern,
       gpt2_special},
      {"cl100k_base", 100256, " Conveyor", kCl100kPattern, cl100k_special},
      {"o200k_base", 199998, " cocos", kO200kPattern, o200k_special},
      {"Llama 3", 128000, "\u9526", kLlama3Pattern, llama3_special,
       kBeginOfText},
      {"Llama 4", 200000, "(ge", kO200kPattern, llama4_special, kBeginOfText},
      {"Qwen", 151643, "\u2F57", kQwen2Pattern, qwen_special, {}, true},
      {"Qwen 3.5",
       248044,
       "\u3042\u308A\u307E\u3059\u304B",
       kQwen35Pattern,
       qwen35_special,
       {},
       true},
  });
  return kFamilies;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
