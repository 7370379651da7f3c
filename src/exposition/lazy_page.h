// A page that is made on the first request and reused until its key changes.
//
// Pages that few clients read (the legacy per-pod page, the page of requested and used resources, a
// node's JSON) cost nothing until a client requests them.  Each is made from the newest snapshot.
// Its key holds everything that it depends on; while the key stays equal, Of returns the same page.
// Each LazyPage is used on one thread.
#pragma once

#include <memory>
#include <utility>

namespace podgpu {

template <typename Key, typename Page>
class LazyPage {
 public:
  // Returns the last page if its key equals `key`, else a new page from `make`. `make` gets the
  // last page, or null, and returns a shared_ptr.
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
