package main

import (
	metav1ac "k8s.io/client-go/applyconfigurations/meta/v1"
)

const (
	prefix         = "runtime.lokiwager.io/"
	unitLabel      = prefix + "unit"
	appliedHash    = prefix + "applied-hash"
	stockPriority  = "gpu-runtime-stock"
	activePriority = "gpu-runtime-active"
)

func childName(unit *GPUUnit) string  { return "unit-" + unit.Name }
func policyName(unit *GPUUnit) string { return "egress-" + unit.Name }

func selectorLabels(unit *GPUUnit) map[string]string {
	return map[string]string{unitLabel: unit.Name}
}

func labels(unit *GPUUnit) map[string]string {
	return map[string]string{
		unitLabel:                      unit.Name,
		"app.kubernetes.io/name":       "gpu-unit",
		"app.kubernetes.io/managed-by": "gpu-runtime",
	}
}

func owner(unit *GPUUnit) *metav1ac.OwnerReferenceApplyConfiguration {
	return metav1ac.OwnerReference().
		WithAPIVersion(groupVersion.String()).
		WithKind("GPUUnit").
		WithName(unit.Name).
		WithUID(unit.UID).
		WithController(true).
		WithBlockOwnerDeletion(true)
}
