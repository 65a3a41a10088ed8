// anchor measures client-go, so that the bench can tell ratios from one run on one machine.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	if len(os.Args) < 2 {
		fail(fmt.Errorf("usage: anchor sync|latency -kubeconfig F -resource group/version/plural"))
	}
	flags := flag.NewFlagSet(os.Args[1], flag.ExitOnError)
	kubeconfig := flags.String("kubeconfig", "", "whom to ask, and as whom")
	resource := flags.String("resource", "", "group/version/plural")
	mode := flags.String("mode", "list", "list or watchlist")
	gzip := flags.Bool("gzip", true, "let the server compress, as client-go does unless told")
	runs := flags.Int("runs", 1, "sync: how many times")
	seconds := flags.Float64("seconds", 10, "latency: how long")
	_ = flags.Parse(os.Args[2:])

	// Read once by client-go, when the first reflector starts.
	os.Setenv("KUBE_FEATURE_WatchListClient", fmt.Sprint(*mode == "watchlist"))
	source, err := newSource(*kubeconfig, *resource, *gzip)
	if err != nil {
		fail(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	report, err := measure(ctx, os.Args[1], source, *runs, *seconds)
	if err != nil {
		fail(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(report); err != nil {
		fail(err)
	}
}

func measure(ctx context.Context, what string, source *Source, runs int, seconds float64) (any, error) {
	switch what {
	case "sync":
		return measureSync(source, runs)
	case "latency":
		return measureLatency(ctx, source, seconds)
	}
	return nil, fmt.Errorf("unknown command %q", what)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "anchor:", err)
	os.Exit(1)
}
