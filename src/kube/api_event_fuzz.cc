// Feeds bytes to the watch reader: the JSON stream and the event parser. The same bytes are also
// read as a list. Invariants: the same bytes give the same objects for every division into chunks;
// memory is limited; each object reaches from a brace to its match; every parsed text is valid
// UTF-8.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "kube/api_object.h"
#include "kube/json_stream.h"
#include "kube/list_stream.h"

namespace {

constexpr size_t kMaxObjectBytes = 4096;

struct Outcome {
  std::vector<std::string> objects;
  bool broken = false;
  bool operator==(const Outcome&) const = default;
};

Outcome Cut(std::string_view bytes, size_t piece) {
  podgpu::JsonStream stream(kMaxObjectBytes);
  Outcome outcome;
  for (size_t at = 0; at < bytes.size() && !outcome.broken; at += piece) {
    stream.Append(bytes.substr(at, piece));
    while (true) {
      const auto next = stream.Next();
      outcome.broken = !next.ok();
      if (!next.ok() || !next->has_value()) {
        break;
      }
      outcome.objects.emplace_back(**next);
    }
    PODGPU_CHECK(outcome.broken || stream.pending_bytes() <= kMaxObjectBytes);
  }
  return outcome;
}

// Returns the objects of a list, and at the end the text around them.
Outcome CutList(std::string_view bytes, size_t piece) {
  podgpu::ListStream stream(kMaxObjectBytes);
  Outcome outcome;
  for (size_t at = 0; at < bytes.size() && !outcome.broken; at += piece) {
    stream.Append(bytes.substr(at, piece));
    while (true) {
      const auto next = stream.Next();
      outcome.broken = !next.ok();
      if (!next.ok() || !next->has_value()) {
        break;
      }
      outcome.objects.emplace_back(**next);
    }
  }
  if (const auto rest = stream.Surrounding(); rest.ok()) {
    outcome.objects.emplace_back(*rest);
  }
  return outcome;
}

void CheckClean(const std::string& text) { PODGPU_CHECK(podgpu::CleanUtf8(text) == text); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Outcome whole = Cut(bytes, size + 1);
  PODGPU_CHECK(Cut(bytes, 1) == whole);
  PODGPU_CHECK(Cut(bytes, 13) == whole);
  const Outcome list = CutList(bytes, size + 1);
  PODGPU_CHECK(CutList(bytes, 1) == list);
  PODGPU_CHECK(CutList(bytes, 13) == list);
  for (const std::string& item : list.objects) {
    PODGPU_CHECK(item.size() <= size);
    if (const auto object = podgpu::ParseApiItem(item); object.ok()) {
      CheckClean(object->name_space + object->name);
    }
  }
  for (const std::string& object : whole.objects) {
    PODGPU_CHECK(object.front() == '{' && object.back() == '}');
    const podgpu::StatusOr<podgpu::ApiEvent> event = podgpu::ParseApiEvent(object);
    if (event.ok()) {
      CheckClean(event->object.name_space + event->object.name + event->object.uid);
      CheckClean(event->failure.reason + event->failure.message);
      CheckClean(event->object.node + event->object.ip + event->object.address_type);
      for (const podgpu::ApiEndpoint& endpoint : event->object.endpoints) {
        CheckClean(endpoint.ip + endpoint.node);
      }
      for (const podgpu::ApiPort& port : event->object.ports) {
        CheckClean(port.name);
        PODGPU_CHECK(port.number > 0);
      }
      for (const auto& [key, value] : event->object.labels) {
        CheckClean(key + value);
      }
    }
    static_cast<void>(podgpu::ParseApiListHead(object));
    if (const auto one = podgpu::ParseApiObject(object); one.ok()) {
      CheckClean(one->metrics.value_or(""));
    }
    static_cast<void>(podgpu::ParseApiVersions(object));
    static_cast<void>(podgpu::ParseApiFailure(object));
  }
  return 0;
}
