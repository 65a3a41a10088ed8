// unitcontroller does on controller-runtime what our controller does for GPUUnits, so that the
// bench can tell ratios from one run on one machine.
package main

import (
	"flag"
	"os"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

func main() {
	var settings Settings
	flag.StringVar(&settings.Stock, "stock", "runtime-stock", "where reservations are")
	flag.StringVar(&settings.Instance, "instance", "runtime-instance", "where users' units are")
	flag.StringVar(&settings.Probes, "probes", "127.0.0.1:8081", "where /readyz is served")
	flag.BoolVar(&settings.FIFO, "fifo", false, "a plain queue instead of the release's default")
	flag.Parse() // -kubeconfig is a flag of controller-runtime

	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), settings); err != nil {
		klog.Background().Error(err, "failed")
		os.Exit(1)
	}
}
