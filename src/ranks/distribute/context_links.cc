#include "distribute/context_links.h"

#include <algorithm>
#include <utility>

#include "distribute/context_step.h"
#include "distribute/shards.h"

namespace headwise::inline HEADWISE_ABI {
namespace {

KeyPart key_part(bool first, bool last) {
  return first ? (last ? KeyPart::all : KeyPart::first)
               : (last ? KeyPart::last : KeyPart::middle);
}

}  // namespace

Result<ContextPart> part_of_step(const WholeStep& whole, std::size_t n,
                                 const HeadsOfStep& heads,
                                 const PartRange& keys, KeyPart key_part) {
  const AttentionShape& shape = whole.spec.shape;
  const SequencePlace place = shape.sequence(n);
  internal::CallPart part = internal::whole_call(shape);
  part.sequences = {n, 1};
  part.heads = heads.query;
  part.kv_heads = heads.key;
  part.queries = {0, place.Lq};
  part.keys = keys;
  HEADWISE_ASSIGN(auto cut, internal::options_of_part(shape, whole.options,
                                                      whole.operation_options,
                                                      part, kContextCache));
  cut.operation_options.key_part = key_part;
  HEADWISE_ASSIGN(
      auto spec,
      AttentionSpec::create({.B = 1,
                             .Hq = heads.query.count,
                             .Hkv = heads.key.count,
                             .Lq = place.Lq,
                             .Lkv = keys.count,
                             .D = shape.D,
                             .Dv = shape.Dv},
                            cut.options, cut.operation_options, kContextCache));
  return ContextPart{std::move(cut), std::move(spec)};
}

std::vector<ContextLink> links_of(const AttentionSpec& spec, std::size_t n,
                                  const ContextSequences& sequences,
                                  const ContextSequence& sequence) {
  const SequencePlace place = spec.shape.sequence(n);
  const std::size_t shares = sequences.shares_of(place.Lkv);
  const auto link_of = [&](std::size_t share) {
    return ContextLink{share, sequences.rank_of(sequence, share),
                       sequences.tokens_of(share, place.Lkv)};
  };
  const std::vector<PartRange> seen =
      seen_keys(spec.mask, {.rank = 0, .sequence = n, .tokens = {0, place.Lq}});
  std::vector<ContextLink> links;
  for (std::size_t share = 0; share < shares; ++share) {
    const ContextLink link = link_of(share);
    if (std::ranges::any_of(seen, [&](const PartRange& keys) {
          return ContextSequences::common(keys, link.keys).count != 0;
        })) {
      links.push_back(link);
    }
  }
  if (links.empty()) {  // rows that see nothing: any share will do
    links.push_back(link_of(shares - 1));
  }
  return links;
}

std::vector<HeadsOfStep> head_groups(const AttentionShape& shape,
                                     std::size_t ranks) {
  // With twice as many groups as ranks, two of three are busy in the pipeline
  // of one sequence.
  const std::size_t sequences = std::max<std::size_t>(shape.B, 1);
  const std::size_t wanted = ranks == 1 ? 1 : 2 * ranks / sequences;
  const std::size_t groups =
      std::clamp<std::size_t>(wanted, 1, std::max<std::size_t>(shape.Hkv, 1));
  std::vector<HeadsOfStep> heads;
  for (std::size_t g = 0; g < groups; ++g) {
    const std::size_t first = shape.Hkv * g / groups;
    const std::size_t end = shape.Hkv * (g + 1) / groups;
    const std::size_t first_query = shape.first_query_head(first);
    heads.push_back({{first_query, shape.first_query_head(end) - first_query},
                     {first, end - first}});
  }
  return heads;
}

std::vector<ContextTask> tasks_of(
    const std::vector<std::vector<ContextLink>>& links, std::size_t groups) {
  std::size_t longest = 0;
  for (const auto& of_sequence : links) {
    longest = std::max(longest, of_sequence.size());
  }
  std::vector<ContextTask> tasks;
  for (std::size_t depth = 0; depth < longest; ++depth) {
    for (std::size_t n = 0; n < links.size(); ++n) {
      const std::vector<ContextLink>& of = links[n];
      if (depth >= of.size()) {
        continue;
      }
      const bool first = depth == 0;
      const bool last = depth + 1 == of.size();
      const std::size_t rank = of[depth].rank;
      for (std::size_t group = 0; group < groups; ++group) {
        tasks.push_back({depth, n, group, of[depth], key_part(first, last),
                         first ? rank : of[depth - 1].rank,
                         last ? rank : of[depth + 1].rank});
      }
    }
  }
  return tasks;
}

}  // namespace headwise::inline HEADWISE_ABI
