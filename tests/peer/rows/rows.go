// Package rows reads a page of metrics once and returns its rows, with other values at each
// collection: like a driver's values, but without a driver.
package rows

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

// Label is one name and its value, unescaped.
type Label struct{ Name, Value string }

// Row is one series: the index of its family, its labels in the page's order, and a number.
type Row struct {
	Family int
	Labels []Label
	Value  float64
}

// Family is the content of the HELP and TYPE lines.
type Family struct{ Name, Type, Help string }

// Page is the content of a page of metrics.
type Page struct {
	Families []Family
	Rows     []Row

	mutex    sync.Mutex // Guards collects: requests come at any time.
	collects float64
}

// Collect returns the rows with values that differ from those of the last call.
func (page *Page) Collect() []Row {
	page.mutex.Lock()
	page.collects++
	collects := page.collects
	page.mutex.Unlock()
	rows := make([]Row, len(page.Rows))
	copy(rows, page.Rows)
	for i := range rows {
		rows[i].Value += collects
	}
	return rows
}

// Read reads a page in the text format 0.0.4, as podgpu writes it.
func Read(path string) (*Page, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	page := &Page{}
	index := map[string]int{}
	lines := bufio.NewScanner(file)
	lines.Buffer(make([]byte, 1<<16), 1<<20)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if line == "" {
			continue
		}
		if words := strings.SplitN(line, " ", 4); words[0] == "#" && len(words) == 4 {
			at, known := index[words[2]]
			if !known {
				at = len(page.Families)
				index[words[2]] = at
				page.Families = append(page.Families, Family{Name: words[2]})
			}
			if words[1] == "HELP" {
				page.Families[at].Help = words[3]
			} else {
				page.Families[at].Type = words[3]
			}
			continue
		}
		row, name, err := parse(line)
		at, known := index[name]
		if err != nil || !known {
			return nil, fmt.Errorf("%s:%d: no series of a known family: %q (%v)", path, number, line, err)
		}
		row.Family = at
		page.Rows = append(page.Rows, row)
	}
	return page, lines.Err()
}

// parse reads `name{a="b",...} number`.
func parse(line string) (row Row, name string, err error) {
	at := strings.IndexAny(line, "{ ")
	if at < 0 {
		return row, "", fmt.Errorf("no number")
	}
	name = line[:at]
	rest := line[at:]
	if rest[0] == '{' {
		rest = rest[1:]
		for rest[0] != '}' {
			var label Label
			label, rest, err = parseLabel(strings.TrimPrefix(rest, ","))
			if err != nil {
				return row, name, err
			}
			row.Labels = append(row.Labels, label)
		}
		rest = rest[1:]
	}
	row.Value, err = strconv.ParseFloat(strings.TrimSpace(rest), 64)
	return row, name, err
}

// parseLabel reads `a="b"` and returns the rest after it, which is never empty.
func parseLabel(text string) (label Label, rest string, err error) {
	name, after, found := strings.Cut(text, `="`)
	if !found {
		return label, "", fmt.Errorf("no label")
	}
	var value strings.Builder
	for i := 0; i+1 < len(after); i++ {
		switch {
		case after[i] == '"':
			return Label{name, value.String()}, after[i+1:], nil
		case after[i] == '\\' && after[i+1] == 'n':
			value.WriteByte('\n')
			i++
		case after[i] == '\\':
			value.WriteByte(after[i+1])
			i++
		default:
			value.WriteByte(after[i])
		}
	}
	return label, "", fmt.Errorf("label %s does not end", name)
}

// Main reads the page that the command line names and serves the result of `handler` on a free port
// of the loopback interface, which it prints.
func Main(handler func(*Page) http.Handler) {
	if len(os.Args) != 2 {
		fmt.Fprintf(os.Stderr, "usage: %s PAGE\n", os.Args[0])
		os.Exit(2)
	}
	page, err := Read(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	http.Handle("/metrics", handler(page))
	fmt.Printf("serving port=%d\n", listener.Addr().(*net.TCPAddr).Port)
	fmt.Fprintln(os.Stderr, http.Serve(listener, nil))
	os.Exit(1)
}
