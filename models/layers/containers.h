// Modules made of a number of others, which they own.
//
// Parts are called "0", "1", ... as in PyTorch. Separate from module.h because these are templates
// over the layers' types; a module itself is not. Their number is guarded: a function that was
// compiled before a layer was added is compiled again. Where they are asked for a layer they say so
// to compile_regions (repeated_blocks.h).
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "graph/tensor/guarded.h"
#include "models/layers/module.h"
#include "models/layers/repeated_blocks.h"
#include "runtime/base/error.h"

namespace tilewright {

namespace detail {

struct EndOfList {};
// Walks through a list, which it asks for each of its modules and, at the end of a turn, for its
// size.
template <typename List, typename Layer>
class ListIterator {
 public:
  explicit ListIterator(List& list) : list_(&list) {}
  Layer& operator*() const { return (*list_)[index_]; }
  Layer* operator->() const { return &**this; }
  ListIterator& operator++() {
    ++index_;
    return *this;
  }
  bool operator==(EndOfList) const { return index_ >= list_->size(); }

 private:
  List* list_;
  std::size_t index_ = 0;
};

// A layer of a Sequential, which is called: net[0](x).
class SequentialLayer {
 public:
  using Forward = std::function<Tensor(const Tensor&, std::source_location)>;
  SequentialLayer(Module& module, const Forward& forward) : module_(module), forward_(forward) {}
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward_(x, w);
  }
  operator Module&() const { return module_; }

 private:
  Module& module_;
  const Forward& forward_;
};

}  // namespace detail

// A list of modules of one type, for a model whose `forward` walks through them:
//   ModuleList<Linear> layers;
//   for (Linear& layer : layers) x = layer(x);
template <std::derived_from<Module> Layer>
class ModuleList : public Module {
 public:
  template <typename... Arguments>
  Layer& add(Arguments&&... arguments) {
    auto layer = std::make_unique<Layer>(std::forward<Arguments>(arguments)...);
    register_module(std::to_string(layers_.size()), *layer);
    layers_.push_back(std::move(layer));
    count_ = layers_.size();
    return *layers_.back();
  }
  std::size_t size(std::source_location w = std::source_location::current()) const {
    if (detail::captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
      detail::leave_list(*this);
    return count_.get(w);
  }
  // The index is an object made of a number, and lasts to the end of the expression.
  // `Error` past the last layer.
  Layer& operator[](detail::BlockIndex&& i) { return i.enter(layer(i.index())); }
  const Layer& operator[](detail::BlockIndex&& i) const {
    return i.enter(std::as_const(layer(i.index())));
  }
  auto begin() { return detail::ListIterator<ModuleList, Layer>(*this); }
  auto begin() const { return detail::ListIterator<const ModuleList, const Layer>(*this); }
  detail::EndOfList end() const { return {}; }
  bool is_list() const override { return true; }

 private:
  Layer& layer(std::size_t i) const {
    require(i < layers_.size(), "[ModuleList] there is no layer ", i, " among ", layers_.size(),
            "; name one that was added");
    return *layers_[i];
  }

  std::vector<std::unique_ptr<Layer>> layers_;
  Guarded<std::size_t> count_{0, "the number of layers"};
};

// Modules of any types with `Tensor forward(const Tensor&)`, one after the other:
//
//   Sequential net;
//   net.add<Conv2d>(3, 16, 7, {.stride = 2, .padding = 3});
//   net.add<BatchNorm2d>(16);
//   net.add<Relu>();
class Sequential : public Module {
 public:
  Sequential() = default;

  // `count` layers, each made from the same arguments:
  //   auto model = Sequential::repeat<Layer>(64);
  template <std::derived_from<Module> Layer, typename... Arguments>
  static Sequential repeat(std::size_t count, const Arguments&... arguments) {
    return Sequential(Repeat{}, count, [&](Sequential& s) { s.add<Layer>(arguments...); });
  }

  template <std::derived_from<Module> Layer, typename... Arguments>
  requires requires(Layer& layer, const Tensor& x) {
    { layer.forward(x) } -> std::convertible_to<Tensor>;
  }
  Layer& add(Arguments&&... arguments) {
    auto layer = std::make_unique<Layer>(std::forward<Arguments>(arguments)...);
    Layer& added = *layer;
    register_module(std::to_string(steps_.size()), added);
    steps_.push_back([&added](const Tensor& x, [[maybe_unused]] std::source_location w) -> Tensor {
      if constexpr (requires { added.forward(x, w); })
        return added.forward(x, w);
      else if constexpr (requires { added.forward(x, {}, w); })  // masks, say
        return added.forward(x, {}, w);
      else
        return added.forward(x);
    });
    layers_.push_back(std::move(layer));
    count_ = layers_.size();
    return added;
  }

  // For options in braces, which have a type only where the layer says which.
  template <std::derived_from<Module> Layer, typename A>
  Layer& add(A&& a, const typename Layer::Options& options) {
    return add<Layer, A, const typename Layer::Options&>(std::forward<A>(a), options);
  }
  template <std::derived_from<Module> Layer, typename A, typename B>
  Layer& add(A&& a, B&& b, const typename Layer::Options& options) {
    return add<Layer, A, B, const typename Layer::Options&>(std::forward<A>(a), std::forward<B>(b),
                                                            options);
  }
  template <std::derived_from<Module> Layer, typename A, typename B, typename C>
  Layer& add(A&& a, B&& b, C&& c, const typename Layer::Options& options) {
    return add<Layer, A, B, C, const typename Layer::Options&>(
        std::forward<A>(a), std::forward<B>(b), std::forward<C>(c), options);
  }

  // Layer i, which is of that type; `Error` where it is not, or is not there.
  template <std::derived_from<Module> Layer>
  Layer& get(std::size_t i, std::source_location w = std::source_location::current()) const {
    Layer* layer = i < layers_.size() ? dynamic_cast<Layer*>(layers_[i].get()) : nullptr;
    require(layer != nullptr, "[Sequential] there is no layer ", i, " of that type among ",
            layers_.size(), " (at ", describe(w), "); name one that was added, and its type");
    return *layer;
  }
  std::size_t size(std::source_location w = std::source_location::current()) const {
    if (detail::captures.load(std::memory_order_relaxed) != 0) [[unlikely]]
      detail::leave_list(*this);
    return count_.get(w);
  }
  // Layer i, of any type: net[i](x), or a Module&.
  detail::SequentialLayer operator[](detail::BlockIndex&& i) const {
    require(i.index() < layers_.size(), "[Sequential] there is no layer ", i.index(), " among ",
            layers_.size(), "; name one that was added");
    return {i.enter(*layers_[i.index()]), steps_[i.index()]};
  }
  // Layers that take a line, as the library's do, get that of this call.
  Tensor forward(const Tensor& x, std::source_location w = std::source_location::current()) const {
    Tensor y = x;
    for (std::size_t i = 0; i < size(w); ++i) {
      detail::BlockIndex step(i);
      step.enter(*layers_[i]);
      y = steps_[i](y, w);
    }
    return y;
  }
  Tensor operator()(const Tensor& x,
                    std::source_location w = std::source_location::current()) const {
    return forward(x, w);
  }
  bool is_list() const override { return true; }

 private:
  struct Repeat {};
  // A module cannot be moved, so `repeat` has to build its result where it will stay.
  template <typename AddOne>
  Sequential(Repeat, std::size_t count, AddOne add_one) {
    for (std::size_t i = 0; i < count; ++i) add_one(*this);
  }
  std::vector<std::unique_ptr<Module>> layers_;
  std::vector<detail::SequentialLayer::Forward> steps_;
  Guarded<std::size_t> count_{0, "the number of layers"};
};

}  // namespace tilewright
