// SPDX-License-Identifier: MIT

// embed, in Go: publishes one page of metrics, asks for each request id given, and says what the
// gateway would answer. The same as examples/embed/embed.c, with a goroutine for each request.
//
//	embed CONFIG PAGE ID...
package main

/*
#cgo pkg-config: admitperf
#include <admitperf/runtime.h>
#include <stdlib.h>
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"unsafe"
)

// A lane belongs to one thread at a time, and a goroutine may be on any: so lanes lie in a pool,
// and a goroutine has one from take to give.
type admission struct {
	rt    *C.adp_runtime
	lanes chan *C.adp_lane
}

func said(err *C.adp_error) error {
	var text [1024]C.char
	C.adp_error_print(err, &text[0], C.size_t(len(text)))
	return errors.New(C.GoString(&text[0]))
}

func open(config string) (*admission, error) {
	var rt *C.adp_runtime
	var list C.adp_errors
	path := C.CString(config)
	defer C.free(unsafe.Pointer(path))
	code := C.adp_runtime_open(&rt, path, &list)
	defer C.adp_errors_free(&list)
	for i := range unsafe.Slice(list.list, int(list.n)) { // mistakes, or, when it opened, notes
		fmt.Fprintln(os.Stderr, "embed:", said(&unsafe.Slice(list.list, int(list.n))[i]))
	}
	if code < 0 {
		return nil, errors.New("the configuration has mistakes")
	}
	a := &admission{rt: rt, lanes: make(chan *C.adp_lane, 16)}
	var err C.adp_error
	if C.adp_runtime_start(rt, &err) < 0 {
		C.adp_runtime_close(rt, nil)
		return nil, said(&err)
	}
	for i := 0; i < runtime.GOMAXPROCS(0) && i < cap(a.lanes); i++ {
		var lane *C.adp_lane
		if C.adp_lane_open(&lane, rt, &err) < 0 {
			C.adp_runtime_close(rt, nil)
			return nil, said(&err)
		}
		a.lanes <- lane
	}
	return a, nil
}

func (a *admission) publish(page []byte) error {
	var err C.adp_error
	text := C.CBytes(page)
	defer C.free(text)
	if C.adp_runtime_publish_text(a.rt, (*C.char)(text), C.size_t(len(page)), &err) < 0 {
		return said(&err)
	}
	return nil
}

type answer struct {
	admitted bool
	status   int
	reason   string
	id       C.uint64_t
}

func (a *admission) decide(requestID string) answer {
	lane := <-a.lanes
	defer func() { a.lanes <- lane }()
	var d C.adp_decision
	// What C keeps a pointer to must be C's: Go's own may move.
	facts := (*C.adp_facts)(C.calloc(1, C.sizeof_adp_facts))
	defer C.free(unsafe.Pointer(facts))
	facts.size = C.sizeof_adp_facts
	facts.request_id = C.CString(requestID)
	defer C.free(unsafe.Pointer(facts.request_id))
	C.adp_lane_decide(lane, facts, &d)
	return answer{d.admitted != 0, int(d.status), C.GoString(d.reason), d.id}
}

func (a *admission) done(id C.uint64_t, ttftMS float64) {
	lane := <-a.lanes
	defer func() { a.lanes <- lane }()
	result := C.adp_result{size: C.sizeof_adp_result, end: C.ADP_DONE, present: C.ADP_O_TTFT,
		ok: 1, ttft_ms: C.double(ttftMS)}
	C.adp_lane_outcome(lane, id, nil, &result)
}

func (a *admission) close() error {
	for len(a.lanes) > 0 {
		C.adp_lane_close(<-a.lanes)
	}
	var err C.adp_error
	if C.adp_runtime_close(a.rt, &err) < 0 {
		return said(&err)
	}
	return nil
}

func (a *admission) ask(id string) string {
	got := a.decide(id)
	if !got.admitted {
		return fmt.Sprintf("%s: %d %s", id, got.status, got.reason)
	}
	a.done(got.id, 180) // ... forward it, and when its first token has come
	return fmt.Sprintf("%s: %d admitted", id, got.status)
}

func run(config, page string, ids []string) error {
	a, err := open(config)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(page)
	if err == nil {
		err = a.publish(text)
	}
	if err != nil {
		return err
	}
	lines := make([]chan string, len(ids))
	for i, id := range ids {
		lines[i] = make(chan string)
		go func(id string, to chan<- string) { to <- a.ask(id) }(id, lines[i])
	}
	for _, line := range lines {
		fmt.Println(<-line)
	}
	return a.close()
}

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: embed CONFIG PAGE ID...")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3:]); err != nil {
		fmt.Fprintln(os.Stderr, "embed:", err)
		os.Exit(1)
	}
}
