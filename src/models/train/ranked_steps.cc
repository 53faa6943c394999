#include "train/ranked_steps.h"

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "distribute/clip_together.h"
#include "distribute/exchange_all.h"
#include "train/finite_values.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

std::vector<std::span<float>> spans_of(std::vector<std::vector<float>>& parts) {
  return {parts.begin(), parts.end()};
}

// "exp_avg/NAME" -> "exp_avg/", "NAME"
std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
  const std::size_t kind = key.find('/') + 1;  // 0 without one
  return {key.substr(0, kind), key.substr(kind)};
}

}  // namespace

RankedSteps::RankedSteps(Communicator& group, SentenceEncoder& encoder)
    : group_(group),
      encoder_(encoder),
      shards_(sharded_params(encoder.encoder().params()), group.ranks()),
      terms_(shards_, group.rank(), encoder.encoder().shape().norm_eps,
             encoder.encoder().arithmetic()),
      values_(group.ranks()),
      table_(find(encoder.encoder().tokens_name()).value()),
      table_size_(shards_.params()[table_].row_size),
      own_table_(table_rows(group.rank()).count * table_size_) {}

Result<Tensor<float, 2>> RankedSteps::forward(const RaggedTokens& ids,
                                              const Executor& executor) {
  batch_ = BatchShares(ids, group_.ranks());
  terms_.begin(*batch_);
  const auto& sequences = batch_->sequences(group_.rank());
  saved_.reset();
  RaggedTokens own;
  for (const std::size_t n : sequences) {
    own.push_back(ids[n]);
  }
  const Status done = group_.busy_with([&]() -> Status {
    if (own.empty()) {
      return ok();
    }
    HEADWISE_ASSIGN(
        saved_, encoder_.forward_for_backward(own, {.executor = &executor}));
    return ok();
  });
  HEADWISE_TRY(group_.agree(done));
  const std::size_t size = encoder_.embedding_size();
  HEADWISE_ASSIGN(auto embeddings,
                  Tensor<float, 2>::create_unset({ids.size(), size}));
  std::vector<std::vector<float>> parts;
  for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
    parts.emplace_back(batch_->sequences(rank).size() * size);
  }
  if (saved_) {
    std::ranges::copy(std::as_const(saved_->embeddings).elements(),
                      parts[group_.rank()].begin());
  }
  HEADWISE_TRY(exchange_all(group_, spans_of(parts)));
  for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
    const float* from = parts[rank].data();
    for (const std::size_t n : batch_->sequences(rank)) {
      std::copy_n(from, size, &embeddings(n, 0));
      from += size;
    }
  }
  return embeddings;
}

Status RankedSteps::backward(TensorView<const float, 2> d_embeddings,
                             const Executor& executor) {
  const auto& sequences = batch_->sequences(group_.rank());
  const std::size_t size = d_embeddings.extent(1);
  const Status added = group_.busy_with([&]() -> Status {
    if (!saved_) {
      return ok();
    }
    HEADWISE_ASSIGN(auto own,
                    Tensor<float, 2>::create_unset({sequences.size(), size}));
    for (std::size_t n = 0; n < sequences.size(); ++n) {
      for (std::size_t e = 0; e < size; ++e) {
        own(n, e) = d_embeddings(sequences[n], e);
      }
    }
    const auto gradients =
        encoder_.backward(*saved_, own, ModelWanted::params_and_gates, &terms_);
    saved_.reset();
    return gradients ? ok() : Status(gradients.error());
  });
  HEADWISE_TRY(group_.agree(added));
  HEADWISE_TRY(terms_.exchange(group_));
  const Status summed = group_.busy_with([&]() -> Status {
    HEADWISE_ASSIGN(gradients_, terms_.sum(executor));
    for (std::size_t n = 0; n < gradients_.size(); ++n) {
      HEADWISE_TRY(
          check_finite_values("the gradient of " + shards_.params()[n].name,
                              gradients_[n].elements()));
    }
    return ok();
  });
  return group_.agree(summed);
}

Status RankedSteps::clip(std::span<const std::span<float>> first,
                         double max_norm) {
  const auto norm = clip_together(group_, first, shards_, gradients_, max_norm);
  return norm ? ok() : norm.error();
}

std::size_t RankedSteps::place_of(std::size_t rank, std::size_t param) const {
  const std::size_t table =
      param > table_ ? table_rows(rank).count * table_size_ : 0;
  return shards_.first_element(rank, param) - table;
}

// The rank's rows of a parameter, updated, in `values`. Between steps they stay
// there; only where the encoder is complete may others have changed its own.
Status RankedSteps::update_own(Optimizer& optimizer, std::size_t param,
                               std::span<float> values) {
  const ShardedParam& of = shards_.params()[param];
  if (is_complete_) {
    const auto* const before =
        static_cast<const float*>(params_.find(of.name)->second.data());
    const RowRange rows = shards_.rows(group_.rank(), param);
    std::copy_n(before + rows.first * of.row_size, values.size(),
                values.data());
  }
  return optimizer.update(of.name, values, gradients_[param].elements());
}

// The rank's parameters, updated, to own_table_ and values_.
Status RankedSteps::write_own(Optimizer& optimizer) {
  const std::size_t rank = group_.rank();
  std::vector<float>& values = values_[rank];
  bool all_finite = true;
  for (std::size_t n = 0; n < shards_.params().size(); ++n) {
    const std::size_t size =
        shards_.rows(rank, n).count * shards_.params()[n].row_size;
    if (shards_.rows(rank, n).count == 0) {
      continue;
    }
    const std::span<float> own =
        n == table_ ? std::span(own_table_)
                    : std::span(values).subspan(place_of(rank, n), size);
    HEADWISE_TRY(update_own(optimizer, n, own));
    all_finite = all_finite && check_finite_values("", own);
  }
  float* to = values.data() + place_of(rank, shards_.params().size());
  *to++ = all_finite ? 0 : 1;
  for (const std::size_t row : looked_up_) {
    if (table_rows(rank).contains(row)) {
      to = std::copy_n(
          own_table_.data() + (row - table_rows(rank).first) * table_size_,
          table_size_, to);
    }
  }
  return ok();
}

// The rows of all ranks that were looked up.
void RankedSteps::read_table(std::span<float> to) const {
  for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
    const float* from =
        values_[rank].data() + place_of(rank, shards_.params().size()) + 1;
    for (const std::size_t row : looked_up_) {
      if (table_rows(rank).contains(row)) {
        std::copy_n(from, table_size_, to.data() + row * table_size_);
        from += table_size_;
      }
    }
  }
}

// From values_ and own_table_ to the encoder.
Status RankedSteps::read_all() {
  return encoder_.encoder().update(
      [&](std::string_view name, std::span<float> to) -> Status {
        const std::size_t n = *find(name);
        if (n == table_) {
          read_table(to);
          return ok();
        }
        for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
          const RowRange rows = shards_.rows(rank, n);
          const std::size_t row_size = shards_.params()[n].row_size;
          std::copy_n(values_[rank].data() + place_of(rank, n),
                      rows.count * row_size, to.data() + rows.first * row_size);
        }
        return ok();
      });
}

Status RankedSteps::move(Optimizer& optimizer, const RaggedTokens& next) {
  std::set<std::size_t> rows;
  for (const auto& sequence : next) {
    rows.insert(sequence.begin(), sequence.end());
  }
  looked_up_.assign(rows.begin(), rows.end());
  for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
    const auto of_rank = std::ranges::count_if(
        looked_up_,
        [&](std::size_t row) { return table_rows(rank).contains(row); });
    values_[rank].resize(place_of(rank, shards_.params().size()) + 1 +
                         static_cast<std::size_t>(of_rank) * table_size_);
  }
  params_ = encoder_.encoder().params();
  HEADWISE_TRY(
      group_.agree(group_.busy_with([&] { return write_own(optimizer); })));
  HEADWISE_TRY(exchange_all(group_, spans_of(values_)));
  is_complete_ = false;
  HEADWISE_TRY(group_.busy_with([&] { return read_all(); }));
  for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
    if (values_[rank][place_of(rank, shards_.params().size())] != 0) {
      HEADWISE_TRY(complete());
      return encoder_.encoder().update(
          [](std::string_view name, std::span<float> values) {
            return check_finite_values(name, values);
          });
    }
  }
  return ok();
}

Status RankedSteps::complete() {
  if (is_complete_) {
    return ok();
  }
  std::vector<std::vector<float>> parts(group_.ranks());
  for (std::size_t rank = 0; rank < group_.ranks(); ++rank) {
    parts[rank].resize(table_rows(rank).count * table_size_);
  }
  parts[group_.rank()] = own_table_;
  HEADWISE_TRY(exchange_all(group_, spans_of(parts)));
  const std::string_view table = shards_.params()[table_].name;
  HEADWISE_TRY(encoder_.encoder().update([&](std::string_view name,
                                             std::span<float> to) -> Status {
    for (std::size_t rank = 0; name == table && rank < group_.ranks(); ++rank) {
      std::ranges::copy(parts[rank],
                        to.data() + table_rows(rank).first * table_size_);
    }
    return ok();
  }));
  is_complete_ = true;
  return ok();
}

std::optional<std::size_t> RankedSteps::find(std::string_view name) const {
  const auto& params = shards_.params();
  const auto found =
      std::ranges::lower_bound(params, name, {}, &ShardedParam::name);
  return found == params.end() || found->name != name
             ? std::nullopt
             : std::optional(static_cast<std::size_t>(found - params.begin()));
}

// The numbers of one kind for all parameters, on rank 0.
Status RankedSteps::gather_kind(std::string_view kind,
                                const OptimizerState& own,
                                OptimizerState& whole) const {
  const std::size_t rank = group_.rank();
  std::vector<std::vector<float>> parts(group_.ranks());
  for (std::size_t r = 0; r < group_.ranks(); ++r) {
    parts[r].resize(r == rank || rank == 0 ? shards_.elements(r) : 0);
  }
  for (const auto& [key, values] : own.values) {
    const auto n = find(split_key(key).second);
    if (n && split_key(key).first == kind) {
      std::ranges::copy(
          values.elements(),
          parts[rank].begin() +
              static_cast<std::ptrdiff_t>(shards_.first_element(rank, *n)));
    }
  }
  std::vector<std::span<std::byte>> bytes;
  for (std::size_t r = 0; rank == 0 && r < group_.ranks(); ++r) {
    bytes.push_back(r == 0 ? std::span<std::byte>()
                           : std::as_writable_bytes(std::span(parts[r])));
  }
  HEADWISE_TRY(group_.gather(rank == 0 ? std::span<const std::byte>()
                                       : std::as_bytes(std::span(parts[rank])),
                             bytes, 0));
  for (std::size_t n = 0; rank == 0 && n < shards_.params().size(); ++n) {
    const ShardedParam& param = shards_.params()[n];
    HEADWISE_ASSIGN(auto values, Tensor<float, 1>::create_unset(
                                     {param.rows * param.row_size}));
    for (std::size_t r = 0; r < group_.ranks(); ++r) {
      const RowRange rows = shards_.rows(r, n);
      std::copy_n(parts[r].data() + shards_.first_element(r, n),
                  rows.count * param.row_size,
                  values.data() + rows.first * param.row_size);
    }
    whole.values.insert_or_assign(std::string(kind) + param.name,
                                  std::move(values));
  }
  return ok();
}

Result<OptimizerState> RankedSteps::gather(const Optimizer& optimizer) const {
  HEADWISE_ASSIGN(auto own, optimizer.state());
  OptimizerState whole{own.step, {}};
  std::set<std::string, std::less<>> kinds;
  for (auto& [key, values] : own.values) {
    kinds.emplace(split_key(key).first);
  }
  for (const std::string& kind : kinds) {
    HEADWISE_TRY(gather_kind(kind, own, whole));
  }
  // Those that every rank has are left.
  whole.values.merge(own.values);
  return whole;
}

Result<OptimizerState> RankedSteps::own_part(
    const OptimizerState& whole) const {
  OptimizerState part{whole.step, {}};
  for (const auto& [key, values] : whole.values) {
    RowRange elements{0, values.size()};
    if (const auto n = find(split_key(key).second)) {
      const ShardedParam& param = shards_.params()[*n];
      const RowRange rows = shards_.rows(group_.rank(), *n);
      if (values.size() == param.rows * param.row_size) {
        elements = {rows.first * param.row_size, rows.count * param.row_size};
      }
      if (rows.count == 0) {
        continue;
      }
    }
    HEADWISE_ASSIGN(auto own, Tensor<float, 1>::create_unset({elements.count}));
    std::copy_n(values.data() + elements.first, elements.count, own.data());
    part.values.emplace(key, std::move(own));
  }
  return part;
}

}  // namespace headwise::inline HEADWISE_ABI
