// A page that is made when it is asked for, and kept until it would be another one.
//
// The pages that few clients read (the older per-pod page, that of requests and use, a node's JSON)
// cost nothing until a client asks for them.  Each is made from the newest snapshot and is known by
// a key: what it depends on.  Of with the same key returns the page from before.  One thread each.
#pragma once

#include <memory>
#include <utility>

namespace podgpu {

template <typename Key, typename Page>
class LazyPage {
 public:
  // The page of `key`: the last one if its key was equal, else what `make` returns, a shared_ptr.
  // `make` gets the last page, or null.
  template <typename Make>
  const std::shared_ptr<const Page>& Of(const Key& key, const Make& make) {
    if (page_ == nullptr || !(key == key_)) {
      page_ = make(page_.get());
      key_ = key;
    }
    return page_;
  }

 private:
  Key key_{};
  std::shared_ptr<const Page> page_;
};

}  // namespace podgpu
