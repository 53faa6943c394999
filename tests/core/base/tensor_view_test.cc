#include "headwise/base/tensor_view.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <type_traits>
#include <vector>

#include "headwise/base/any_view.h"
#include "headwise/base/tensor.h"
#include "headwise/base/tensor_arg.h"
#include "headwise/steps/head_groups.h"
#include "headwise/steps/heads.h"
#include "headwise/steps/offsets.h"
#include "headwise/steps/query_start.h"

namespace headwise {
namespace {

// Passed by value everywhere: a pointer, the extents and the strides.
static_assert(std::is_trivially_copyable_v<TensorView<float, 4>>);
static_assert(sizeof(TensorView<float, 4>) == 9 * sizeof(void*));

template <class From, class To>
concept ConvertsTo = std::is_convertible_v<From, To>;

// A Tensor and its views, and to const, by themselves. Never from const.
using Tensor3 = Tensor<float, 3>;
using View3 = TensorView<float, 3>;
using ConstView3 = TensorView<const float, 3>;
static_assert(ConvertsTo<Tensor3&, View3>);
static_assert(ConvertsTo<Tensor3&, ConstView3>);
static_assert(ConvertsTo<const Tensor3&, ConstView3>);
static_assert(ConvertsTo<View3, ConstView3>);
static_assert(!std::is_constructible_v<View3, const Tensor3&>);
static_assert(!std::is_constructible_v<View3, ConstView3>);
// The rank and the type are the tensor's.
static_assert(!std::is_constructible_v<TensorView<const float, 4>, Tensor3&>);
static_assert(!std::is_constructible_v<TensorView<const double, 3>, Tensor3&>);

// Contiguous elements are a view of rank 1.
using Numbers = std::vector<float>;
using ConstView1 = TensorView<const float, 1>;
static_assert(ConvertsTo<Numbers&, TensorView<float, 1>>);
static_assert(ConvertsTo<const Numbers&, ConstView1>);
static_assert(ConvertsTo<std::span<float>, TensorView<float, 1>>);
static_assert(ConvertsTo<std::span<const float>, ConstView1>);
static_assert(ConvertsTo<std::span<float, 3>, ConstView1>);
static_assert(ConvertsTo<std::array<float, 3>&, ConstView1>);
static_assert(ConvertsTo<float (&)[3], ConstView1>);
static_assert(!std::is_constructible_v<TensorView<float, 1>, const Numbers&>);
static_assert(!std::is_constructible_v<TensorView<const float, 2>, Numbers&>);
static_assert(!std::is_constructible_v<ConstView1, std::vector<double>&>);
static_assert(!std::is_constructible_v<ConstView1, std::vector<bool>&>);

// No view of a temporary, nor anything that holds a view.
static_assert(!std::is_constructible_v<View3, Tensor3>);
static_assert(!std::is_constructible_v<ConstView3, Tensor3>);
static_assert(!std::is_constructible_v<ConstView3, const Tensor3>);
static_assert(!std::is_constructible_v<ConstView1, Numbers>);
static_assert(!std::is_constructible_v<ConstView1, const Numbers>);
static_assert(!std::is_constructible_v<ConstView1, std::array<float, 3>>);
static_assert(!std::is_constructible_v<AnyView, Tensor3>);
static_assert(!std::is_constructible_v<TensorArg, Tensor3>);
static_assert(std::is_constructible_v<TensorArg, const Tensor3&>);
static_assert(!std::is_constructible_v<Offsets, std::vector<std::int64_t>>);
static_assert(!std::is_constructible_v<QueryStart, std::vector<std::int64_t>>);
static_assert(!std::is_constructible_v<GroupedHeads, Tensor<float, 4>>);
template <class T>
concept HasView = requires(T&& tensor) {
  std::forward<T>(tensor).view();
};
static_assert(HasView<Tensor3&> && HasView<const Tensor3&>);
static_assert(!HasView<Tensor3> && !HasView<const Tensor3>);
template <class T>
concept Splits = requires(T&& tensor) {
  split_heads(std::forward<T>(tensor), 2);
};
static_assert(Splits<Tensor3&> && Splits<View3> && !Splits<Tensor3>);

// One number per axis, no fewer and no more.
template <std::size_t Rank>
concept TakesTwoExtents = requires(float* data) {
  TensorView<float, Rank>(data, {2, 3});
};
static_assert(TakesTwoExtents<2>);
static_assert(!TakesTwoExtents<1> && !TakesTwoExtents<3> &&
              !TakesTwoExtents<4>);
template <std::size_t Rank>
concept CreatesOfTwoExtents = requires {
  Tensor<float, Rank>::create({2, 3});
};
static_assert(CreatesOfTwoExtents<2>);
static_assert(!CreatesOfTwoExtents<1> && !CreatesOfTwoExtents<4>);
template <std::size_t Rank>
concept TakesTwoStrides = requires(float* data, Extents<Rank> extents) {
  TensorView<float, Rank>(data, extents, {3, 1});
};
static_assert(TakesTwoStrides<2> && !TakesTwoStrides<3>);

TEST(TensorViewTest, APermutedViewMovesNothing) {
  auto tensor = Tensor<float, 4>::create({2, 3, 4, 5}).value();
  std::iota(tensor.elements().begin(), tensor.elements().end(), 0.0f);
  const TensorView<const float, 4> view = as_blhd(tensor);
  EXPECT_EQ(view.extents(), (Extents<4>{2, 4, 3, 5}));
  EXPECT_EQ(&view(1, 3, 2, 4), &tensor(1, 2, 3, 4));
  EXPECT_EQ(&as_bhld(view)(1, 2, 3, 4), &tensor(1, 2, 3, 4));
}

TEST(TensorViewTest, ABatchOfOneIsTheSameElements) {
  auto tensor = Tensor<float, 2>::create({3, 4}).value();
  const TensorView<float, 3> view = as_batch_of_one(tensor);
  EXPECT_EQ(view.extents(), (Extents<3>{1, 3, 4}));
  EXPECT_EQ(&view(0, 2, 1), &tensor(2, 1));
}

int rank_of(TensorView<const float, 2>) { return 2; }
int rank_of(TensorView<const float, 3>) { return 3; }
int rank_of(TensorView<const float, 4>) { return 4; }

TEST(TensorViewTest, ATensorChoosesTheOverloadOfItsRank) {
  auto tensor = Tensor<float, 3>::create({2, 3, 4}).value();
  EXPECT_EQ(rank_of(tensor), 3);
  EXPECT_EQ(rank_of(tensor.view()), 3);
  EXPECT_EQ(rank_of({tensor.data(), {6, 4}}), 2);
  EXPECT_EQ(rank_of({tensor.data(), {2, 3, 4}}), 3);
  EXPECT_EQ(rank_of({tensor.data(), {1, 2, 3, 4}}), 4);
}

TEST(TensorViewTest, SeesTheElementsOfWhatItIsMadeOf) {
  auto tensor = Tensor<float, 2>::create({3, 4}).value();
  const TensorView of_tensor = tensor;
  static_assert(
      std::is_same_v<decltype(of_tensor), const TensorView<float, 2>>);
  EXPECT_EQ(of_tensor.extents(), tensor.extents());
  EXPECT_EQ(&of_tensor(2, 1), &tensor(2, 1));

  const std::vector<float> numbers = {1, 2, 3};
  const TensorView of_numbers = numbers;
  static_assert(
      std::is_same_v<decltype(of_numbers), const TensorView<const float, 1>>);
  EXPECT_EQ(of_numbers.extents(), Extents<1>{3});
  EXPECT_EQ(&of_numbers(2), &numbers[2]);

  const TensorView rows(numbers.data(), {1, 3});
  static_assert(
      std::is_same_v<decltype(rows), const TensorView<const float, 2>>);
  EXPECT_EQ(&rows(0, 2), &numbers[2]);

  const Offsets offsets = std::span<const std::int64_t>();
  EXPECT_TRUE(offsets.ragged());
}

TEST(TensorViewTest, OfRank0IsOneElement) {
  const float number = 3;
  const TensorView<const float, 0> view(&number, {});
  EXPECT_EQ(view.size(), 1u);
  EXPECT_EQ(view(), 3.0f);
}

TEST(TensorViewTest, SplitHeadsKeepsTheTensorsConstness) {
  auto tensor = Tensor<float, 3>::create({2, 3, 4}).value();
  const Tensor<float, 3>& const_tensor = tensor;
  const auto writable = split_heads(tensor, 2).value();
  const auto readable = split_heads(const_tensor, 2).value();
  static_assert(std::is_same_v<decltype(writable), const TensorView<float, 4>>);
  EXPECT_EQ(&writable(1, 2, 1, 1), &readable(1, 2, 1, 1));
}

}  // namespace
}  // namespace headwise
