// Gradients integrated over the gates of heads: what each head adds to a number
// F that a model gives for a text, on the way from no heads to all.
//
//   all layers   a[l,h] = int_0^1 dF/dg[l,h] (all gates = t) dt
//   each layer   a[l,h] = int_0^1 dF/dg[l,h] (gates of l = t, all others 1) dt
//
// The parts add up to what the heads do together, because the path is straight:
//
//   all layers   sum_lh a[l,h] = F(all gates 1) - F(all gates 0)
//   each layer   sum_h  a[l,h] = F(all gates 1) - F(gates of layer l 0)
//
// A gate is a factor on the context of a head (steps/head_gates.h), so also on
// all of its attention weights. `each_layer` is therefore the self-attention
// attribution of Hao et al., summed over the pairs of a head, whose weights of
// one layer are scaled from 0 to 1.
//
// The integral is computed with Gauss-Legendre's rule of 4 points in each of
// `panels` equal parts: 4 gradients for each, times the number of layers for
// each_layer. The sums above hold up to the error of that rule.
//
// Source: Sundararajan et al. 2017, arXiv:1703.01365 (integrated gradients and
// their completeness); Hao et al. 2021, arXiv:2004.11207, equation 3.
//
// Example:
//   GatedModel model = embedding_losses(encoder, ids);
//   auto parts = integrated_gates(model, 0).value();
//   parts[layer][head];
#pragma once

#include <cstddef>
#include <vector>

#include "headwise/base/result.h"
#include "headwise/prune/importance.h"
#include "headwise/version.h"

#pragma GCC visibility push(default)
namespace headwise::inline HEADWISE_ABI {

enum class GatePath { all_layers, each_layer };

struct IntegratedGatesOptions {
  GatePath path = GatePath::all_layers;
  std::size_t panels = 10;
};

// By layer, in the order of model.heads. F is the loss of the example; only
// model.gradients is called. Errors: those of the model; invalid_argument for 0
// panels and a model without gradients; out_of_range for an example that does
// not exist.
Result<std::vector<std::vector<double>>> integrated_gates(
    const GatedModel& model, std::size_t example,
    const IntegratedGatesOptions& options = {});

}  // namespace headwise::inline HEADWISE_ABI
#pragma GCC visibility pop
