// vendor_probe LIBDCGM LIBNVML SOCKET|- FIELD...: the vendor's share of podgpu's cost.
//
// Makes the calls of podgpu's source thread, in its rhythm, and nothing else: no decoding, no page,
// no HTTP, no kubelet.  Of podgpu it uses only the declarations in src/abi, so its cost after
// opening the libraries is theirs, the buffers of their calls included.  "-" starts the embedded
// engine.  It prints "base" and waits for the end of its input, so its own cost can be measured
// first; then it opens the libraries, reads once, prints "reading" and continues with one reading
// per second until a signal ends it.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <memory>
#include <poll.h>
#include <span>
#include <string>
#include <vector>

#include "abi/dcgm_table.h"
#include "abi/nvml_table.h"

namespace podgpu {
namespace {

using abi::dcgmReturn_t;

// The same constants as in src/source and src/exporter.
constexpr size_t kValuesPerRoundTrip = 512;
constexpr size_t kValuesPerEmbeddedCall = 128;
constexpr size_t kFieldsPerGroup = abi::DCGM_MAX_FIELD_IDS_PER_FIELD_GROUP - 1;
constexpr uint16_t kNameField = 50;
constexpr uint32_t kNamesPerCall = 32;
constexpr uint16_t kXidField = 230;
constexpr double kKeepSeconds = 30;
constexpr double kXidKeepSeconds = 600;
constexpr int kPeriodMs = 1000;
constexpr int kReadingsPerScan = 10;
constexpr uint32_t kConnectTimeoutMs = 5000;

abi::DcgmTable dcgm;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): one program.
abi::NvmlTable nvml;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): likewise.

[[noreturn]] void Give(const char* what, int code) {
  std::fprintf(stderr, "vendor_probe: %s (%d)\n", what, code);
  std::exit(1);
}

void Need(dcgmReturn_t code, const char* what) {
  if (code != abi::DCGM_ST_OK) {
    Give(what, code);
  }
}

void* Open(const char* path) {
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    Give(::dlerror(), 0);
  }
  return library;
}

// Resolves the table as abi/load does: all symbols before the first call.
void Load(const char* dcgm_path, const char* nvml_path) {
  void* library = Open(dcgm_path);
#define X(result, symbol, capability, parameters) \
  dcgm.symbol = reinterpret_cast<decltype(dcgm.symbol)>(::dlsym(library, #symbol));
  PODGPU_DCGM_API(X)
#undef X
  library = Open(nvml_path);
#define X(result, symbol, capability, parameters) \
  nvml.symbol = reinterpret_cast<decltype(nvml.symbol)>(::dlsym(library, #symbol));
  PODGPU_NVML_API(X)
#undef X
}

abi::dcgmHandle_t Connect(const std::string& socket) {
  Need(dcgm.dcgmInit(), "dcgmInit");
  abi::dcgmHandle_t handle = 0;
  if (socket == "-") {
    abi::dcgmStartEmbeddedV2Params_v1 parameters{};
    parameters.version = abi::dcgmStartEmbeddedV2Params_version1;
    parameters.opMode = abi::DCGM_OPERATION_MODE_AUTO;
    parameters.severity = abi::DcgmLoggingSeverityNone;
    Need(dcgm.dcgmStartEmbedded_v2(&parameters), "dcgmStartEmbedded_v2");
    handle = parameters.dcgmHandle;
  } else {
    abi::dcgmConnectV3Params_v1 parameters{};
    parameters.version = abi::dcgmConnectV3Params_version1;
    parameters.timeoutMs = kConnectTimeoutMs;
    Need(dcgm.dcgmConnect_v3(("unix://" + socket).c_str(), &parameters, &handle), "dcgmConnect_v3");
  }
  abi::dcgmVersionInfo_v2 version{};
  version.version = abi::dcgmVersionInfo_version2;
  dcgm.dcgmVersionInfo(&version);
  dcgm.dcgmHostengineVersionInfo(handle, &version);
  return handle;
}

// The entities and fields to read, and the calls that find and read them.
class Probe {
 public:
  Probe(abi::dcgmHandle_t handle, bool is_embedded, std::vector<uint16_t> fields)
      : handle_(handle),
        values_per_call_(is_embedded ? kValuesPerEmbeddedCall : kValuesPerRoundTrip),
        fields_(std::move(fields)),
        hierarchy_(std::make_unique<abi::dcgmMigHierarchy_v2>()) {}

  // The device scan; the first one also reads the identities.
  void Scan(bool first) {
    uint32_t ids[abi::DCGM_MAX_NUM_DEVICES] = {};
    int count = 0;
    Need(dcgm.dcgmGetAllDevices(handle_, ids, &count), "dcgmGetAllDevices");
    const std::span<const uint32_t> gpus(ids, static_cast<size_t>(count));
    for (const uint32_t gpu : gpus) {
      abi::DcgmEntityStatus_t status{};
      Need(dcgm.dcgmGetGpuStatus(handle_, gpu, &status), "dcgmGetGpuStatus");
      if (first) {
        uuids_.push_back(ReadUuid(gpu));
      }
    }
    hierarchy_->version = abi::dcgmMigHierarchy_version2;
    Need(dcgm.dcgmGetGpuInstanceHierarchy(handle_, hierarchy_.get()), "the MIG hierarchy");
    if (first) {
      ListEntities(gpus);
      NameInstances();
      for (const uint32_t gpu : instances_ > 0 ? gpus : std::span<const uint32_t>()) {
        ReadUuid(gpu);
      }
    }
    ScanThroughNvml();
  }

  void Watch() {
    for (const uint16_t field : fields_) {
      dcgm.DcgmFieldGetById(field);
    }
    abi::dcgmProfGetMetricGroups_v3 groups{};
    groups.version = abi::dcgmProfGetMetricGroups_version3;
    dcgm.dcgmProfGetSupportedMetricGroups(handle_, &groups);
    Need(dcgm.dcgmGroupCreate(handle_, abi::DCGM_GROUP_EMPTY, "probe", &group_), "dcgmGroupCreate");
    for (const abi::dcgmGroupEntityPair_t& entity : entities_) {
      Need(dcgm.dcgmGroupAddEntity(handle_, group_, entity.entityGroupId, entity.entityId),
           "dcgmGroupAddEntity");
    }
    const auto is_event = [](uint16_t id) { return id == kXidField; };
    const auto is_profiling = [](uint16_t id) { return id >= 1000; };
    const auto is_plain = [&](uint16_t id) { return !is_event(id) && !is_profiling(id); };
    WatchThose(is_plain, kKeepSeconds);
    WatchThose(is_profiling, kKeepSeconds);
    WatchThose(is_event, kXidKeepSeconds);
  }

  void Read() {
    const size_t fields = std::min(fields_.size(), kFieldsPerGroup);
    const size_t devices = std::max<size_t>(values_per_call_ / fields, 1);
    reply_.resize(fields * std::min(devices, entities_.size()));
    for (size_t field = 0; field < fields_.size(); field += fields) {
      const size_t field_count = std::min(fields, fields_.size() - field);
      for (size_t device = 0; device < entities_.size(); device += devices) {
        const size_t device_count = std::min(devices, entities_.size() - device);
        Need(dcgm.dcgmEntitiesGetLatestValues(handle_, &entities_[device],
                                              static_cast<uint32_t>(device_count), &fields_[field],
                                              static_cast<uint32_t>(field_count), 0, reply_.data()),
             "dcgmEntitiesGetLatestValues");
      }
    }
  }

  size_t entity_count() const { return entities_.size(); }

 private:
  std::string ReadUuid(uint32_t gpu) const {
    abi::dcgmDeviceAttributes_v3 attributes{};
    attributes.version = abi::dcgmDeviceAttributes_version3;
    Need(dcgm.dcgmGetDeviceAttributes(handle_, gpu, &attributes), "dcgmGetDeviceAttributes");
    return attributes.identifiers.uuid;
  }

  void ListEntities(std::span<const uint32_t> gpus) {
    for (const uint32_t gpu : gpus) {
      entities_.push_back({abi::DCGM_FE_GPU, gpu});
    }
    for (uint32_t i = 0; i < hierarchy_->count; ++i) {
      const abi::dcgmGroupEntityPair_t& entity = hierarchy_->entityList[i].entity;
      if (entity.entityGroupId == abi::DCGM_FE_GPU_I) {
        entities_.push_back(entity);
        ++instances_;
      }
    }
  }

  void NameInstances() {
    std::vector<abi::dcgmFieldValue_v2> names(std::min<size_t>(kNamesPerCall, instances_));
    uint16_t field = kNameField;
    for (size_t begin = entities_.size() - instances_; begin < entities_.size();
         begin += kNamesPerCall) {
      const size_t count = std::min<size_t>(kNamesPerCall, entities_.size() - begin);
      Need(
          dcgm.dcgmEntitiesGetLatestValues(handle_, &entities_[begin], static_cast<uint32_t>(count),
                                           &field, 1, abi::DCGM_FV_FLAG_LIVE_DATA, names.data()),
          "the names of MIG profiles");
    }
  }

  void ScanThroughNvml() const {
    nvml.nvmlInit_v2();
    for (const std::string& uuid : uuids_) {
      abi::nvmlDevice_t device = nullptr;
      uint32_t number = 0;
      nvml.nvmlDeviceGetHandleByUUID(uuid.c_str(), &device);
      nvml.nvmlDeviceGetMinorNumber(device, &number);
      uint32_t count = 0;
      if (instances_ > 0) {
        nvml.nvmlDeviceGetMaxMigDeviceCount(device, &count);
      }
      for (uint32_t i = 0; i < count; ++i) {
        abi::nvmlDevice_t instance = nullptr;
        char mig_uuid[abi::NVML_DEVICE_UUID_V2_BUFFER_SIZE] = {};
        if (nvml.nvmlDeviceGetMigDeviceHandleByIndex(device, i, &instance) == abi::NVML_SUCCESS) {
          nvml.nvmlDeviceGetGpuInstanceId(instance, &number);
          nvml.nvmlDeviceGetComputeInstanceId(instance, &number);
          nvml.nvmlDeviceGetUUID(instance, mig_uuid, sizeof mig_uuid);
        }
      }
    }
    nvml.nvmlShutdown();
  }

  template <typename Condition>
  void WatchThose(Condition condition, double keep_s) {
    std::vector<uint16_t> ids;
    std::ranges::copy_if(fields_, std::back_inserter(ids), condition);
    for (size_t begin = 0; begin < ids.size(); begin += kFieldsPerGroup) {
      const size_t count = std::min(kFieldsPerGroup, ids.size() - begin);
      abi::dcgmFieldGrp_t group = 0;
      const std::string name = "probe-" + std::to_string(ids[begin]);
      Need(dcgm.dcgmFieldGroupCreate(handle_, static_cast<int>(count), &ids[begin], name.c_str(),
                                     &group),
           "dcgmFieldGroupCreate");
      Need(dcgm.dcgmWatchFields(handle_, group_, group, kPeriodMs * 1000, keep_s, 0),
           "dcgmWatchFields");
    }
  }

  const abi::dcgmHandle_t handle_;
  const size_t values_per_call_;
  std::vector<uint16_t> fields_;
  const std::unique_ptr<abi::dcgmMigHierarchy_v2> hierarchy_;
  std::vector<std::string> uuids_;
  std::vector<abi::dcgmGroupEntityPair_t> entities_;
  size_t instances_ = 0;  // Instances come last among the entities.
  abi::dcgmGpuGrp_t group_ = 0;
  std::vector<abi::dcgmFieldValue_v2> reply_;
};

void Run(std::span<char*> words) {
  std::vector<uint16_t> fields;
  for (const char* word : words.subspan(4)) {
    uint16_t id = 0;
    std::from_chars(word, word + std::strlen(word), id);
    fields.push_back(id);
  }
  std::puts("base");
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
  Load(words[1], words[2]);
  const std::string socket = words[3];
  Probe probe(Connect(socket), socket == "-", std::move(fields));
  probe.Scan(true);
  probe.Watch();
  probe.Read();
  std::printf("reading %zu entities\n", probe.entity_count());
  std::fflush(stdout);
  for (int reading = 1;; ++reading) {
    ::poll(nullptr, 0, kPeriodMs);
    if (reading % kReadingsPerScan == 0) {
      probe.Scan(false);
    }
    probe.Read();
  }
}

}  // namespace
}  // namespace podgpu

int main(int argc, char** argv) {
  const std::span<char*> words(argv, static_cast<size_t>(argc));
  if (argc < 5) {
    std::fputs("usage: vendor_probe LIBDCGM LIBNVML SOCKET|- FIELD...\n", stderr);
    return 2;
  }
  podgpu::Run(words);
}
