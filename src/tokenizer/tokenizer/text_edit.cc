#include "tokenizer/text_edit.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

void TextEdit::drop(std::size_t begin, std::size_t end) {
  if (!changed_) {
    result_.start(source_);
    changed_ = true;
  }
  if (begin > copied_) {
    result_.append(source_, copied_, begin);
  }
  copied_ = end;
}

void TextEdit::replace(std::size_t begin, std::size_t end, char32_t code) {
  drop(begin, end);
  put(code, source_.from(begin, end));
}

bool TextEdit::finish() {
  if (changed_) {
    drop(source_.text().size(), source_.text().size());
  }
  return changed_;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
