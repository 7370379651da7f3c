#include "source/dcgm/connection.h"

#include <algorithm>
#include <arpa/inet.h>
#include <cstring>
#include <limits>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "source/dcgm/error.h"
#include "source/decode.h"

namespace podgpu {
namespace {

using Kind = DcgmEndpoint::Kind;
using abi::DcgmCapability;

// Each ends after two minutes at the latest (DCGM 4.6.0, observed).  When an engine behind a silent
// network hangs, a second or third try may still succeed.
constexpr int kMaxHungConnects = 3;

constexpr std::string_view kSchemeEnd = "://";

Status BadAddress(std::string_view text, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "engine address %s %s. Give host:port, unix:///path, /path or vsock://CID:port", Quoted(text),
      why));
}

struct SplitAddress {
  std::string scheme;  // In small letters; empty: there is none.
  std::string_view rest;
};

SplitAddress SplitScheme(std::string_view address) {
  const size_t end = address.find(kSchemeEnd);
  if (end == std::string_view::npos || address.starts_with('/')) {
    return {"", address};
  }
  SplitAddress parts{std::string(address.substr(0, end)), address.substr(end + kSchemeEnd.size())};
  absl::AsciiStrToLower(&parts.scheme);
  return parts;
}

// The scheme of an address for dcgmConnect_v3.
const char* SchemeOf(Kind kind) {
  return kind == Kind::kUnixSocket ? "unix" : kind == Kind::kVsock ? "vsock" : "tcp";
}

// Returns whether `address` is CID:port, two 32-bit numbers.
bool IsVsockAddress(std::string_view address) {
  const std::vector<std::string_view> numbers = Split(address, ':');
  return numbers.size() == 2 && numbers[1] != "0" &&
         std::ranges::all_of(numbers, [](std::string_view text) {
           const std::optional<uint64_t> number = ParseDecimal(text);
           return number && *number <= std::numeric_limits<uint32_t>::max();
         });
}

// Returns whether the text after the last colon of a host name, an IPv4 address or [IPv6] is a
// port.
bool HasGoodPort(std::string_view address) {
  const size_t host_end = address.starts_with('[') ? address.find(']') : 0;
  if (host_end == std::string_view::npos) {
    return false;
  }
  const std::string_view rest = address.substr(host_end);
  const size_t colon = rest.find(':');
  if (colon == std::string_view::npos || rest.find(':', colon + 1) != std::string_view::npos) {
    return colon == std::string_view::npos || host_end == 0;  // No port, or IPv6 without brackets.
  }
  const std::optional<uint64_t> port = ParseDecimal(rest.substr(colon + 1));
  return port && *port >= 1 && *port <= 65535;
}

std::string NameOf(const DcgmEndpoint& endpoint) {
  const char* const scheme = endpoint.kind == Kind::kVsock ? "vsock://" : "";
  return endpoint.kind == Kind::kEmbedded
             ? "the embedded DCGM engine"
             : absl::StrCat("the host engine ", scheme, endpoint.address);
}

// The result of a connect.
struct Connected {
  abi::dcgmReturn_t code = abi::DCGM_ST_OK;
  abi::dcgmHandle_t handle = 0;
};

Connected ConnectRemote(const abi::DcgmLibrary& library, const DcgmEndpoint& endpoint,
                        std::chrono::milliseconds timeout) {
  Connected result;
  const bool is_socket = endpoint.kind == Kind::kUnixSocket;
  const auto timeout_ms = static_cast<uint32_t>(timeout.count());
  if (library.Has(DcgmCapability::kConnection)) {
    abi::dcgmConnectV3Params_v1 parameters{};
    parameters.version = abi::dcgmConnectV3Params_version1;
    parameters.timeoutMs = timeout_ms;
    const std::string address = absl::StrCat(SchemeOf(endpoint.kind), "://", endpoint.address);
    result.code = library.api.dcgmConnect_v3(address.c_str(), &parameters, &result.handle);
    return result;
  }
  abi::dcgmConnectV2Params_v2 parameters{};
  parameters.version = abi::dcgmConnectV2Params_version2;
  parameters.timeoutMs = timeout_ms;
  parameters.addressIsUnixSocket = is_socket ? 1 : 0;
  result.code = library.api.dcgmConnect_v2(endpoint.address.c_str(), &parameters, &result.handle);
  return result;
}

std::string VersionIn(const abi::dcgmVersionInfo_v2& version) {
  return ParseDcgmVersion(
      DecodeText(version.rawBuildInfoString, sizeof(version.rawBuildInfoString)).value_or(""));
}

// Returns the host part of "host:port" without brackets, or the whole address if it has no port.
std::string HostOf(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) {
    return std::string(address);
  }
  const std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) {
    return std::string(host.substr(1, host.size() - 2));
  }
  return std::string(host.find(':') == std::string_view::npos && !host.starts_with('[') ? host
                                                                                        : address);
}

StatusOr<DcgmEndpoint> ParseHost(std::string_view text, std::string_view address) {
  if (address.empty() || address.starts_with(':') || address.starts_with('/')) {
    return BadAddress(text, "names no host");
  }
  if (address.find(kSchemeEnd) != std::string_view::npos) {
    return BadAddress(text, "has an unknown scheme");
  }
  if (!HasGoodPort(address)) {
    return BadAddress(text, "has a port outside 1 to 65535");
  }
  return DcgmEndpoint{Kind::kTcp, std::string(address)};
}

bool IsLoopback(std::string host) {
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  }
  in_addr v4{};
  in6_addr v6{};
  return absl::EqualsIgnoreCase(host, "localhost") ||
         (inet_pton(AF_INET, host.c_str(), &v4) == 1 &&
          ntohl(v4.s_addr) >> IN_CLASSA_NSHIFT == IN_LOOPBACKNET) ||
         (inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6));
}

}  // namespace

std::string OtherHostOf(std::string_view address) {
  const SplitAddress parts = SplitScheme(address);
  const bool is_tcp = parts.scheme.empty() || parts.scheme == SchemeOf(Kind::kTcp);
  if (!is_tcp || parts.rest.starts_with('/')) {
    return {};
  }
  std::string host = HostOf(parts.rest);
  return IsLoopback(host) ? std::string() : host;
}

StatusOr<DcgmEndpoint> ParseDcgmAddress(std::string_view text) {
  if (text.empty()) {
    return BadAddress(text, "is empty");
  }
  if (std::ranges::any_of(text, [](char c) { return static_cast<unsigned char>(c) <= ' '; })) {
    return BadAddress(text, "contains a blank");
  }
  const auto [scheme, rest] = SplitScheme(text);
  if (scheme == SchemeOf(Kind::kUnixSocket) || (scheme.empty() && rest.starts_with('/'))) {
    if (!rest.starts_with('/')) {
      return BadAddress(text, "names no absolute path");
    }
    return DcgmEndpoint{Kind::kUnixSocket, std::string(rest)};
  }
  if (scheme == SchemeOf(Kind::kVsock)) {
    if (!IsVsockAddress(rest)) {
      return BadAddress(text, "has no two numbers after vsock://");
    }
    return DcgmEndpoint{Kind::kVsock, std::string(rest)};
  }
  if ((!scheme.empty() && scheme != SchemeOf(Kind::kTcp)) || text.starts_with(kSchemeEnd)) {
    return BadAddress(text, "has an unknown scheme");
  }
  return ParseHost(text, rest);
}

std::string ParseDcgmVersion(std::string_view build_info) {
  constexpr std::string_view kKey = "version:";
  for (const std::string_view pair : Split(build_info, ';')) {
    if (pair.starts_with(kKey)) {
      return std::string(pair.substr(kKey.size()));
    }
  }
  return "";
}

DcgmConnection::DcgmConnection(const abi::DcgmLibrary& library, DcgmEndpoint endpoint,
                               std::chrono::milliseconds timeout, ThreadTally written_off)
    : library_(library),
      endpoint_(std::move(endpoint)),
      timeout_(timeout),
      engine_name_(NameOf(endpoint_)),
      connects_(kMaxHungConnects, std::move(written_off)) {
  NoteVersions();
}

DcgmConnection::~DcgmConnection() {
  Close();
  ShutDown();
}

Status DcgmConnection::Open() {
  if (is_open()) {
    return absl::OkStatus();
  }
  if (!initialised_) {
    const abi::dcgmReturn_t code = library_.api.dcgmInit();
    PODGPU_RETURN_IF_ERROR(
        DcgmStatus(library_.api, code, library_.name + " cannot be initialised"));
    initialised_ = true;
  }
  PODGPU_RETURN_IF_ERROR(endpoint_.kind == Kind::kEmbedded ? OpenEmbedded() : OpenRemote());
  PODGPU_RETURN_IF_ERROR(Verify());
  NoteVersions();
  return absl::OkStatus();
}

Status DcgmConnection::OpenEmbedded() {
  // Version 1 is understood by 3.x and 4.x alike.
  abi::dcgmStartEmbeddedV2Params_v1 parameters{};
  parameters.version = abi::dcgmStartEmbeddedV2Params_version1;
  parameters.opMode = abi::DCGM_OPERATION_MODE_AUTO;
  parameters.severity = abi::DcgmLoggingSeverityNone;
  const abi::dcgmReturn_t code = library_.api.dcgmStartEmbedded_v2(&parameters);
  if (code != abi::DCGM_ST_OK) {
    ShutDown();  // After a failed start every call returns -1 until the library is initialised
                 // again.
    return DcgmStatus(library_.api, code, "the embedded DCGM engine does not start",
                      "Check that nvidia-smi works here; with MIG the engine needs root");
  }
  // An engine that runs already leaves the member untouched.
  handle_ = parameters.dcgmHandle == kNone ? abi::dcgmHandle_t{abi::DCGM_EMBEDDED_HANDLE}
                                           : parameters.dcgmHandle;
  return absl::OkStatus();
}

Status DcgmConnection::OpenRemote() {
  if (endpoint_.kind == Kind::kVsock && !library_.Has(DcgmCapability::kConnection)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is older than DCGM 4.5, which is the first that connects to a vsock address. Install a "
        "newer DCGM, or give a TCP or unix address",
        library_.name));
  }
  const std::optional<Connected> connected = connects_.Run<Connected>(
      [library = library_, endpoint = endpoint_, timeout = timeout_] {
        return ConnectRemote(library, endpoint, timeout);
      },
      [api = library_.api](const Connected& late) {
        if (late.code == abi::DCGM_ST_OK) {
          api.dcgmDisconnect(late.handle);
        }
      });
  if (!connected) {
    return absl::UnavailableError(absl::StrFormat(
        "%s accepts the connection but does not answer; %d connecting %s written off. Restart it "
        "if it hangs",
        engine_name_, connects_.out(), connects_.out() == 1 ? "thread is" : "threads are"));
  }
  if (connected->code != abi::DCGM_ST_OK) {
    return DcgmStatus(library_.api, connected->code, engine_name_ + " does not answer",
                      "Start nv-hostengine there, or correct the address");
  }
  handle_ = connected->handle;
  return absl::OkStatus();
}

Status DcgmConnection::Verify() {
  std::array<uint32_t, abi::DCGM_MAX_NUM_DEVICES> ids{};
  int count = 0;
  const abi::dcgmReturn_t code = library_.api.dcgmGetAllDevices(handle(), ids.data(), &count);
  if (code == abi::DCGM_ST_OK) {
    return absl::OkStatus();
  }
  Close();
  return absl::UnavailableError(absl::StrFormat(
      "%s accepts the connection but fails the first request (%s). Restart it if it hangs",
      engine_name_, DcgmWords(library_.api, code)));
}

void DcgmConnection::Close() {
  const abi::dcgmHandle_t handle = handle_.exchange(kNone);
  if (handle == kNone) {
    return;
  }
  if (endpoint_.kind == Kind::kEmbedded) {
    ShutDown();
  } else {
    library_.api.dcgmDisconnect(handle);
  }
}

void DcgmConnection::ShutDown() {
  if (connects_.out() > 0) {
    return;  // A shutdown would wait for them.
  }
  if (initialised_) {
    library_.api.dcgmShutdown();
    initialised_ = false;
  }
}

void DcgmConnection::Interrupt() noexcept {
  if (connects_.GiveUp()) {
    return;
  }
  // The source thread may close the handle at this moment; disconnecting twice is harmless.
  const abi::dcgmHandle_t handle = handle_.load();
  if (endpoint_.kind != Kind::kEmbedded && handle != kNone) {
    library_.api.dcgmDisconnect(handle);
  }
}

void DcgmConnection::NoteVersions() {
  const std::string kind = endpoint_.kind == Kind::kEmbedded ? std::string("embedded engine")
                                                             : "remote engine " + endpoint_.address;
  std::string version = absl::StrFormat("(%s)", library_.name);
  if (is_open() && library_.Has(DcgmCapability::kVersion)) {
    abi::dcgmVersionInfo_v2 info{};
    info.version = abi::dcgmVersionInfo_version2;
    std::string library;
    std::string engine;
    if (library_.api.dcgmVersionInfo(&info) == abi::DCGM_ST_OK) {
      library = VersionIn(info);
    }
    info = {};
    info.version = abi::dcgmVersionInfo_version2;
    if (library_.api.dcgmHostengineVersionInfo(handle(), &info) == abi::DCGM_ST_OK) {
      engine = VersionIn(info);
    }
    WarnOfMixedReleases(engine, library);
    if (!engine.empty() && !library.empty() && engine != library) {
      version = absl::StrFormat("%s (library %s)", engine, library);
    } else if (!engine.empty() || !library.empty()) {
      version = engine.empty() ? library : engine;
    }
  }
  description_.Set(
      std::make_shared<const std::string>(absl::StrFormat("dcgm %s, %s", version, kind)));
}

// NVIDIA's release notes say so of 4.7.1, but not which requests (dcgm-exporter 4.9.0).  Each part
// of a DCGM version has one digit, so texts can be compared.
void DcgmConnection::WarnOfMixedReleases(const std::string& engine, const std::string& library) {
  constexpr std::string_view kStrict = "4.7.1";
  const auto [older, newer] = std::minmax(engine, library);
  if (older.empty() || older >= kStrict || newer < kStrict || warned_of_ == engine + library) {
    return;
  }
  warned_of_ = engine + library;
  Log(LogLevel::kWarn,
      "some requests between DCGM 4.7.1 and an older release fail with an API version mismatch. "
      "Install DCGM 4.7.1 both here and where the engine runs",
      {{"engine", engine}, {"library", library}});
}

DcgmVersions DcgmVersionsIn(std::string_view description) {
  constexpr std::string_view kBegin = "dcgm ";
  constexpr std::string_view kLibrary = "(library ";
  if (!description.starts_with(kBegin)) {
    return {};
  }
  description = description.substr(kBegin.size(), description.find(',') - kBegin.size());
  const size_t library = description.find(kLibrary);
  if (library == std::string_view::npos) {
    const std::string both(description.starts_with('(') ? std::string_view() : description);
    return {both, both};
  }
  std::string_view second = description.substr(library + kLibrary.size());
  second = second.substr(0, second.find(')'));
  return {std::string(Trim(description.substr(0, library))), std::string(second)};
}

std::string DcgmConnection::Describe() const { return *description_.Get(); }

}  // namespace podgpu
