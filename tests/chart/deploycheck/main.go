// Checks manifests as a cluster would: types, references, ports, rights, and podgpu's own command lines.
//
//	deploycheck -podgpu PROGRAM [-external FILE] [-image-files FOLDER] [-namespace NAME] [-launches FOLDER] SET...
//
// A SET is a file or folder of YAML documents; "a,b" are two that are applied together, in that order. Each finding is
// one line with file, object and remedy. Exit code 0: none; 1: at least one; 2: the files cannot be read.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

type options struct {
	podgpu, external, imageFiles, namespace, launches string
}

func main() {
	var o options
	flag.StringVar(&o.podgpu, "podgpu", "", "the program that must accept the command lines")
	flag.StringVar(&o.external, "external", "", "a file with a line \"Kind namespace/name\" for each object that exists elsewhere")
	flag.StringVar(&o.imageFiles, "image-files", "", "a folder with the image's files of /etc/dcgm-exporter")
	flag.StringVar(&o.namespace, "namespace", "default", "the namespace of objects that name none")
	flag.StringVar(&o.launches, "launches", "", "write launches.json and the mounted files into this folder")
	flag.Parse()
	if o.podgpu == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	findings, err := run(o, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "deploycheck:", err)
		os.Exit(2)
	}
	for _, finding := range findings {
		fmt.Println(finding)
	}
	if len(findings) > 0 {
		os.Exit(1)
	}
}

func run(o options, sets []string) ([]Finding, error) {
	external, err := readExternal(o.external)
	if err != nil {
		return nil, err
	}
	folder := o.launches
	if folder == "" {
		if folder, err = os.MkdirTemp("", "deploycheck"); err != nil {
			return nil, err
		}
		defer os.RemoveAll(folder)
	}
	var findings []Finding
	all := []Launch{}
	for i, paths := range sets {
		set := NewSet(o.namespace, external)
		for _, path := range strings.Split(paths, ",") {
			if err := set.AddPath(path); err != nil {
				return nil, err
			}
		}
		set.Check()
		launcher := Launcher{Set: set, Folder: filepath.Join(folder, fmt.Sprint(i)), ImageFiles: o.imageFiles}
		launches, err := launcher.All()
		if err != nil {
			return nil, err
		}
		for _, launch := range launches {
			set.Validate(launch, o.podgpu)
		}
		all = append(all, launches...)
		findings = append(findings, set.Findings...)
	}
	if o.launches == "" {
		return findings, nil
	}
	text, err := json.MarshalIndent(all, "", " ")
	if err != nil {
		return nil, err
	}
	return findings, os.WriteFile(filepath.Join(o.launches, "launches.json"), text, 0o644)
}

// readExternal reads the declared objects: "Kind namespace/name" or "Kind name", then "#" and the reason.
func readExternal(path string) (map[string]bool, error) {
	external := map[string]bool{}
	if path == "" {
		return external, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(line)
		if len(words) == 2 {
			external[words[0]+" "+words[1]] = true
		} else if len(words) != 0 {
			return nil, fmt.Errorf("%s:%d: %q is not a kind and a name; write \"Kind namespace/name\"", path, number, line)
		}
	}
	return external, lines.Err()
}
