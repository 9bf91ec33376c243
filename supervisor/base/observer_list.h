// ObserverList: the observers of one object, each a struct of functions. An observer is called as long as the object
// that add() returned exists.
// Used by: calls::Approvals, executions::ExecutionRegistry. No errors.
#pragma once
#include <list>
#include <memory>
#include <utility>

template <class Observer>
class ObserverList {
  using List = std::list<Observer>;

 public:
  // The right of one observer to be called. The destructor ends it, before or after the end of the list.
  class [[nodiscard]] Place {
   public:
    Place() = default;  // of no list
    Place(Place&& other) noexcept : list_(std::exchange(other.list_, {})), observer_(other.observer_) {}
    Place& operator=(Place&& other) noexcept {
      leave();
      list_ = std::exchange(other.list_, {});
      observer_ = other.observer_;
      return *this;
    }
    ~Place() { leave(); }

   private:
    friend class ObserverList;
    Place(std::weak_ptr<List> list, typename List::iterator observer) : list_(std::move(list)), observer_(observer) {}
    void leave() {
      if (const auto list = std::exchange(list_, {}).lock()) list->erase(observer_);
    }

    std::weak_ptr<List> list_;
    typename List::iterator observer_;
  };

  Place add(Observer observer) {
    const auto position = list_->insert(list_->end(), std::move(observer));
    return Place(list_, position);
  }
  // Calls `fn` with each observer, in the order of add(). `fn` must not end the place of an observer.
  template <class Fn>
  void each(Fn fn) const {
    for (const Observer& observer : *list_) fn(observer);
  }

 private:
  std::shared_ptr<List> list_ = std::make_shared<List>();
};
