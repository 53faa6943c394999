// The core of headwise, in the order in which data flows through it: what a
// program calls. It includes all other headers of the core.
#pragma once

// clang-format off
#include "headwise/base/result.h"
#include "headwise/base/tensor.h"
#include "headwise/base/layout.h"
#include "headwise/run/executor.h"
#include "headwise/kernels/targets.h"
#include "headwise/steps/padding.h"
#include "headwise/steps/embedding.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/scores.h"
#include "headwise/steps/mask.h"
#include "headwise/steps/weigh.h"
#include "headwise/steps/head_gates.h"
#include "headwise/steps/layer_norm.h"
#include "headwise/steps/activation.h"
#include "headwise/attention/forward.h"
#include "headwise/attention/plan.h"
#include "headwise/attention/statistics.h"
#include "headwise/attention/stepwise.h"
#include "headwise/attention/reference.h"
#include "headwise/attention/device_attention.h"
#include "headwise/decode/decode_plan.h"
#include "headwise/module/multi_head_attention.h"
#include "headwise/module/optimizer.h"
// clang-format on
