// The objects that callers of the simulated NVML allocate and free: samples, event sets.
//
// An object is known by its address.  An object that was freed, or never made, is not found.  An
// object that is freed while a call uses it lives until that call ends.  Any thread.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <vector>

namespace podgpu::sim {

template <typename Object>
class NvmlObjects {
 public:
  // The objects of this process; never destroyed, since calls may come while the program ends.
  static NvmlObjects& Get() {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): as NvmlSession::Get.
    static NvmlObjects* const objects = std::make_unique<NvmlObjects>().release();
    return *objects;
  }

  Object* Make() {
    const std::lock_guard<std::mutex> lock(mutex_);
    objects_.push_back(std::make_shared<Object>());
    return objects_.back().get();
  }
  // Null when there is no such object.
  std::shared_ptr<Object> Find(const Object* object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = std::ranges::find(objects_, object, &std::shared_ptr<Object>::get);
    return found == objects_.end() ? nullptr : *found;
  }
  bool Free(const Object* object) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::erase_if(objects_, [object](const auto& one) { return one.get() == object; }) > 0;
  }

 private:
  std::mutex mutex_;  // Guards the list; an object guards itself.
  std::vector<std::shared_ptr<Object>> objects_;
};

}  // namespace podgpu::sim
