#include "tokenizer/sentencepiece_model.h"

#include <bit>
#include <cmath>
#include <optional>
#include <unordered_set>

#include "interop/error_text.h"
#include "interop/utf8.h"
#include "tokenizer/protobuf_fields.h"
#include "tokenizer/spec_parts.h"

namespace headwise::inline HEADWISE_ABI::tokenizer {
namespace {

using Field = ProtobufFields::Field;
using Kind = ProtobufFields::Kind;

// Calls `take` with each field; the first false, or bytes that are no field,
// end the reading.
template <class Take>
bool all_fields(std::string_view message, const Take& take) {
  ProtobufFields fields(message);
  Field field;
  while (!fields.done()) {
    if (!fields.next(field) || !take(field)) {
      return false;
    }
  }
  return true;
}

bool take_piece(std::string_view message, ScoredPiece& piece) {
  return all_fields(message, [&](const Field& field) {
    if (field.is(1, Kind::bytes)) {
      piece.text = field.bytes;
    } else if (field.is(2, Kind::fixed32)) {
      piece.score =
          std::bit_cast<float>(static_cast<std::uint32_t>(field.number));
    } else if (field.is(3, Kind::number)) {
      piece.type = static_cast<PieceType>(field.number);
      return field.number >= 1 && field.number <= 6;
    }
    return true;
  });
}

bool take_trainer(std::string_view message, SentencePieceModel& model) {
  return all_fields(message, [&](const Field& field) {
    if (field.is(3, Kind::number)) {
      model.model = static_cast<PieceModel>(field.number);
      return field.number >= 1 && field.number <= 4;
    }
    if (field.is(24, Kind::number)) {
      model.whitespace_as_suffix = field.number != 0;
    } else if (field.is(35, Kind::number)) {
      model.byte_fallback = field.number != 0;
    } else if (field.is(44, Kind::bytes)) {
      model.unk_surface = field.bytes;
    } else if (field.is(46, Kind::bytes)) {
      model.bos = field.bytes;
    } else if (field.is(47, Kind::bytes)) {
      model.eos = field.bytes;
    }
    return true;
  });
}

bool take_normalizer(std::string_view message, SentencePieceModel& model) {
  return all_fields(message, [&](const Field& field) {
    if (field.is(2, Kind::bytes)) {
      model.chars_map = field.bytes;
    } else if (field.is(3, Kind::number)) {
      model.add_dummy_prefix = field.number != 0;
    } else if (field.is(4, Kind::number)) {
      model.remove_extra_whitespaces = field.number != 0;
    } else if (field.is(5, Kind::number)) {
      model.escape_whitespaces = field.number != 0;
    }
    return true;
  });
}

Status check_piece(const ScoredPiece& piece, std::size_t id,
                   const FileSubject& subject) {
  const auto bad = [&](Message given, Message expected = {}) {
    return subject.of_entry(message("piece {}", id).text())
        .bad_data(std::move(given), std::move(expected));
  };
  if (piece.text.empty()) {
    return bad("is empty");
  }
  if (piece.text.size() > kMostTokenBytes) {
    return bad(message("has {} bytes", piece.text.size()),
               message("at most {}", kMostTokenBytes));
  }
  if (!std::isfinite(piece.score)) {
    return bad("has a score that is not finite");
  }
  if (find_invalid_utf8(piece.text)) {
    return bad("is not UTF-8 text");
  }
  return ok();
}

}  // namespace

Result<std::size_t> find_unknown_piece(const std::vector<ScoredPiece>& pieces,
                                       const FileSubject& subject) {
  std::optional<std::size_t> unknown;
  std::unordered_set<std::string_view> texts(pieces.size());
  for (std::size_t id = 0; id < pieces.size(); ++id) {
    HEADWISE_TRY(check_piece(pieces[id], id, subject));
    const auto about = subject.of_entry(message("piece {}", id).text());
    if (!texts.insert(pieces[id].text).second) {
      return about.bad_data(
          message("is \"{}\" again", printable(pieces[id].text)));
    }
    if (pieces[id].type == PieceType::unknown) {
      if (unknown) {
        return about.bad_data(
            message("is for unknown characters, like piece {}", *unknown));
      }
      unknown = id;
    }
  }
  return unknown ? Result(*unknown)
                 : subject.bad_data("has no piece for unknown characters");
}

Result<SentencePieceModel> read_sentencepiece(std::string_view bytes,
                                              const FileSubject& subject) {
  SentencePieceModel model;
  bool denormalizes = false;
  const bool whole = all_fields(bytes, [&](const Field& field) {
    if (field.is(1, Kind::bytes)) {
      return model.pieces.size() < kMostTokens &&
             take_piece(field.bytes, model.pieces.emplace_back());
    }
    if (field.is(2, Kind::bytes)) {
      return take_trainer(field.bytes, model);
    }
    if (field.is(3, Kind::bytes)) {
      return take_normalizer(field.bytes, model);
    }
    if (field.is(5, Kind::bytes)) {
      SentencePieceModel denormalizer;
      const bool taken = take_normalizer(field.bytes, denormalizer);
      denormalizes = !denormalizer.chars_map.empty();
      return taken;
    }
    return true;
  });
  if (!whole) {
    return subject.bad_data("is damaged", "SentencePiece's protobuf");
  }
  HEADWISE_TRY(check_utf8(subject.of_entry("unk_surface"), model.unk_surface));
  if (denormalizes) {
    return subject.error(ErrorCode::unsupported,
                         "has rules for decoded texts (denormalizer_spec)");
  }
  if (model.model == PieceModel::word) {
    return subject.error(ErrorCode::unsupported, "has the model type WORD",
                         "UNIGRAM, BPE or CHAR");
  }
  return model;
}

}  // namespace headwise::inline HEADWISE_ABI::tokenizer
