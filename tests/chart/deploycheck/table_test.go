package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func checkRows(t *testing.T, rows string) string {
	t.Helper()
	root := t.TempDir()
	write := func(name, content string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write("podgpu", program)
	write("helm", "#!/bin/sh\ncase \"$*\" in *wrong*) echo 'no value wrong' >&2; exit 1;; esac\n"+
		"echo 'apiVersion: v1\nkind: Service\nmetadata: {name: '$2'}\nspec: {ports: [{port: 1}, {port: 2}]}'\n")
	write("dev", "#!/bin/sh\necho '  asan tsan    every test'\necho '  build        compile'\n")
	write("sound.yaml", sound)
	write("deploy/systemd/podgpu.service", "[Service]\n")
	write("deploy/manifests/a/pod.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {nodeSelector: {gpu: 'yes'}, containers: []}\n")
	write("wrong.yaml", "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {hostPid: true}\n")
	checker := TableChecker{Root: root, Podgpu: root + "/podgpu", Helm: root + "/helm", Folder: root}
	var lines []string
	for _, finding := range checker.Check("README.md", "| old | new |\n|---|---|\n"+rows) {
		lines = append(lines, finding.String())
	}
	return strings.Join(lines, "\n")
}

func TestTableChecksEachCommand(t *testing.T) {
	for command, want := range map[string]string{
		"kubectl apply -f sound.yaml":                       "",
		"kubectl create namespace monitoring":               "",
		"oc apply -f wrong.yaml":                            "unknown field",
		"kubectl apply -f lost.yaml":                        "no such file",
		"kubectl get pods -w":                               "names no file",
		"docker run -d -p 1:1 -e A=b podgpu -f x.csv":       "",
		"docker run --rm podgpu --wrong":                    "podgpu refuses it",
		"docker run --rm other -f x":                        "is not podgpu's image",
		"docker run --rm --gpus all":                        "names no image",
		"docker run --rm podgpu -r host:5555":               "use podgpu-dcgm",
		"docker run --rm podgpu-dcgm:1 -r host:5555":        "",
		"kubectl label nodes NODE gpu=yes":                  "",
		"kubectl label nodes NODE gpu=no":                   "no manifest selects nodes by gpu=no",
		"systemctl enable --now podgpu.service":             "",
		"systemctl start other.service":                     "deploy/systemd/other.service is not there",
		"docker build .":                                    "Dockerfile is not there",
		"podgpu cluster --wrong":                            "podgpu refuses it",
		"./dev tsan -R x":                                   "",
		"./dev dance":                                       "no command dance",
		"helm install --generate-name chart":                "a name of its own for each port",
		"helm upgrade --install podgpu chart --set wrong=1": "helm refuses it: no value wrong",
		"sudo reboot":                                       "is no command that this table may name",
	} {
		found := checkRows(t, "| `old` | `"+command+"` |\n")
		if (want == "" && found != "") || !strings.Contains(found, want) {
			t.Errorf("%s: expected %q, found %q", command, want, found)
		}
	}
	for file, want := range map[string]map[string]string{
		"FROM a AS podgpu\nFROM podgpu AS podgpu-dcgm\n": {
			"docker build --target podgpu .": "",
			"docker build --target other .":  "has no stage other",
			"docker build -t podgpu .":       "the last stage is built, which is not podgpu",
		},
		"FROM a AS image\nFROM image AS podgpu\n": {"docker build -t podgpu .": ""},
	} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "Dockerfile"), []byte(file), 0o644); err != nil {
			t.Fatal(err)
		}
		for command, wrong := range want {
			found := strings.Join(TableChecker{Root: root}.checkCommand(strings.Fields(command)), "\n")
			if (wrong == "" && found != "") || !strings.Contains(found, wrong) {
				t.Errorf("%s: expected %q, found %q", command, wrong, found)
			}
		}
	}
	if found := checkRows(t, "| `old` | nothing |\n"); !strings.Contains(found, "README.md:3: old: is replaced by no command") {
		t.Error(found)
	}
	if found := checkRows(t, ""); !strings.Contains(found, "has no table of commands") {
		t.Error(found)
	}
}
