#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "abi/load.h"
#include "base/text.h"
#include "doctor/checks.h"
#include "doctor/words.h"
#include "source/dcgm/connection.h"
#include "source/open_source.h"

namespace podgpu {
namespace {

constexpr std::string_view kStartEngine =
    "start the host engine (nv-hostengine), or correct --remote-hostengine-info";

// The number of a version's part at `place`, from 0; missing parts are 0.
uint64_t PartOf(const std::vector<std::string_view>& parts, size_t place) {
  return place < parts.size() ? ParseDecimal(parts[place]).value_or(0) : 0;
}

bool IsOlder(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> a_parts = Split(a, '.');
  const std::vector<std::string_view> b_parts = Split(b, '.');
  for (size_t i = 0; i < std::max(a_parts.size(), b_parts.size()); ++i) {
    if (PartOf(a_parts, i) != PartOf(b_parts, i)) {
      return PartOf(a_parts, i) < PartOf(b_parts, i);
    }
  }
  return false;
}

StatusOr<EngineFacts> AskEngine(Session& session) {
  PODGPU_ASSIGN_OR_RETURN(std::unique_ptr<Source> opened,
                          OpenDcgmSource(session.node().source, session.loader, session.seams.clock,
                                         session.written_off));
  const std::shared_ptr<Source> source(std::move(opened));
  session.kept_engine.Set(source);
  PODGPU_ASSIGN_OR_RETURN(Topology topology, source->Discover(PartKinds{}));
  return EngineFacts{std::make_shared<const Topology>(std::move(topology)), source->Describe()};
}

// Returns the fields that NVML lacks, in words: one name and a number.
std::string Lacking(const std::vector<std::string>& lacked) {
  return lacked.size() == 1 ? lacked.front()
                            : absl::StrFormat("%s and %d more", lacked.front(), lacked.size() - 1);
}

Finding SkipBecause(std::string cause) {
  return {.severity = Severity::kSkip, .caused_by = std::move(cause), .blocks = true};
}

Finding PartlyServed(size_t asked, const std::vector<std::string>& lacked, std::string_view why) {
  return {.severity = Severity::kWarn,
          .fact = absl::StrFormat("nvml: it serves %d of %d fields asked for, not %s; %s",
                                  asked - lacked.size(), asked, Lacking(lacked), why),
          .lose = {"some_fields"},
          .remedy =
              "remove these fields with --metrics-exclude, or let DCGM read the devices "
              "(--source=dcgm)",
          .change = "DCGM as the source"};
}

Status LoadClient(Session& session) {
  return abi::LoadDcgm(session.loader, session.command().source.dcgm_library).status();
}

// Returns whether the exporter reads NVML in place of the configured engine.
bool StandsIn(Session& session) {
  return MayStandIn(session.command().source) && session.driver.Get() != nullptr &&
         !LoadClient(session).ok();
}

}  // namespace

Finding CheckEngine(Session& session) {
  if (!session.NamesEngine()) {
    return Finding::Skip("no engine configured");
  }
  if (StandsIn(session)) {
    Finding finding = Failed(Severity::kWarn, LoadClient(session), {"engine_fields"}, "");
    finding.fact += "; NVML is read in place of the host engine";
    finding.change = "a client of the host engine";
    return finding;
  }
  const StatusOr<EngineFacts> facts = AskEngine(session);
  if (!facts.ok()) {
    Finding finding = Failed(Severity::kFail, facts.status(), {"device_metrics"}, kStartEngine);
    finding.change = "a host engine that answers";
    return finding;
  }
  session.engine.Set(std::make_shared<const EngineFacts>(*facts));
  return Finding::Ok(
      absl::StrFormat("%s: %s", facts->description, Counted(facts->topology->gpus.size(), "GPU")));
}

Finding CheckEngineClient(Session& session) {
  const std::shared_ptr<const EngineFacts> facts = session.engine.Get();
  if (facts == nullptr) {
    return Finding::Skip("no engine configured");
  }
  if (session.command().source.address.empty()) {
    return Finding::Skip("the engine is in this process, from the same library");
  }
  const DcgmVersions versions = DcgmVersionsIn(facts->description);
  if (versions.engine.empty()) {
    return Finding::Skip("the host engine does not tell its version");
  }
  return JudgeClient(versions.library, versions.engine);
}

Finding JudgeClient(std::string_view library, std::string_view engine) {
  if (!IsOlder(library, engine)) {
    return Finding::Ok(absl::StrFormat("libdcgm %s, host engine %s", library, engine));
  }
  return {.severity = Severity::kWarn,
          .fact = absl::StrFormat("libdcgm %s is older than the host engine %s", library, engine),
          .lose = {"new_fields"},
          .remedy = absl::StrFormat(
              "install datacenter-gpu-manager-4-core %s beside podgpu, or name a newer file with "
              "--libdcgm",
              engine),
          .change = "the engine's release of libdcgm"};
}

Finding CheckSourceChoice(Session& session) {
  const size_t asked = session.node().source.fields.size();
  if (session.engine.Get() != nullptr) {
    return Finding::Ok("dcgm: the configuration names it for " + Counted(asked, "field"));
  }
  if (session.NamesEngine() && !StandsIn(session)) {
    return SkipBecause("dcgm.engine");
  }
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  if (driver == nullptr) {
    return SkipBecause("driver.answers");
  }
  if (driver->lacked.empty()) {
    return Finding::Ok(absl::StrFormat("nvml: it serves all %d fields asked for", asked));
  }
  Finding finding = PartlyServed(asked, driver->lacked, "--source=nvml");
  if (session.command().source.kind != SourceKind::kNvml) {
    const StatusOr<abi::DcgmLibrary> dcgm =
        abi::LoadDcgm(session.loader, session.command().source.dcgm_library);
    if (dcgm.ok()) {
      finding =
          Finding::Ok(absl::StrFormat("dcgm in the exporter's process (%s), since NVML lacks %s",
                                      dcgm->name, Lacking(driver->lacked)));
    } else {
      const FactAndRemedy parts = Parted(dcgm.status(), "");
      finding = PartlyServed(asked, driver->lacked, parts.fact);
      finding.remedy = parts.remedy;
    }
  }
  for (const std::string& name : driver->lacked) {
    finding.evidence.emplace_back("not in NVML", name);
  }
  return finding;
}

}  // namespace podgpu
