#include <algorithm>
#include <string_view>

#include "base/status.h"
#include "fields/field.h"
#include "source/testing/fake_dcgm_calls.h"
#include "source/testing/fake_dcgm_table.h"
#include "source/testing/fake_dcgm_values.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

namespace {

constexpr dcgmHandle_t kHandle = 7;

}  // namespace

// The vendor's functions, for the current fake.
struct FakeDcgmFunctions : FakeDcgmCalls {
  static const char* ErrorString(dcgmReturn_t code) {
    const char* words = Words(code);
    Call("errorString", {Whole(&words)}, [](FakeDcgm&) { return DCGM_ST_OK; });
    return words;
  }

  static const char* Words(dcgmReturn_t code) {
    switch (code) {
      case DCGM_ST_CONNECTION_NOT_VALID:
        return "The connection to the host engine is not valid any longer";
      case DCGM_ST_MODULE_NOT_LOADED:
        return "This request is serviced by a module of DCGM that is not currently loaded";
      default:
        return code < -200 ? nullptr : "as the fake says";
    }
  }

  static const dcgm_field_meta_t* FieldById(uint16_t field) {
    const dcgm_field_meta_t* meta = nullptr;
    Call("DcgmFieldGetById", {Whole(&meta)}, [&](FakeDcgm& fake) {
      meta = fake.unknown_fields.contains(field) ? nullptr : FindDcgmMeta(field);
      return DCGM_ST_OK;
    });
    return meta;
  }

  static dcgmReturn_t Init() {
    return Call("dcgmInit", {}, [](FakeDcgm&) { return DCGM_ST_OK; });
  }

  static dcgmReturn_t Shutdown() {
    return Call("dcgmShutdown", {}, [](FakeDcgm& fake) {
      fake.connected_ = false;
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t StartEmbedded(dcgmStartEmbeddedV2Params_v1* parameters) {
    return Call("dcgmStartEmbedded_v2", {Whole(parameters)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
      if (parameters->version != dcgmStartEmbeddedV2Params_version1) {
        return DCGM_ST_VER_MISMATCH;
      }
      if (fake.down_) {
        return DCGM_ST_INIT_ERROR;
      }
      fake.connected_ = true;
      parameters->dcgmHandle = DCGM_EMBEDDED_HANDLE;
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t Connect(const char* symbol, const char* address, uint32_t timeout_ms,
                              dcgmHandle_t* handle) {
    return Call(symbol, {Whole(handle)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
      fake.last_address_ = address;
      fake.last_timeout_ms_ = timeout_ms;
      if (fake.down_) {
        return DCGM_ST_CONNECTION_NOT_VALID;
      }
      fake.connected_ = true;
      *handle = kHandle;
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t Connect2(const char* address, dcgmConnectV2Params_v2* parameters,
                               dcgmHandle_t* handle) {
    const std::string noted =
        std::string(parameters->addressIsUnixSocket != 0 ? "socket " : "") + address;
    return Connect("dcgmConnect_v2", noted.c_str(), parameters->timeoutMs, handle);
  }

  static dcgmReturn_t Connect3(const char* address, dcgmConnectV3Params_v1* parameters,
                               dcgmHandle_t* handle) {
    return Connect("dcgmConnect_v3", address, parameters->timeoutMs, handle);
  }

  static dcgmReturn_t Disconnect(dcgmHandle_t) {
    return Call("dcgmDisconnect", {}, [](FakeDcgm& fake) {
      fake.DisconnectLocked();
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t AllDevices(dcgmHandle_t, uint32_t* ids, int* count) {
    return Connected(
        "dcgmGetAllDevices", {{ids, sizeof(uint32_t) * DCGM_MAX_NUM_DEVICES}, Whole(count)},
        [&](FakeDcgm& fake) {
          *count = static_cast<int>(fake.gpus.size());
          for (size_t i = 0; i < std::min<size_t>(fake.gpus.size(), DCGM_MAX_NUM_DEVICES); ++i) {
            ids[i] = fake.gpus[i].gpu_id;
          }
          return DCGM_ST_OK;
        });
  }

  static dcgmReturn_t GpuStatus(dcgmHandle_t, uint32_t gpu, DcgmEntityStatus_t* status) {
    return Connected("dcgmGetGpuStatus", {Whole(status)}, [&](FakeDcgm& fake) {
      const auto found = std::ranges::find(fake.gpus, gpu, &FakeGpu::gpu_id);
      *status = found == fake.gpus.end() ? DcgmEntityStatusUnknown : found->status;
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t Attributes(dcgmHandle_t, uint32_t gpu, dcgmDeviceAttributes_v3* attributes) {
    return Connected(
        "dcgmGetDeviceAttributes", {Whole(attributes)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
          if (attributes->version != dcgmDeviceAttributes_version3) {
            return DCGM_ST_VER_MISMATCH;
          }
          const auto found = std::ranges::find(fake.gpus, gpu, &FakeGpu::gpu_id);
          const bool is_there = found != fake.gpus.end() && found->status != DcgmEntityStatusLost;
          const auto text = [&](const std::string& known) {
            return is_there ? known : std::string(DCGM_STR_BLANK);
          };
          const FakeGpu facts = found == fake.gpus.end() ? FakeGpu{} : *found;
          dcgmDeviceIdentifiers_v1& who = attributes->identifiers;
          PutText(who.uuid, text(facts.uuid));
          PutText(who.pciBusId, text(facts.pci_bus_id));
          PutText(who.deviceName, text(facts.model));
          const bool is_detached = facts.status == DcgmEntityStatusDetached;
          const auto board = [&](const std::string& known) {
            return is_detached ? std::string(DCGM_STR_BLANK) : text(known);
          };
          PutText(who.serial, board(facts.serial.empty() ? DCGM_STR_NOT_SUPPORTED : facts.serial));
          PutText(who.vbios, board(facts.vbios_version));
          PutText(who.driverVersion, fake.driver_version);
          constexpr uint32_t kBlank = DCGM_INT32_BLANK;
          const uint32_t mode = facts.mig_enabled ? 1 : 0;
          attributes->settings.migModeEnabled = is_detached ? kBlank : mode;
          return DCGM_ST_OK;
        });
  }

  static dcgmReturn_t GroupCreate(dcgmHandle_t, dcgmGroupType_t, const char*, dcgmGpuGrp_t* group) {
    return Connected("dcgmGroupCreate", {Whole(group)}, [&](FakeDcgm& fake) {
      *group = fake.next_id_++;
      fake.groups_[*group] = {};
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t GroupAdd(dcgmHandle_t, dcgmGpuGrp_t group, int entity_group,
                               uint32_t entity) {
    return Connected("dcgmGroupAddEntity", {}, [&](FakeDcgm& fake) -> dcgmReturn_t {
      const auto found = fake.groups_.find(group);
      if (found == fake.groups_.end()) {
        return DCGM_ST_NOT_CONFIGURED;
      }
      const auto gpu = std::ranges::find(fake.gpus, entity, &FakeGpu::gpu_id);
      const auto instance = std::ranges::find(fake.instances, entity, &FakeGpuInstance::entity_id);
      const auto nvswitch = std::ranges::find(fake.switches, entity, &FakeSwitch::id);
      if ((entity_group == DCGM_FE_GPU && gpu == fake.gpus.end()) ||
          (entity_group == DCGM_FE_GPU_I && instance == fake.instances.end()) ||
          (entity_group == DCGM_FE_SWITCH && nvswitch == fake.switches.end()) ||
          (entity_group == DCGM_FE_CPU && !fake.cpus.contains(entity))) {
        return DCGM_ST_BADPARAM;
      }
      if (entity_group == DCGM_FE_GPU && gpu->status == DcgmEntityStatusLost) {
        return DCGM_ST_GPU_IS_LOST;
      }
      const size_t limit = fake.generation == DcgmGeneration::k3 ? 64 : 1024;
      if (found->second.members.size() == limit) {
        return DCGM_ST_MAX_LIMIT;
      }
      return found->second.members.emplace(entity_group, entity).second
                 ? static_cast<dcgmReturn_t>(DCGM_ST_OK)
                 : static_cast<dcgmReturn_t>(DCGM_ST_BADPARAM);
    });
  }

  static dcgmReturn_t GroupDestroy(dcgmHandle_t, dcgmGpuGrp_t group) {
    return Connected("dcgmGroupDestroy", {}, [&](FakeDcgm& fake) -> dcgmReturn_t {
      return fake.groups_.erase(group) == 1 ? static_cast<dcgmReturn_t>(DCGM_ST_OK)
                                            : static_cast<dcgmReturn_t>(DCGM_ST_NOT_CONFIGURED);
    });
  }

  static dcgmReturn_t FieldGroupCreate(dcgmHandle_t, int count, const uint16_t* fields,
                                       const char* name, dcgmFieldGrp_t* field_group) {
    return Connected(
        "dcgmFieldGroupCreate", {Whole(field_group)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
          const std::vector<uint16_t> ids(fields, fields + count);
          const bool has_unknown = std::ranges::any_of(ids, [&](uint16_t id) {
            return fake.unknown_fields.contains(id) || fake.engine_unknown.contains(id);
          });
          if (count < 1 || count > 127 || has_unknown) {
            return DCGM_ST_BADPARAM;
          }
          if (!fake.field_group_names_.insert(name).second) {
            return DCGM_ST_DUPLICATE_KEY;
          }
          *field_group = fake.next_id_++;
          fake.field_groups_[*field_group] = ids;
          return DCGM_ST_OK;
        });
  }

  static dcgmReturn_t FieldGroupDestroy(dcgmHandle_t, dcgmFieldGrp_t field_group) {
    return Connected("dcgmFieldGroupDestroy", {}, [&](FakeDcgm& fake) -> dcgmReturn_t {
      return fake.field_groups_.erase(field_group) == 1
                 ? static_cast<dcgmReturn_t>(DCGM_ST_OK)
                 : static_cast<dcgmReturn_t>(DCGM_ST_NO_DATA);
    });
  }

  static dcgmReturn_t Watch(dcgmHandle_t, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group,
                            long long period_us, double keep_s, int) {
    return Connected("dcgmWatchFields", {}, [&](FakeDcgm& fake) -> dcgmReturn_t {
      if (!fake.groups_.contains(group)) {
        return DCGM_ST_NOT_CONFIGURED;
      }
      if (!fake.field_groups_.contains(field_group)) {
        return DCGM_ST_NO_DATA;
      }
      if (const dcgmReturn_t refusal = RefusalOf(fake, group, field_group); refusal != DCGM_ST_OK) {
        return refusal;
      }
      fake.watches_.push_back({group, field_group, period_us, keep_s, {}});
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t RefusalOf(FakeDcgm& fake, uint64_t group, uint64_t field_group) {
    constexpr ptrdiff_t kMostProfilingFields = 64;
    const std::vector<uint16_t>& ids = fake.field_groups_[field_group];
    const auto profiling =
        std::ranges::count_if(ids, [](uint16_t id) { return FindField(id)->profiling; });
    if (profiling > kMostProfilingFields) {
      return DCGM_ST_GENERIC_ERROR;
    }
    if (std::ranges::any_of(ids, [&](uint16_t id) { return fake.unwatchable.contains(id); })) {
      return fake.unwatchable_code;
    }
    const auto& members = fake.groups_[group].members;
    const bool lacks_profiler = std::ranges::any_of(members, [&](const auto& member) {
      return member.first == DCGM_FE_GPU && fake.without_profiler.contains(member.second);
    });
    return profiling > 0 && lacks_profiler ? DCGM_ST_MODULE_NOT_LOADED : DCGM_ST_OK;
  }

  static dcgmReturn_t Unwatch(dcgmHandle_t, dcgmGpuGrp_t group, dcgmFieldGrp_t field_group) {
    return Connected("dcgmUnwatchFields", {}, [&](FakeDcgm& fake) {
      std::erase_if(fake.watches_, [&](const FakeDcgm::Watch& watch) {
        return watch.group == group && watch.fields == field_group;
      });
      return DCGM_ST_OK;
    });
  }

  // NOLINTNEXTLINE(readability-function-size): seven parameters are the vendor's.
  static dcgmReturn_t Latest(dcgmHandle_t, dcgmGroupEntityPair_t* entities, uint32_t entity_count,
                             uint16_t* fields, uint32_t field_count, uint32_t flags,
                             dcgmFieldValue_v2* values) {
    return Connected(
        "dcgmEntitiesGetLatestValues", {{values, sizeof(*values) * entity_count * field_count}},
        [&](FakeDcgm& fake) -> dcgmReturn_t {
          fake.live_flags_.push_back(flags);
          const uint32_t limit = fake.generation == DcgmGeneration::k3 ? 64 : 1024;
          if (entity_count == 0 || field_count == 0 || entity_count > limit || field_count > 128) {
            return DCGM_ST_BADPARAM;
          }
          const uint32_t count = entity_count * field_count;
          for (uint32_t i = 0; i < count - (fake.omit_last_reply ? 1 : 0); ++i) {
            const dcgmGroupEntityPair_t& entity = entities[i / field_count];
            const uint16_t field = fields[i % field_count];
            if (fake.unknown_fields.contains(field) || fake.engine_unknown.contains(field)) {
              return DCGM_ST_GENERIC_ERROR;
            }
            values[fake.reverse_replies ? count - 1 - i : i] =
                fake.Answer(entity.entityGroupId, entity.entityId, field,
                            (flags & DCGM_FV_FLAG_LIVE_DATA) != 0);
          }
          return DCGM_ST_OK;
        });
  }

  static dcgmReturn_t Version(dcgmVersionInfo_v2* version) {
    return Call("dcgmVersionInfo", {Whole(version)}, [&](FakeDcgm&) {
      PutText(version->rawBuildInfoString, "version:4.6.0;arch:x86_64;buildtype:Release");
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t EngineVersion(dcgmHandle_t, dcgmVersionInfo_v2* version) {
    return Connected("dcgmHostengineVersionInfo", {Whole(version)}, [&](FakeDcgm& fake) {
      PutText(version->rawBuildInfoString, "arch:x86_64;version:" + fake.version + ";crc:1");
      return DCGM_ST_OK;
    });
  }

  static dcgmReturn_t Hierarchy(dcgmHandle_t, dcgmMigHierarchy_v2* hierarchy) {
    return Connected(
        "dcgmGetGpuInstanceHierarchy", {Whole(hierarchy)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
          if (hierarchy->version != dcgmMigHierarchy_version2) {
            return DCGM_ST_VER_MISMATCH;
          }
          if (!fake.has_nvml) {
            return DCGM_ST_NVML_NOT_LOADED;
          }
          hierarchy->count = 0;
          const auto add = [&](dcgmGroupEntityPair_t entity, dcgmGroupEntityPair_t parent,
                               uint32_t gpu_instance_id, uint32_t compute_instance_id) {
            dcgmMigHierarchyInfo_v2& entry = hierarchy->entityList[hierarchy->count++];
            entry = {};
            entry.entity = entity;
            entry.parent = parent;
            entry.info.nvmlInstanceId = gpu_instance_id;
            entry.info.nvmlComputeInstanceId = compute_instance_id;
          };
          for (const FakeGpuInstance& instance : fake.instances) {
            add({DCGM_FE_GPU_I, instance.entity_id}, {DCGM_FE_GPU, instance.gpu_id},
                instance.gpu_instance_id, 0xffffffffU);
            for (const auto& [entity, id] : instance.compute_instances) {
              add({DCGM_FE_GPU_CI, entity}, {DCGM_FE_GPU_I, instance.entity_id},
                  instance.gpu_instance_id, id);
            }
          }
          return DCGM_ST_OK;
        });
  }

  template <typename Status>
  static void FillLinks(const FakeDcgm& fake, Status& status) {
    const auto set_up = [](auto& states, const std::vector<uint32_t>& links) {
      for (const uint32_t link : links) {
        states[link] = DcgmNvLinkLinkStateUp;
      }
    };
    status.numGpus = static_cast<uint32_t>(fake.gpus.size());
    for (size_t i = 0; i < fake.gpus.size(); ++i) {
      status.gpus[i] = {};
      status.gpus[i].entityId = fake.gpus[i].gpu_id;
      status.gpus[i].linkState[0] = DcgmNvLinkLinkStateDown;
      if (const auto links = fake.links_up.find(fake.gpus[i].gpu_id);
          links != fake.links_up.end()) {
        set_up(status.gpus[i].linkState, links->second);
      }
    }
    status.numNvSwitches = static_cast<uint32_t>(fake.switches.size());
    for (size_t i = 0; i < fake.switches.size(); ++i) {
      status.nvSwitches[i] = {};
      status.nvSwitches[i].entityId = fake.switches[i].id;
      set_up(status.nvSwitches[i].linkState, fake.switches[i].links_up);
    }
  }

  static dcgmReturn_t LinkStatus(dcgmHandle_t, void* status) {
    const bool is_3 = Current()->generation == DcgmGeneration::k3;
    const size_t size = is_3 ? sizeof(dcgmNvLinkStatus_v3) : sizeof(dcgmNvLinkStatus_v4);
    return Connected(
        "dcgmGetNvLinkLinkStatus", {{status, size}}, [&](FakeDcgm& fake) -> dcgmReturn_t {
          const uint32_t version = *static_cast<uint32_t*>(status);
          if (version != (is_3 ? dcgmNvLinkStatus_version3 : dcgmNvLinkStatus_version4)) {
            return DCGM_ST_VER_MISMATCH;
          }
          is_3 ? FillLinks(fake, *static_cast<dcgmNvLinkStatus_v3*>(status))
               : FillLinks(fake, *static_cast<dcgmNvLinkStatus_v4*>(status));
          return DCGM_ST_OK;
        });
  }

  static dcgmReturn_t Cpus(dcgmHandle_t, dcgmCpuHierarchy_v1* hierarchy) {
    return Connected(
        "dcgmGetCpuHierarchy", {Whole(hierarchy)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
          if (fake.cpus.empty() || hierarchy->version != dcgmCpuHierarchy_version1) {
            return fake.cpus.empty() ? DCGM_ST_MODULE_NOT_LOADED : DCGM_ST_VER_MISMATCH;
          }
          hierarchy->numCpus = 0;
          for (const auto& [id, cores] : fake.cpus) {
            dcgmCpuHierarchyCpu_v1& cpu = hierarchy->cpus[hierarchy->numCpus++];
            cpu = {};
            cpu.cpuId = id;
            for (const uint32_t core : cores) {
              cpu.ownedCores.bitmask[core / 64] |= uint64_t{1} << (core % 64);
            }
          }
          return DCGM_ST_OK;
        });
  }

  static dcgmReturn_t MetricGroups(dcgmHandle_t, dcgmProfGetMetricGroups_v3* groups) {
    return Connected(
        "dcgmProfGetSupportedMetricGroups", {Whole(groups)}, [&](FakeDcgm& fake) -> dcgmReturn_t {
          if (fake.profiling_fields.empty() || fake.without_profiler.contains(groups->gpuId)) {
            return DCGM_ST_MODULE_NOT_LOADED;
          }
          constexpr uint32_t kFieldsInGroup = 40;
          groups->numMetricGroups = 0;
          uint32_t count = 0;
          for (const uint16_t id : fake.profiling_fields) {
            if (count++ % kFieldsInGroup == 0) {
              groups->metricGroups[groups->numMetricGroups++] = {};
            }
            auto& last = groups->metricGroups[groups->numMetricGroups - 1];
            last.fieldIds[last.numFieldIds++] = id;
          }
          return DCGM_ST_OK;
        });
  }
};

FakeDcgm::FakeDcgm() {
  PODGPU_CHECK(FakeDcgmCalls::Current() == nullptr);
  FakeDcgmCalls::Current() = this;
}

FakeDcgm::~FakeDcgm() { FakeDcgmCalls::Current() = nullptr; }

DcgmLibrary FakeDcgm::Library() const {
  using F = FakeDcgmFunctions;
  DcgmLibrary library;
  library.name = generation == DcgmGeneration::k3 ? "libdcgm.so.3" : "libdcgm.so.4";
  library.generation = generation;
  library.has.fill(true);
  for (const DcgmCapability capability : without) {
    library.has[static_cast<size_t>(capability)] = false;
  }
  library.api = {.errorString = F::ErrorString,
                 .DcgmFieldGetById = F::FieldById,
                 .dcgmInit = F::Init,
                 .dcgmShutdown = F::Shutdown,
                 .dcgmStartEmbedded_v2 = F::StartEmbedded,
                 .dcgmConnect_v2 = F::Connect2,
                 .dcgmDisconnect = F::Disconnect,
                 .dcgmGetAllDevices = F::AllDevices,
                 .dcgmGetGpuStatus = F::GpuStatus,
                 .dcgmGetDeviceAttributes = F::Attributes,
                 .dcgmGroupCreate = F::GroupCreate,
                 .dcgmGroupAddEntity = F::GroupAdd,
                 .dcgmGroupDestroy = F::GroupDestroy,
                 .dcgmFieldGroupCreate = F::FieldGroupCreate,
                 .dcgmFieldGroupDestroy = F::FieldGroupDestroy,
                 .dcgmWatchFields = F::Watch,
                 .dcgmUnwatchFields = F::Unwatch,
                 .dcgmEntitiesGetLatestValues = F::Latest,
                 .dcgmVersionInfo = F::Version,
                 .dcgmHostengineVersionInfo = F::EngineVersion,
                 .dcgmGetGpuInstanceHierarchy = F::Hierarchy,
                 .dcgmProfGetSupportedMetricGroups = F::MetricGroups,
                 .dcgmConnect_v3 = F::Connect3,
                 .dcgmGetNvLinkLinkStatus = F::LinkStatus,
                 .dcgmGetNvLinkP2PStatus = FakeDcgmFindings::Paths,
                 .dcgmGetCpuHierarchy = F::Cpus,
                 .dcgmGetValuesSince_v2 = FakeDcgmFindings::Since,
                 .dcgmHealthSet = FakeDcgmFindings::HealthSet,
                 .dcgmHealthCheck = FakeDcgmFindings::HealthCheck,
                 .dcgmErrorGetPriorityByCode = FakeDcgmFindings::SeverityOf,
                 .dcgmErrorGetCategoryByCode = FakeDcgmFindings::CategoryOf};
  return library;
}

}  // namespace podgpu
