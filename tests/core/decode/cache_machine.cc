#include "decode/cache_machine.h"

#include <algorithm>
#include <set>
#include <utility>

#include "headwise/steps/mask.h"

namespace headwise::testing_support {
namespace {

constexpr std::size_t kMostQueries = 96;

AttentionOptions plan_options(const Executor& executor) {
  return {.mask = causal(), .softcap = 20.0, .executor = &executor};
}

}  // namespace

CacheMachine::CacheMachine(const KvCacheOptions& options, std::uint64_t seed)
    : random_(seed),
      cache_(KvCache::create(options).value()),
      options_(cache_.options()),
      num_heads_(options.num_kv_heads * 2),
      pages_(cache_.pages()),
      executor_(Executor::with_threads(1 + seed % 2).value()),
      plan_(DecodePlan::create(cache_, num_heads_, kMostQueries,
                               plan_options(executor_))
                .value()),
      workspace_(Workspace::create(plan_.workspace_bytes()).value()) {}

std::string CacheMachine::step() {
  const std::size_t dice = below(100);
  const std::string wrong = dice < 8    ? add()
                            : dice < 24 ? append()
                            : dice < 64 ? run()
                            : dice < 74 ? truncate()
                            : dice < 80 ? fork()
                            : dice < 86 ? keep()
                            : dice < 92 ? erase()
                                        : refuse();
  return wrong.empty() ? check_state() : wrong;
}

// ---- What a cache must hold ----

std::vector<std::vector<Page>> CacheMachine::all_pages() const {
  std::vector<std::vector<Page>> pages;
  for (const Sequence& sequence : sequences_) {
    pages.push_back(sequence.pages);
  }
  return pages;
}

std::size_t CacheMachine::used(
    const std::vector<std::vector<Page>>& pages) const {
  std::set<const int*> distinct;
  for (const std::vector<Page>& some : pages) {
    for (const Page& page : some) {
      if (page) {
        distinct.insert(page.get());
      }
    }
  }
  return distinct.size();
}

bool CacheMachine::grown(const Batch& batch,
                         std::vector<std::vector<Page>>& pages) const {
  const std::size_t P = page_size();
  const auto count = [&](std::size_t n) {
    return static_cast<std::size_t>(batch.offsets[n + 1] - batch.offsets[n]);
  };
  for (std::size_t n = 0; n < batch.members.size(); ++n) {
    const Sequence& sequence = sequences_[batch.members[n]];
    if (!options_.window || count(n) == 0) {
      continue;
    }
    const auto left = static_cast<std::size_t>(options_.window->left);
    const auto first = static_cast<std::size_t>(options_.window->keep_first);
    const std::size_t L = length(sequence);
    for (std::size_t p = (first + P - 1) / P; (p + 1) * P + left <= L; ++p) {
      pages[batch.members[n]][p] = nullptr;
    }
  }
  for (std::size_t n = 0; n < batch.members.size(); ++n) {
    std::vector<Page>& own = pages[batch.members[n]];
    const std::size_t L = length(sequences_[batch.members[n]]);
    if (count(n) != 0 && L % P != 0) {
      // Two copies of the tables point to each page here.
      const auto sharers =
          std::ranges::count_if(pages, [&](const std::vector<Page>& other) {
            return std::ranges::find(other, own.back()) != other.end();
          });
      if (sharers > 1) {
        own.back() = std::make_shared<int>();
      }
    }
    while (own.size() * P < L + count(n)) {
      own.push_back(std::make_shared<int>());
    }
    const auto held = std::ranges::count_if(
        own, [](const Page& page) { return page != nullptr; });
    if (options_.page_size == 0 &&
        static_cast<std::size_t>(held) > pages_ / options_.max_sequences) {
      return false;
    }
  }
  return used(pages) <= pages_;
}

std::string CacheMachine::check_state() const {
  if (cache_.sequences() != sequences_.size()) {
    return "the number of sequences";
  }
  const std::size_t free = pages_ - used(all_pages());
  if (cache_.free_pages() != free) {
    return "free pages: " + std::to_string(cache_.free_pages()) +
           ", expected " + std::to_string(free);
  }
  for (const Sequence& sequence : sequences_) {
    const auto got = cache_.length(sequence.id);
    if (!got || *got != length(sequence)) {
      return "the length of a sequence";
    }
    if (options_.received_heads != 0) {
      if (const std::string wrong = check_received(sequence); !wrong.empty()) {
        return wrong;
      }
    }
  }
  return "";
}

std::string CacheMachine::check_received(const Sequence& sequence) const {
  const std::size_t P = page_size();
  for (std::size_t p = 0; p < sequence.pages.size(); ++p) {
    const std::size_t count = std::min(P, length(sequence) - p * P);
    auto sums = filled<float, 2>({num_heads_, count}, 42);
    const Status s = cache_.read_received(sequence.id, p * P, sums);
    if (static_cast<bool>(s) != (sequence.pages[p] != nullptr)) {
      return "read_received()";
    }
    for (std::size_t h = 0; s && h < num_heads_; ++h) {
      for (std::size_t n = 0; n < count; ++n) {
        const float want =
            sequence.tokens.received[(p * P + n) * num_heads_ + h];
        if (!same_bits({&sums(h, n), 1}, {&want, 1})) {
          return "what token " + std::to_string(p * P + n) + " received";
        }
      }
    }
  }
  return "";
}

// ---- Operations ----

Tensor<float, 4> CacheMachine::random_rows(std::size_t rows, std::size_t heads,
                                           std::size_t size) {
  auto tensor = Tensor<float, 4>::create({1, rows, heads, size}).value();
  for (float& x : tensor.elements()) {
    x = static_cast<float>(below(4001)) / 1000 - 2;
  }
  // Now and then a value that no masked query may read.
  if (size == options_.v_head_dim && below(40) == 0 && tensor.size() != 0) {
    tensor.data()[below(tensor.size())] =
        std::numeric_limits<float>::infinity();
  }
  return tensor;
}

TensorView<const float, 4> CacheMachine::Batch::values() const {
  return value.size() == 0 && key.size() != 0 ? TensorView<const float, 4>()
                                              : value.view();
}

CacheMachine::Batch CacheMachine::random_batch() {
  Batch batch;
  batch.offsets.push_back(0);
  for (std::size_t n = 0; n < sequences_.size(); ++n) {
    if (below(3) == 0) {
      continue;
    }
    const auto room =
        kMostQueries - static_cast<std::size_t>(batch.offsets.back());
    const std::size_t dice = below(12);
    const std::size_t tokens = dice == 0   ? 0
                               : dice < 9  ? 1
                               : dice < 11 ? 1 + below(9)
                                           : 1 + below(70);
    batch.members.push_back(n);
    batch.ids.push_back(sequences_[n].id);
    batch.offsets.push_back(batch.offsets.back() +
                            static_cast<std::int64_t>(std::min(tokens, room)));
  }
  const auto rows = static_cast<std::size_t>(batch.offsets.back());
  batch.query = random_rows(rows, num_heads_, options_.head_dim);
  batch.key = random_rows(rows, options_.num_kv_heads, options_.head_dim);
  if (!options_.value_is_key_prefix) {
    batch.value = random_rows(rows, options_.num_kv_heads, options_.v_head_dim);
  }
  return batch;
}

std::string CacheMachine::add() {
  const auto id = cache_.add();
  if (static_cast<bool>(id) != (sequences_.size() < options_.max_sequences)) {
    return "add()";
  }
  if (id) {
    sequences_.push_back({*id, {}, {}});
  }
  return "";
}

std::string CacheMachine::append() {
  const Batch batch = random_batch();
  auto pages = all_pages();
  const bool fits = grown(batch, pages);
  const Status s =
      cache_.append(batch.ids, batch.key, batch.values(), batch.offsets);
  if (static_cast<bool>(s) != fits) {
    return "append(): " + (s ? "no error" : s.error().message());
  }
  for (std::size_t n = 0; s && n < batch.members.size(); ++n) {
    Sequence& sequence = sequences_[batch.members[n]];
    sequence.pages = pages[batch.members[n]];
    add_tokens(
        sequence.tokens, options_, batch.key, batch.value, 0,
        static_cast<std::size_t>(batch.offsets[n]),
        static_cast<std::size_t>(batch.offsets[n + 1] - batch.offsets[n]));
    sequence.tokens.received.resize(length(sequence) * num_heads_, 0.0f);
  }
  return "";
}

std::string CacheMachine::run() {
  const Batch batch = random_batch();
  auto pages = all_pages();
  const bool fits = grown(batch, pages);
  auto output = filled<float, 4>(
      {1, batch.key.extent(1), num_heads_, options_.v_head_dim}, 42);
  const Status s = plan_.run(batch.ids, batch.query, batch.key, batch.values(),
                             {.output = output}, workspace_, batch.offsets);
  if (static_cast<bool>(s) != fits) {
    return "run(): " + (s ? "no error" : s.error().message());
  }
  if (!s) {
    return std::ranges::all_of(output.elements(),
                               [](float x) { return x == 42; })
               ? ""
               : "run() wrote before its error";
  }
  for (std::size_t n = 0; n < batch.members.size(); ++n) {
    Sequence& sequence = sequences_[batch.members[n]];
    sequence.pages = pages[batch.members[n]];
    add_tokens(
        sequence.tokens, options_, batch.key, batch.value, 0,
        static_cast<std::size_t>(batch.offsets[n]),
        static_cast<std::size_t>(batch.offsets[n + 1] - batch.offsets[n]));
  }
  return check_outputs(batch, output, plan_options(executor_));
}

std::string CacheMachine::check_outputs(const Batch& batch,
                                        const Tensor<float, 4>& output,
                                        const AttentionOptions& options) {
  for (std::size_t n = 0; n < batch.members.size(); ++n) {
    Sequence& sequence = sequences_[batch.members[n]];
    const auto first = static_cast<std::size_t>(batch.offsets[n]);
    const auto count = static_cast<std::size_t>(batch.offsets[n + 1]) - first;
    if (count == 0) {
      continue;
    }
    const auto rows = [&](const Tensor<float, 4>& tensor) {
      return TensorView<const float, 4>(
          &tensor(0, first, 0, 0),
          {1, count, tensor.extent(2), tensor.extent(3)});
    };
    const auto want =
        attend_plainly(sequence.tokens, options_, rows(batch.query), options);
    const auto same =
        same_bits(std::span(rows(output).data(), want.size()), want.elements());
    if (!same) {
      return "run(): " + std::string(same.message()) + " of sequence " +
             std::to_string(n) + ", length " +
             std::to_string(length(sequence)) + ", " + std::to_string(count) +
             " queries";
    }
    if (options_.received_heads != 0) {
      receive_plainly(sequence.tokens, options_, rows(batch.query), options);
    }
  }
  return "";
}

std::string CacheMachine::truncate() {
  if (sequences_.empty()) {
    return "";
  }
  Sequence& sequence = sequences_[below(sequences_.size())];
  const std::size_t L = length(sequence);
  const std::size_t P = page_size();
  const std::size_t to =
      below(4) == 0 ? below(L + 3) : L - std::min(L, below(8));
  // Every token that the next query may see must be there.
  bool allowed = to <= L && options_.received_heads == 0;
  const std::size_t left =
      options_.window ? static_cast<std::size_t>(options_.window->left) : to;
  for (std::size_t j = to - std::min(to, left); allowed && j < to; ++j) {
    allowed = sequence.pages[j / P] != nullptr;
  }
  const Status s = cache_.truncate(sequence.id, to);
  if (static_cast<bool>(s) != allowed) {
    return "truncate() from " + std::to_string(L) + " to " + std::to_string(to);
  }
  if (s) {
    sequence.tokens.keys.resize(to * options_.num_kv_heads * options_.head_dim);
    sequence.tokens.values.resize(to * options_.num_kv_heads *
                                  options_.v_head_dim);
    sequence.tokens.received.resize(to * num_heads_, 0.0f);
    sequence.pages.resize((to + P - 1) / P);
  }
  return "";
}

std::vector<std::int64_t> CacheMachine::random_indices(std::size_t length) {
  std::vector<std::int64_t> indices;
  const std::size_t same = below(2) == 0 ? below(length + 1) : 0;
  const std::size_t of = 1 + below(6);
  for (std::size_t n = 0; n < length; ++n) {
    if (n < same || below(of) == 0) {
      indices.push_back(static_cast<std::int64_t>(n));
    }
  }
  if (!indices.empty() && below(8) == 0) {
    indices[below(indices.size())] +=
        static_cast<std::int64_t>(below(2 * length)) -
        static_cast<std::int64_t>(length);
  }
  return indices;
}

bool CacheMachine::kept(const Sequence& sequence,
                        const std::vector<std::int64_t>& indices,
                        std::vector<Page>& pages) const {
  const std::size_t P = page_size();
  pages = sequence.pages;
  pages.resize((indices.size() + P - 1) / P);
  std::size_t n = 0;
  while (n < indices.size() && indices[n] == static_cast<std::int64_t>(n)) {
    ++n;
  }
  std::size_t copies = 0;
  for (std::size_t p = n / P; n < indices.size() && p < pages.size(); ++p) {
    const auto sharers =
        std::ranges::count_if(sequences_, [&](const Sequence& other) {
          return std::ranges::find(other.pages, pages[p]) != other.pages.end();
        });
    if (sharers > 1) {
      pages[p] = std::make_shared<int>();
      ++copies;
    }
  }
  return used(all_pages()) + copies <= pages_;
}

std::string CacheMachine::keep() {
  if (sequences_.empty()) {
    return "";
  }
  Sequence& sequence = sequences_[below(sequences_.size())];
  const auto L = static_cast<std::int64_t>(length(sequence));
  const std::vector<std::int64_t> indices = random_indices(length(sequence));
  bool allowed = !options_.window;
  for (std::size_t n = 0; n < indices.size(); ++n) {
    allowed = allowed && indices[n] >= 0 && indices[n] < L &&
              (n == 0 || indices[n - 1] < indices[n]);
  }
  std::vector<Page> pages;
  allowed = allowed && kept(sequence, indices, pages);
  const Status s = cache_.keep(sequence.id, indices);
  if (static_cast<bool>(s) != allowed) {
    return "keep(): " + (s ? "no error" : s.error().message());
  }
  if (s) {
    keep_plainly(sequence.tokens, options_, indices);
    sequence.pages = std::move(pages);
  }
  return "";
}

std::string CacheMachine::fork() {
  if (sequences_.empty()) {
    return "";
  }
  const Sequence& parent = sequences_[below(sequences_.size())];
  const auto id = cache_.fork(parent.id);
  if (static_cast<bool>(id) != (sequences_.size() < options_.max_sequences)) {
    return "fork()";
  }
  if (id) {
    Sequence child{*id, parent.tokens, parent.pages};
    for (Page& page : child.pages) {
      if (options_.page_size == 0 && page) {
        page = std::make_shared<int>();
      }
    }
    sequences_.push_back(std::move(child));
  }
  return "";
}

std::string CacheMachine::erase() {
  if (sequences_.empty()) {
    return "";
  }
  const std::size_t n = below(sequences_.size());
  if (!cache_.erase(sequences_[n].id)) {
    return "erase()";
  }
  erased_.push_back(sequences_[n].id);
  sequences_.erase(sequences_.begin() + static_cast<std::ptrdiff_t>(n));
  return "";
}

// Calls that are errors; check_state() and later calls see that they changed
// nothing.
std::string CacheMachine::refuse() {
  if (!erased_.empty()) {
    const SequenceId id = erased_[below(erased_.size())];
    if (cache_.erase(id) || cache_.fork(id) || cache_.length(id) ||
        cache_.truncate(id, 0) || cache_.keep(id, {})) {
      return "an erased sequence is accepted";
    }
  }
  Batch batch = random_batch();
  if (batch.ids.empty()) {
    return "";
  }
  const std::size_t n = below(batch.ids.size());
  if (!erased_.empty() && below(2) == 0) {
    batch.ids[n] = erased_[below(erased_.size())];
  } else if (batch.ids.size() > 1) {
    batch.ids[n] = batch.ids[(n + 1) % batch.ids.size()];
  } else {
    batch.offsets[1] += 1;
  }
  const Status s =
      cache_.append(batch.ids, batch.key, batch.values(), batch.offsets);
  return s ? "append() accepts what it must refuse" : "";
}

}  // namespace headwise::testing_support
