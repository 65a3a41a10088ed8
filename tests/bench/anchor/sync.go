package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/tools/cache"
)

// SyncReport is the answer of `anchor sync`; memory is that of the last run.
type SyncReport struct {
	Seconds            []float64 `json:"seconds"`
	Objects            int       `json:"objects"`
	Lists              int64     `json:"lists"`
	Watches            int64     `json:"watches"`
	HeapPerObject      float64   `json:"heap_per_object"`
	RSSPerObject       float64   `json:"rss_per_object"`
	RSSUntidyPerObject float64   `json:"rss_untidy_per_object"`
}

func measureSync(source *Source, runs int) (*SyncReport, error) {
	report := &SyncReport{}
	for range runs {
		if err := report.add(source); err != nil {
			return nil, err
		}
	}
	report.Lists, report.Watches = source.lists.Load(), source.watches.Load()
	return report, nil
}

func (r *SyncReport) add(source *Source) error {
	informer, err := source.informer()
	if err != nil {
		return err
	}
	before := settled()
	ctx, stop := context.WithCancel(context.Background())
	started := time.Now()
	stopped := make(chan struct{})
	go func() {
		informer.RunWithContext(ctx)
		close(stopped)
	}()
	if !cache.WaitFor(ctx, "", informer.HasSyncedChecker()) {
		stop()
		return errors.New("never synced")
	}
	r.Seconds = append(r.Seconds, time.Since(started).Seconds())
	r.Objects = len(informer.GetStore().ListKeys())
	r.remember(before)
	stop()
	<-stopped
	runtime.KeepAlive(informer)
	return nil
}

func (r *SyncReport) remember(before memory) {
	objects := float64(max(r.Objects, 1))
	runtime.GC()
	runtime.GC()
	r.RSSUntidyPerObject = float64(rss()-before.rss) / objects
	after := settled()
	r.HeapPerObject = float64(after.heap-before.heap) / objects
	r.RSSPerObject = float64(after.rss-before.rss) / objects
}

type memory struct{ heap, rss int64 }

// settled collects twice and gives free pages back, so that RSS is what is in use.
func settled() memory {
	runtime.GC()
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return memory{heap: int64(stats.HeapAlloc), rss: rss()}
}

func rss() int64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}
