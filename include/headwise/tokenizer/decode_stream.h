// The text of ids as they are generated, in whole characters:
//
//   DecodeStream stream(tokenizer);
//   for (TokenId id : generated) {
//     std::cout << stream.step(id).value();
//   }
//   std::cout << stream.finish().value();
//
// Joined, the parts are what Tokenizer::decode() makes of all ids. Bytes that
// are not UTF-8 become U+FFFD as soon as no character can come of them. There
// is one difference: decode() gives up a whole run of byte tokens (<0xE6>) that
// is not UTF-8; a stream only the part that it has not yet given.
//
// A step takes as long as its token is, however many came before. A decoder
// that looks at the whole text gives it at the end, in finish(): a regular
// expression after Fuse, for example.
#pragma once

#include <string>

#include "headwise/base/hidden.h"
#include "headwise/base/result.h"
#include "headwise/steps/tokens.h"
#include "headwise/tokenizer/tokenizer.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

class DecodeStream {
 public:
  // The tokenizer must outlive the stream.
  explicit DecodeStream(const Tokenizer& tokenizer,
                        bool skip_special_tokens = true);

  // The text that is new; empty while a character is not whole, and for ids
  // that decode() passes over. Errors: those of decode(); the stream is then at
  // its start.
  Result<std::string> step(TokenId id);
  // The rest of the text. The next step begins another text.
  Result<std::string> finish();

 private:
  struct HEADWISE_HIDDEN State;
  Hidden<State> state_;
};

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
