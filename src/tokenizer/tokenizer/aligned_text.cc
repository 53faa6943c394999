#include "tokenizer/aligned_text.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {

void AlignedText::view(std::string_view part, std::uint32_t begin) {
  is_view_ = true;
  viewed_ = part;
  begin_ = begin;
}

Span AlignedText::from(std::size_t begin, std::size_t end) const {
  if (!is_view_) {
    return {from_[begin].begin, from_[end - 1].end};
  }
  while (begin > 0 && continues_character(viewed_[begin])) {
    --begin;
  }
  while (end < viewed_.size() && continues_character(viewed_[end])) {
    ++end;
  }
  return {begin_ + static_cast<std::uint32_t>(begin),
          begin_ + static_cast<std::uint32_t>(end)};
}

void AlignedText::start(const AlignedText& source) {
  is_view_ = false;
  begin_ = source.begin_;
  own_.clear();
  from_.clear();
}

void AlignedText::append(std::string_view bytes, Span from) {
  own_ += bytes;
  from_.resize(own_.size(), from);
}

void AlignedText::append(char32_t code, Span from) {
  if (code < 0x80) {
    own_ += static_cast<char>(code);
    from_.push_back(from);
    return;
  }
  append_character(own_, code);
  from_.resize(own_.size(), from);
}

void AlignedText::append(const AlignedText& source, std::size_t begin,
                         std::size_t end) {
  own_ += source.text().substr(begin, end - begin);
  if (!source.is_view_) {
    from_.insert(from_.end(),
                 source.from_.begin() + static_cast<std::ptrdiff_t>(begin),
                 source.from_.begin() + static_cast<std::ptrdiff_t>(end));
    return;
  }
  std::size_t next = from_.size();
  from_.resize(own_.size());
  while (begin < end) {
    const std::uint32_t at = source.begin_ + static_cast<std::uint32_t>(begin);
    const std::uint32_t bytes =
        first_character(source.viewed_.substr(begin)).bytes;
    if (bytes == 1) {  // most of most texts
      from_[next++] = {at, at + 1};
      ++begin;
      continue;
    }
    for (std::uint32_t n = 0; n < bytes; ++n) {
      from_[next++] = {at, at + bytes};
    }
    begin += bytes;
  }
}

void AlignedText::drop_end(std::string_view end) {
  while (own_.ends_with(end)) {
    own_.resize(own_.size() - end.size());
  }
  from_.resize(own_.size());
}

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

void TextEdit::put_changed(char32_t code, int change) {
  if (change > 0) {
    result_.append(code, copied_ == 0 ? Span{source_.begin(), source_.begin()}
                                      : source_.from(copied_ - 1, copied_));
    return;
  }
  // A text that was cut short by a change before has nothing left to replace.
  if (copied_ < text().size()) {
    result_.append(code, source_.from(copied_, copied_ + 1));
  }
  for (int n = 0; n >= change && copied_ < text().size(); --n) {
    copied_ += first_character(text().substr(copied_)).bytes;
  }
}

bool TextEdit::finish() {
  if (changed_) {
    drop(text().size(), text().size());
  }
  return changed_;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
