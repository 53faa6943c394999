#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/out_of_memory.h"
#include "distribute/call_digest.h"
#include "distribute/copy_rows.h"
#include "distribute/one_type.h"
#include "distribute/or_abort.h"
#include "distribute/visible_work.h"
#include "headwise/base/tensor.h"
#include "headwise/distribute/context_cache.h"
#include "headwise/steps/offsets.h"
#include "steps/call_part.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

constexpr std::string_view kSequenceDecode = "decode_sequences";

// Rows of a call: of one sequence in a ragged batch, or one place of the batch.
template <class T>
TensorView<T, 4> sequence_rows(TensorView<T, 4> tensor, std::size_t n,
                               TensorView<const std::int64_t, 1> offsets) {
  if (offsets.data() == nullptr) {
    return part_along(0, tensor, {n, 1});
  }
  const auto first = static_cast<std::size_t>(offsets(n));
  return part_along(1, tensor,
                    {first, static_cast<std::size_t>(offsets(n + 1)) - first});
}

// The sequences of a rank, put together: a batch of those alone.
template <class T>
class RankBatch {
 public:
  RankBatch(std::span<const std::size_t> owners, std::size_t rank,
            TensorView<const std::int64_t, 1> all_offsets)
      : all_offsets_(all_offsets) {
    for (std::size_t n = 0; n < owners.size(); ++n) {
      if (owners[n] != rank) {
        continue;
      }
      sequences_.push_back(n);
      if (ragged()) {
        offsets_.push_back(offsets_.back() + all_offsets(n + 1) -
                           all_offsets(n));
      }
    }
  }

  std::size_t count() const { return sequences_.size(); }
  TensorView<const std::int64_t, 1> offsets() const {
    return ragged() ? TensorView<const std::int64_t, 1>(offsets_.data(),
                                                        {offsets_.size()})
                    : TensorView<const std::int64_t, 1>();
  }

  // Without its elements.
  Result<Tensor<T, 4>> make(const Extents<4>& all) const {
    Extents<4> extents = all;
    extents[ragged() ? 1 : 0] =
        ragged() ? static_cast<std::size_t>(offsets_.back()) : count();
    return Tensor<T, 4>::create_unset(extents);
  }
  Result<Tensor<T, 4>> gathered(TensorView<const T, 4> all) const {
    HEADWISE_ASSIGN(auto own, make(all.extents()));
    for (std::size_t n = 0; n < count(); ++n) {
      copy_rows<T>(sequence_rows(all, sequences_[n], all_offsets_),
                   sequence_rows(own.view(), n, offsets()));
    }
    return own;
  }
  void spread(TensorView<const T, 4> own, TensorView<T, 4> all) const {
    for (std::size_t n = 0; n < count(); ++n) {
      copy_rows<T>(sequence_rows(own, n, offsets()),
                   sequence_rows(all, sequences_[n], all_offsets_));
    }
  }

 private:
  bool ragged() const { return all_offsets_.data() != nullptr; }

  TensorView<const std::int64_t, 1> all_offsets_;
  std::vector<std::size_t> sequences_{};
  std::vector<std::int64_t> offsets_ = {0};
};

template <class T>
struct DecodeTensors {
  TensorView<const T, 4> query;
  TensorView<const T, 4> key;
  TensorView<const T, 4> value;
  TensorView<T, 4> output;
  TensorView<const std::int64_t, 1> offsets;

  // Not where a cache has them in the keys.
  bool has_value() const { return value.data() != nullptr; }
};

template <class T>
Status check_sequences(const DealtSequences& sequences,
                       const DecodeTensors<T>& of, const Communicator& group) {
  const std::size_t B = sequences.owners.size();
  std::size_t own = 0;
  for (std::size_t n = 0; n < B; ++n) {
    const std::size_t owner = sequences.owners[n];
    if (owner >= group.ranks()) {
      return value_error(kSequenceDecode, "owners[" + std::to_string(n) + "]",
                         std::to_string(owner),
                         message("a rank below {}", group.ranks()),
                         ErrorCode::out_of_range);
    }
    own += owner == group.rank() ? 1 : 0;
  }
  HEADWISE_TRY(check_shape(kSequenceDecode, "own", {{sequences.own.size()}},
                           "(sequences of this rank)", {{own}}));
  const bool ragged = of.offsets.data() != nullptr;
  const auto [batch, rows, heads, size] = of.query.extents();
  if (ragged) {
    HEADWISE_TRY(check_shape(kSequenceDecode, "offsets", of.offsets.extents(),
                             "(B + 1)", {{B + 1}}));
    HEADWISE_TRY(Offsets(of.offsets).check(rows, rows, kSequenceDecode));
  }
  const std::size_t batches = ragged ? 1 : B;
  HEADWISE_TRY(check_shape(kSequenceDecode, "query", of.query.extents(),
                           "(B, L, Hq, D)", {{batches, rows, heads, size}}));
  HEADWISE_TRY(
      check_shape(kSequenceDecode, "key", of.key.extents(), "(B, L, Hkv, D)",
                  {{batches, rows, of.key.extent(2), of.key.extent(3)}}));
  if (of.has_value()) {
    HEADWISE_TRY(check_shape(
        kSequenceDecode, "value", of.value.extents(), "(B, L, Hkv, Dv)",
        {{batches, rows, of.value.extent(2), of.value.extent(3)}}));
  }
  return check_shape(kSequenceDecode, "output", of.output.extents(),
                     "(B, L, Hq, Dv)",
                     {{batches, rows, heads, of.output.extent(3)}});
}

// What all ranks must have been given alike.
template <class T>
std::string decode_description(std::span<const std::size_t> owners,
                               const DecodeTensors<T>& of) {
  Digest digest;
  for (const std::size_t owner : owners) {
    digest.add(owner);
  }
  for (const Extents<4>& extents : {of.query.extents(), of.key.extents(),
                                    of.value.extents(), of.output.extents()}) {
    for (const std::size_t size : extents) {
      digest.add(size);
    }
  }
  for (std::size_t n = 0; n < of.offsets.extent(0); ++n) {
    digest.add(static_cast<std::uint64_t>(of.offsets(n)));
  }
  return std::string(name_of(DTypeOf<T>::value)) +
         ", B = " + std::to_string(owners.size()) + ", digest " + digest.text();
}

// The rank's own step.
template <class T>
Result<Tensor<T, 4>> own_step(const DecodePlan& plan,
                              std::span<const SequenceId> ids,
                              const RankBatch<T>& batch,
                              const DecodeTensors<T>& of,
                              Workspace& workspace) {
  HEADWISE_ASSIGN(const auto query, batch.gathered(of.query));
  HEADWISE_ASSIGN(const auto key, batch.gathered(of.key));
  HEADWISE_ASSIGN(const auto value, of.has_value()
                                        ? batch.gathered(of.value)
                                        : Result<Tensor<T, 4>>(Tensor<T, 4>()));
  HEADWISE_ASSIGN(auto output, batch.make(of.output.extents()));
  if (batch.count() != 0) {
    const auto values =
        of.has_value() ? value.view() : TensorView<const T, 4>();
    HEADWISE_TRY(plan.run(ids, query.view(), key.view(), values,
                          AttentionOutputsOf<T>{.output = output}, workspace,
                          batch.offsets()));
  }
  return output;
}

template <class T>
Status decode(Communicator& group, const DecodePlan& plan,
              const DealtSequences& sequences, const DecodeTensors<T>& of,
              Workspace& workspace) {
  group.set_step(kSequenceDecode, "the start");
  HEADWISE_TRY(group.agree(check_sequences(sequences, of, group)));
  HEADWISE_TRY(
      group.check_same("the call", decode_description(sequences.owners, of)));
  std::vector<RankBatch<T>> batches;
  std::vector<Tensor<T, 4>> received;
  for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
    batches.emplace_back(sequences.owners, rank, of.offsets);
    HEADWISE_ASSIGN(auto made, batches.back().make(of.output.extents()));
    received.push_back(std::move(made));
  }
  const auto own = work_visibly(group, [&] {
    return own_step(plan, sequences.own, batches[group.rank()], of, workspace);
  });
  HEADWISE_TRY(group.agree(own ? ok() : Status(own.error())));
  group.set_step(kSequenceDecode, "exchanging outputs");
  const std::vector<std::span<const std::byte>> out(
      group.ranks(), bytes_of(own->data(), own->size()));
  HEADWISE_TRY(group.exchange(out, writable_bytes_of(received)));
  for (std::size_t rank = 0; rank < group.ranks(); ++rank) {
    batches[rank].spread(std::as_const(received[rank]).view(), of.output);
  }
  return ok();
}

}  // namespace

Result<std::vector<std::size_t>> deal_sequences(
    std::span<const std::size_t> lengths, std::size_t ranks) try {
  HEADWISE_TRY(check_at_least_one("deal_sequences", "ranks", ranks));
  std::vector<std::size_t> order(lengths.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(),
                           [&](std::size_t n) { return lengths[n]; });
  std::vector<std::size_t> owners(lengths.size());
  // Sequences without tokens count, too: they will grow.
  struct Load {
    std::size_t tokens = 0;
    std::size_t sequences = 0;
    auto operator<=>(const Load&) const = default;
  };
  std::vector<Load> loads(ranks);
  for (const std::size_t n : order) {
    const auto least = std::ranges::min_element(loads);
    owners[n] = static_cast<std::size_t>(least - loads.begin());
    least->tokens += lengths[n];
    ++least->sequences;
  }
  return owners;
} catch (...) {
  return caught_out_of_memory();
}

Status decode_sequences(Communicator& group, const DecodePlan& plan,
                        const DealtSequences& sequences, const TensorArg& query,
                        const TensorArg& key, const TensorArg& value,
                        const TensorArg& output, Workspace& workspace,
                        TensorView<const std::int64_t, 1> offsets) {
  const auto decode_of = [&]<class T>(T) -> Status {
    return decode<T>(group, plan, sequences,
                     {query.view<const T, 4>(), key.view<const T, 4>(),
                      value.view<const T, 4>(), output.view<T, 4>(), offsets},
                     workspace);
  };
  return or_abort(group, [&] {
    return for_one_type(
        kSequenceDecode,
        {{"query", query}, {"key", key}, {"value", value}, {"output", output}},
        decode_of);
  });
}

}  // namespace headwise::inline HEADWISE_ABI
