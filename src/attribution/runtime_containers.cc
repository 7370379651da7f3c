#include "attribution/runtime_containers.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "attribution/device_id.h"
#include "attribution/device_names.h"
#include "base/text.h"

namespace podgpu {
namespace {

namespace json = boost::json;

constexpr size_t kShortIdLength = 12;
constexpr std::string_view kVisibleDevices = "NVIDIA_VISIBLE_DEVICES=";
// The kinds of devices that NVIDIA's toolkit describes for CDI: "nvidia.com/gpu=0".
constexpr std::array<std::string_view, 2> kCdiKinds = {"nvidia.com/gpu=",
                                                       "runtime.nvidia.com/gpu="};

StatusOr<json::value> Parsed(std::string_view text) {
  boost::system::error_code error;
  json::value value = json::parse({text.data(), text.size()}, error);
  if (error) {
    return absl::DataLossError("the answer is not JSON");
  }
  return value;
}

const json::value* MemberOf(const json::value* value, std::string_view name) {
  const json::object* object = value == nullptr ? nullptr : value->if_object();
  return object == nullptr ? nullptr : object->if_contains({name.data(), name.size()});
}

// Returns the elements of a list; none for null and for everything else.
const json::array& ElementsOf(const json::value* value) {
  static const json::array none;
  const json::array* array = value == nullptr ? nullptr : value->if_array();
  return array == nullptr ? none : *array;
}

std::string_view RawTextOf(const json::value* value) {
  const json::string* text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

int64_t NumberOf(const json::value* value) {
  const int64_t* number = value == nullptr ? nullptr : value->if_int64();
  return number == nullptr ? 0 : *number;
}

// A container with links has their names too, with a second slash: "/web/db".
std::string_view OwnNameOf(const json::value* names) {
  for (const json::value& element : ElementsOf(names)) {
    const std::string_view name = RawTextOf(&element);
    if (!name.empty() && name.rfind('/') == (name.front() == '/' ? 0 : std::string_view::npos)) {
      return name;
    }
  }
  return {};
}

std::string_view WithoutCdiKind(std::string_view device) {
  for (const std::string_view kind : kCdiKinds) {
    if (device.starts_with(kind)) {
      return device.substr(kind.size());
    }
  }
  return device;
}

// Gathers the devices of one container, each once, in their order.
class DeviceList {
 public:
  void Add(std::string_view device) {
    if (std::ranges::find(devices_, device) == devices_.end()) {
      if (devices_.size() == kMostDevicesPerContainer) {
        has_too_many_ = true;
        return;
      }
      devices_.push_back(CleanUtf8(device));
    }
  }
  bool is_empty() const { return devices_.empty(); }
  bool has_too_many() const { return has_too_many_; }
  std::vector<std::string> Take() { return std::move(devices_); }

 private:
  std::vector<std::string> devices_;
  bool has_too_many_ = false;
};

bool AsksForGpus(const json::value& request) {
  for (const json::value& all_of : ElementsOf(MemberOf(&request, "Capabilities"))) {
    for (const json::value& capability : ElementsOf(&all_of)) {
      if (RawTextOf(&capability) == "gpu") {
        return true;
      }
    }
  }
  return false;
}

// A request without a driver goes to NVIDIA's where the capability is "gpu".  One for CDI may be
// for any vendor's devices, so only NVIDIA's kinds count.  Docker gives a count of N the devices
// with the numbers 0 to N-1.
void AddRequest(const json::value& request, DeviceList& devices) {
  const std::string_view driver = RawTextOf(MemberOf(&request, "Driver"));
  const bool is_of_nvidia = driver == "nvidia" || (driver.empty() && AsksForGpus(request));
  if (!is_of_nvidia && driver != "cdi") {
    return;
  }
  const json::array& ids = ElementsOf(MemberOf(&request, "DeviceIDs"));
  for (const json::value& element : ids) {
    const std::string_view id = RawTextOf(&element);
    const std::string_view device = WithoutCdiKind(id);
    if (is_of_nvidia || device != id) {
      devices.Add(device);
    }
  }
  const int64_t count = NumberOf(MemberOf(&request, "Count"));
  if (is_of_nvidia && ids.empty() && count < 0) {
    devices.Add("all");
  } else if (is_of_nvidia && ids.empty()) {
    for (int64_t number = 0; number < count && !devices.has_too_many(); ++number) {
      devices.Add(std::to_string(number));
    }
  }
}

// "/dev/nvidia0" is a GPU; "/dev/nvidiactl" and "/dev/nvidia-uvm" are not.
void AddDeviceFile(const json::value& file, DeviceList& devices) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  constexpr std::string_view kFolder = "/dev/";
  const std::string_view path = RawTextOf(MemberOf(&file, "PathOnHost"));
  if (path.starts_with(kPrefix) && ParseDecimal(path.substr(kPrefix.size()))) {
    devices.Add(path.substr(kFolder.size()));
  }
}

void AddVariable(std::string_view entry, DeviceList& devices) {
  if (!entry.starts_with(kVisibleDevices)) {
    return;
  }
  for (const std::string_view part : Split(entry.substr(kVisibleDevices.size()), ',')) {
    const std::string_view device = WithoutCdiKind(Trim(part));
    const std::string word = absl::AsciiStrToLower({device.data(), device.size()});
    if (word == "all") {
      devices.Add(word);
    } else if (!word.empty() && word != "none" && word != "void") {
      devices.Add(device);
    }
  }
}

// Returns the reason, with what helps, why a device matches nothing.
std::string_view WhyUnmatched(const Topology& topology, const DeviceId& id,
                              std::string_view device) {
  if (id.form == DeviceIdForm::kMigUuid) {
    return topology.nvml_absence.empty()
               ? "is no MIG device of this node now"
               : "cannot be told: MIG devices have no UUIDs here, because NVML is missing";
  }
  const bool is_mig_index = device.find(':') != std::string_view::npos &&
                            device.find_first_not_of("0123456789:") == std::string_view::npos;
  return is_mig_index
             ? "is the index of a MIG device, which may change; name its UUID (nvidia-smi -L)"
             : "matches no GPU of this node; name a GPU by its number or UUID (nvidia-smi -L)";
}

// Adds the instances of each whole GPU of `entities`.
std::vector<EntityId> WithInstances(const Topology& topology,
                                    const std::vector<EntityId>& entities) {
  std::vector<EntityId> all;
  for (const EntityId entity : entities) {
    all.push_back(entity);
    if (topology.InstanceOf(entity) != nullptr) {
      continue;
    }
    for (size_t next = entity.index + size_t{1}; next < topology.entities.size(); ++next) {
      const EntityId instance{static_cast<uint16_t>(next)};
      if (topology.InstanceOf(instance) == nullptr) {
        break;
      }
      all.push_back(instance);
    }
  }
  return all;
}

}  // namespace

StatusOr<std::vector<RuntimeContainer>> ParseContainerList(std::string_view json) {
  PODGPU_ASSIGN_OR_RETURN(const json::value answer, Parsed(json));
  if (!answer.is_array()) {
    return absl::DataLossError("the answer is not a list of containers");
  }
  std::vector<RuntimeContainer> containers;
  for (const json::value& element : answer.get_array()) {
    const std::string_view id = RawTextOf(MemberOf(&element, "Id"));
    const bool is_id =
        !id.empty() && id.find_first_not_of("0123456789abcdef") == std::string_view::npos;
    if (!is_id) {
      return absl::DataLossError("the answer has a container without an id");
    }
    containers.push_back(
        {std::string(id), ContainerLabel(OwnNameOf(MemberOf(&element, "Names")), id)});
  }
  return containers;
}

StatusOr<std::vector<std::string>> ParseContainerDevices(std::string_view json) {
  PODGPU_ASSIGN_OR_RETURN(const json::value answer, Parsed(json));
  const json::value* const host = MemberOf(&answer, "HostConfig");
  if (host == nullptr) {
    return absl::DataLossError("the answer has no HostConfig");
  }
  DeviceList devices;
  for (const json::value& request : ElementsOf(MemberOf(host, "DeviceRequests"))) {
    AddRequest(request, devices);
  }
  for (const json::value& file : ElementsOf(MemberOf(host, "Devices"))) {
    AddDeviceFile(file, devices);
  }
  const std::string_view runtime = RawTextOf(MemberOf(host, "Runtime"));
  const bool reads_variable = runtime == "oci" || runtime.find("nvidia") != std::string_view::npos;
  if (devices.is_empty() && reads_variable) {
    for (const json::value& entry : ElementsOf(MemberOf(MemberOf(&answer, "Config"), "Env"))) {
      AddVariable(RawTextOf(&entry), devices);
    }
  }
  if (devices.has_too_many()) {
    return absl::ResourceExhaustedError(
        absl::StrFormat("it asks for more than %d devices", kMostDevicesPerContainer));
  }
  return devices.Take();
}

std::string ContainerLabel(std::string_view name, std::string_view id) {
  if (name.starts_with('/')) {
    name.remove_prefix(1);
  }
  if (name.empty()) {
    return std::string(id.substr(0, kShortIdLength));
  }
  std::string label = CleanUtf8(name);
  constexpr unsigned char kFirstPrintable = 0x20;
  constexpr unsigned char kDelete = 0x7f;
  for (char& c : label) {
    const auto byte = static_cast<unsigned char>(c);
    c = byte < kFirstPrintable || byte == kDelete ? '_' : c;
  }
  if (label.size() > kLongestContainerName) {
    constexpr unsigned char kContinuationMask = 0xc0;
    constexpr unsigned char kContinuation = 0x80;
    size_t end = kLongestContainerName;
    while ((static_cast<unsigned char>(label[end]) & kContinuationMask) == kContinuation) {
      --end;  // Never cuts inside a letter.
    }
    label.resize(end);
  }
  return label;
}

ContainersByEntity MatchContainers(const Topology& topology, const RuntimeContainers& containers) {
  const DeviceNames names(topology);
  ContainersByEntity result;
  std::vector<std::set<std::string>> by_entity(topology.entities.size());
  const auto complain = [&](std::string_view device, const RuntimeContainer& container,
                            std::string_view why) {
    result.unmatched.push_back(
        absl::StrFormat("%s of container %s %s", Quoted(device), Quoted(container.name), why));
  };
  for (const RuntimeContainer& container : containers.containers) {
    for (const std::string& device : container.devices) {
      const DeviceId id = ParseDeviceId(device);
      const DeviceNames::Found found = names.Find(id);
      const bool is_mig_file = id.form == DeviceIdForm::kMinor && !found.entities.empty() &&
                               topology.GpuOf(found.entities.front()).mig_enabled;
      if (is_mig_file) {
        complain(device, container,
                 "is the file of a GPU in MIG mode, which does not tell the MIG device; name its "
                 "UUID in NVIDIA_VISIBLE_DEVICES, without the file");
        continue;
      }
      if (found.entities.empty()) {
        complain(device, container, WhyUnmatched(topology, id, device));
        continue;
      }
      for (const EntityId entity : WithInstances(topology, found.entities)) {
        std::set<std::string>& of_entity = by_entity[entity.index];
        if (of_entity.size() < kMostContainersPerDevice) {
          of_entity.insert(container.name);
        } else if (!of_entity.contains(container.name)) {
          complain(device, container, "has too many containers; rows name the first 256");
        }
      }
    }
  }
  for (const std::set<std::string>& of_entity : by_entity) {
    result.by_entity.emplace_back(of_entity.begin(), of_entity.end());
  }
  return result;
}

// A line is "ID PARENT DEVICE ROOT MOUNTPOINT OPTIONS ...".
std::string HostnameFile(std::string_view mountinfo) {
  constexpr size_t kRoot = 3;
  constexpr size_t kMountPoint = 4;
  for (const std::string_view line : Split(mountinfo, '\n')) {
    const std::vector<std::string_view> words = Split(line, ' ');
    if (words.size() > kMountPoint && words[kMountPoint] == "/etc/hostname") {
      return std::string(words[kRoot]);
    }
  }
  return {};
}

}  // namespace podgpu
