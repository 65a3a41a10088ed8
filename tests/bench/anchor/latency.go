package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
)

// LatencyReport is the answer of `anchor latency`, in seconds from the stamp to the worker.
type LatencyReport struct {
	Count int     `json:"count"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
	Max   float64 `json:"max"`
}

type queue = workqueue.TypedRateLimitingInterface[string]

// measureLatency says "ready" on stderr once it is synced, and counts changes made after that.
func measureLatency(ctx context.Context, source *Source, seconds float64) (*LatencyReport, error) {
	informer, err := source.informer()
	if err != nil {
		return nil, err
	}
	work := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[string]())
	handled, err := informer.AddEventHandler(enqueue(work))
	if err != nil {
		return nil, err
	}
	worker := &worker{store: informer.GetStore()}
	done := make(chan struct{})
	go func() {
		worker.run(work)
		close(done)
	}()
	go informer.RunWithContext(ctx)
	if !cache.WaitFor(ctx, "", handled.HasSyncedChecker()) {
		return nil, fmt.Errorf("stopped before the first sync: %w", ctx.Err())
	}
	for work.Len() > 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Fprintln(os.Stderr, "ready")
	select {
	case <-ctx.Done():
	case <-time.After(time.Duration(seconds * float64(time.Second))):
	}
	work.ShutDownWithDrain()
	<-done
	return summary(worker.latencies), nil
}

func enqueue(work queue) cache.ResourceEventHandlerFuncs {
	add := func(object any) {
		if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(object); err == nil {
			work.Add(key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    add,
		UpdateFunc: func(_, object any) { add(object) },
		DeleteFunc: add,
	}
}

type worker struct {
	store     cache.Store
	seen      map[string]string
	latencies []float64
}

func (w *worker) run(work queue) {
	born := time.Now().UnixNano()
	for {
		key, shutdown := work.Get()
		if shutdown {
			return
		}
		if object, exists, _ := w.store.GetByKey(key); exists {
			w.note(key, object.(*Widget).Spec.Stamp, born)
		}
		work.Forget(key)
		work.Done(key)
	}
}

// note leaves out stamps from before this process, and those already counted.
func (w *worker) note(key, stamp string, born int64) {
	nanoseconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || nanoseconds < born || w.seen[key] == stamp {
		return
	}
	if w.seen == nil {
		w.seen = map[string]string{}
	}
	w.seen[key] = stamp
	w.latencies = append(w.latencies, float64(time.Now().UnixNano()-nanoseconds)/1e9)
}

func summary(values []float64) *LatencyReport {
	if len(values) == 0 {
		return &LatencyReport{}
	}
	slices.Sort(values)
	at := func(part float64) float64 { return values[int(part*float64(len(values)-1))] }
	return &LatencyReport{len(values), at(0.5), at(0.9), at(0.99), at(1)}
}
