// The table of old commands and those that replace them, in a Markdown file.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Row is a line of the table: the old command, and those that replace it.
type Row struct {
	Line int
	Old  string
	New  []string
}

var code = regexp.MustCompile("`([^`]+)`")

// readTable returns the rows whose first column is a command.
func readTable(text string) []Row {
	var rows []Row
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if !strings.HasPrefix(line, "| `") || len(cells) < 2 {
			continue
		}
		row := Row{Line: i + 1, Old: code.FindStringSubmatch(cells[0])[1]}
		for _, found := range code.FindAllStringSubmatch(cells[1], -1) {
			row.New = append(row.New, found[1])
		}
		rows = append(rows, row)
	}
	return rows
}

// TableChecker checks what the rows say. Paths are relative to Root.
type TableChecker struct {
	Root, Podgpu, Helm, ImageFiles string
	External                       map[string]bool
	Folder                         string // For rendered charts.
}

// Check returns a text for each command that cannot work, with the line of the table.
func (c TableChecker) Check(file, text string) []Finding {
	var findings []Finding
	rows := readTable(text)
	if len(rows) == 0 {
		return []Finding{{file, "", "has no table of commands; begin each row with the old command"}}
	}
	for _, row := range rows {
		if len(row.New) == 0 {
			findings = append(findings, Finding{fmt.Sprintf("%s:%d", file, row.Line), row.Old, "is replaced by no command; add one"})
		}
		for _, command := range row.New {
			for _, problem := range c.checkCommand(strings.Fields(command)) {
				findings = append(findings, Finding{fmt.Sprintf("%s:%d", file, row.Line), command, problem})
			}
		}
	}
	return findings
}

func (c TableChecker) checkCommand(words []string) []string {
	switch {
	case len(words) > 2 && (words[0] == "kubectl" || words[0] == "oc"):
		return c.checkKubectl(words)
	case len(words) > 2 && words[0] == "helm" && (words[1] == "install" || words[1] == "upgrade"):
		return c.checkHelm(words)
	case len(words) > 2 && (words[0] == "docker" && words[1] == "run"):
		return c.checkRun(words[2:])
	case len(words) > 1 && words[0] == "docker" && words[1] == "build":
		return c.checkBuild(words[2:])
	case len(words) > 2 && words[0] == "systemctl":
		return c.checkUnits(words[2:])
	case len(words) > 1 && words[0] == "./dev":
		return c.checkDev(words[1])
	case len(words) > 0 && strings.TrimPrefix(words[0], "./") == "podgpu":
		return c.accepted("podgpu", words[1:], nil)
	}
	return []string{"is no command that this table may name; use kubectl, helm, docker, systemctl, ./dev or podgpu"}
}

func (c TableChecker) checkExists(path string) []string {
	if !exists(filepath.Join(c.Root, path)) {
		return []string{path + " is not there; name a file of this tree"}
	}
	return nil
}

var stage = regexp.MustCompile(`(?m)^FROM \S+ AS (\S+)$`)

// checkBuild checks that a build makes a stage of the Dockerfile; without --target it makes the last one.
func (c TableChecker) checkBuild(words []string) []string {
	text, err := os.ReadFile(filepath.Join(c.Root, "Dockerfile"))
	if err != nil {
		return c.checkExists("Dockerfile")
	}
	var stages []string
	for _, found := range stage.FindAllStringSubmatch(string(text), -1) {
		stages = append(stages, found[1])
	}
	at := slices.Index(words, "--target")
	switch {
	case at >= 0 && at+1 < len(words) && !slices.Contains(stages, words[at+1]):
		return []string{"the Dockerfile has no stage " + words[at+1]}
	case at < 0 && (len(stages) == 0 || stages[len(stages)-1] != "podgpu"):
		return []string{"without --target the last stage is built, which is not podgpu"}
	}
	return nil
}

// checkKubectl checks that the files exist and that their objects can be decoded.
func (c TableChecker) checkKubectl(words []string) []string {
	if len(words) == 4 && words[1] == "create" && words[2] == "namespace" {
		return nil
	}
	if len(words) == 5 && words[1] == "label" && words[2] == "nodes" {
		return c.checkNodeLabel(words[4])
	}
	var problems []string
	files := 0
	for i, word := range words {
		if word != "-f" || i+1 == len(words) {
			continue
		}
		files++
		path := words[i+1]
		set := NewSet("default", c.External)
		if err := set.AddPath(filepath.Join(c.Root, path)); err != nil {
			problems = append(problems, err.Error())
		}
		for _, finding := range set.Findings {
			problems = append(problems, finding.String())
		}
	}
	if files == 0 {
		problems = append(problems, "names no file with -f")
	}
	return problems
}

// checkNodeLabel checks that the pods of a manifest run on nodes with this label, "key=value".
func (c TableChecker) checkNodeLabel(label string) []string {
	files, err := filepath.Glob(filepath.Join(c.Root, "deploy/manifests/*/*.yaml"))
	if err != nil {
		return []string{err.Error()}
	}
	set := NewSet("default", c.External)
	for _, file := range files {
		if err := set.AddPath(file); err != nil {
			return []string{err.Error()}
		}
	}
	key, value, _ := strings.Cut(label, "=")
	for _, w := range set.workloads() {
		if wanted, selects := w.Spec.NodeSelector[key]; selects && wanted == value {
			return nil
		}
	}
	return []string{"no manifest selects nodes by " + label + "; name a nodeSelector of deploy/manifests"}
}

// checkUnits checks that podgpu's package has these units of systemd.
func (c TableChecker) checkUnits(units []string) []string {
	var problems []string
	for _, unit := range units {
		if !strings.HasPrefix(unit, "-") {
			problems = append(problems, c.checkExists("deploy/systemd/"+unit)...)
		}
	}
	return problems
}

// checkHelm renders the chart with the command's values, and checks the objects.
func (c TableChecker) checkHelm(words []string) []string {
	arguments := []string{"template"}
	for _, word := range words[2:] {
		switch word {
		case "--install", "--create-namespace", "--wait":
		case "--generate-name":
			arguments = append(arguments, "podgpu-1")
		default:
			arguments = append(arguments, word)
		}
	}
	command := exec.Command(c.Helm, append(arguments, "--kube-version", "1.34.0", "--api-versions", "monitoring.coreos.com/v1")...)
	command.Dir = c.Root
	var wrong strings.Builder
	command.Stderr = &wrong
	rendered, err := command.Output()
	if err != nil {
		return []string{"helm refuses it: " + strings.Join(strings.Fields(wrong.String()), " ")}
	}
	path := filepath.Join(c.Folder, "rendered.yaml")
	if err := os.WriteFile(path, rendered, 0o644); err != nil {
		return []string{err.Error()}
	}
	set := NewSet("default", c.External)
	set.AddText("rendered", rendered)
	set.Check()
	launches, err := (&Launcher{Set: set, Folder: c.Folder, ImageFiles: c.ImageFiles}).All()
	if err != nil {
		return []string{err.Error()}
	}
	for _, launch := range launches {
		set.Validate(launch, c.Podgpu)
	}
	var problems []string
	for _, finding := range set.Findings {
		problems = append(problems, finding.String())
	}
	return problems
}

// Flags of "docker run" that take the next word as their value.
var runFlags = map[string]bool{"-p": true, "-v": true, "-e": true, "--name": true, "--gpus": true, "--cap-add": true,
	"--net": true, "--runtime": true, "--entrypoint": true}

// checkRun gives what follows the image to podgpu.
func (c TableChecker) checkRun(words []string) []string {
	var variables []string
	name := "podgpu"
	for i := 0; i < len(words); i++ {
		word := words[i]
		value := ""
		if runFlags[word] && i+1 < len(words) {
			i++
			value = words[i]
		}
		switch {
		case word == "-e":
			variables = append(variables, value)
		case word == "--entrypoint":
			name = filepath.Base(value)
		case !strings.HasPrefix(word, "-") && value == "":
			if !podgpuImage.MatchString(word) {
				return []string{word + " is not podgpu's image; call it podgpu"}
			}
			if !strings.HasPrefix(filepath.Base(word), "podgpu-dcgm") && slices.Contains(words[i+1:], "-r") {
				return []string{"-r needs libdcgm, which " + word + " does not have; use podgpu-dcgm"}
			}
			return c.accepted(name, words[i+1:], variables)
		}
	}
	return []string{"names no image"}
}

func (c TableChecker) accepted(name string, arguments, variables []string) []string {
	last := "--validate"
	if len(arguments) > 0 && (arguments[0] == "cluster" || arguments[0] == "doctor") {
		last = "--help"
	}
	var here []string
	for _, argument := range arguments {
		here = append(here, relocate(argument, map[string]string{imageFolder: c.ImageFiles}))
	}
	if output, err := runAs(c.Podgpu, name, append(here, last), variables); err != nil {
		return []string{"podgpu refuses it: " + strings.TrimSpace(output)}
	}
	return nil
}

func (c TableChecker) checkDev(name string) []string {
	path, err := filepath.Abs(filepath.Join(c.Root, "dev"))
	if err != nil {
		return []string{err.Error()}
	}
	output, err := exec.Command(path, "help").Output()
	if err != nil || !regexp.MustCompile(`(?m)^  (.*\s)?`+regexp.QuoteMeta(name)+`\s`).Match(output) {
		return []string{"./dev has no command " + name + "; ./dev help lists them"}
	}
	return nil
}
