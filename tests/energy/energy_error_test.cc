// The error of the shares: this test makes the table of docs/energy.md.
// PODGPU_UPDATE_GOLDEN=1 rewrites it.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "tests/energy/energy_document.h"

namespace podgpu {
namespace {

constexpr const char* kDocument = "docs/energy.md";
constexpr std::string_view kBegin = "<!-- made by energy_test: begin -->\n";
constexpr std::string_view kEnd = "<!-- made by energy_test: end -->\n";

std::string ReadAll(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Measured once for all tests.
const std::vector<ScenarioFigures>& AllFigures() {
  static const std::vector<ScenarioFigures> kAll = [] {
    std::vector<ScenarioFigures> all;
    for (const EnergyScenario& scenario : EnergyScenarios()) {
      all.push_back(Measure(scenario));
    }
    return all;
  }();
  return kAll;
}

const ScenarioFigures& FiguresOf(std::string_view name) {
  for (const ScenarioFigures& figures : AllFigures()) {
    if (figures.scenario.name == name) {
      return figures;
    }
  }
  ADD_FAILURE() << name;
  return AllFigures().front();
}

// The text between the markers of the document.
std::string Section() {
  std::string section;
  for (const ScenarioFigures& figures : AllFigures()) {
    section += "- **" + std::string(figures.scenario.name) +
               "**: " + std::string(figures.scenario.what) + ".\n";
  }
  return section + "\n" + EnergyTable(AllFigures());
}

TEST(EnergyError, EqualsTheDocument) {
  std::string document = ReadAll(kDocument);
  const size_t begin = document.find(kBegin);
  const size_t end = document.find(kEnd);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const size_t at = begin + kBegin.size();
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    document.replace(at, end - at, Section());
    std::ofstream(kDocument, std::ios::binary) << document;
  } else {
    EXPECT_EQ(document.substr(at, end - at), Section()) << "run with PODGPU_UPDATE_GOLDEN=1";
  }
}

TEST(EnergyError, IsZeroForAProcessAlone) {
  const ProcessFigures& alone = FiguresOf("alone").processes.at(0);
  EXPECT_NEAR(alone.podgpu_j, alone.true_j(), 1e-3);
  EXPECT_NEAR(alone.set_aside_j, alone.own_j, 1e-3);
}

// The closed form: charged energy over true energy is the mean power of the processes while they
// have the GPU, weighted by their time, over the power of this process.
TEST(EnergyError, OfUnlikeProcessesFollowsFromTheirPowers) {
  const std::vector<ProcessFigures>& unlike = FiguresOf("two unlike").processes;
  constexpr double kHungryW = 325;
  constexpr double kFrugalW = 75;
  constexpr double kMeanW = (kHungryW + kFrugalW) / 2;
  EXPECT_NEAR(unlike.at(0).set_aside_j / unlike.at(0).own_j, kMeanW / kHungryW, 1e-3);
  EXPECT_NEAR(unlike.at(1).set_aside_j / unlike.at(1).own_j, kMeanW / kFrugalW, 1e-3);
}

TEST(EnergyError, OfDcgmComesFromChargingTheWholeGpuToEachProcess) {
  for (const ScenarioFigures& figures : AllFigures()) {
    double said_j = 0;
    double true_j = 0;
    for (const ProcessFigures& process : figures.processes) {
      said_j += process.dcgm_j;
      true_j += process.true_j();
    }
    EXPECT_NEAR(true_j, figures.device_j, 1e-3 * figures.device_j) << figures.scenario.name;
    EXPECT_EQ(said_j > 1.2 * figures.device_j, figures.processes.size() > 1)
        << figures.scenario.name;
  }
}

}  // namespace
}  // namespace podgpu
