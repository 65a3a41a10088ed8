package main

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const podsByUnit = "unit"

func unitOfPod(object client.Object) []string {
	if unit, labelled := object.GetLabels()[unitLabel]; labelled {
		return []string{unit}
	}
	return nil
}

func requestOfPod(_ context.Context, object client.Object) []reconcile.Request {
	requests := []reconcile.Request{}
	for _, unit := range unitOfPod(object) {
		key := types.NamespacedName{Namespace: object.GetNamespace(), Name: unit}
		requests = append(requests, reconcile.Request{NamespacedName: key})
	}
	return requests
}

// readyNode is where a pod of the unit is ready, or nothing.
func readyNode(pods []corev1.Pod) string {
	for i := range pods {
		if pods[i].DeletionTimestamp.IsZero() && isReady(&pods[i]) {
			return pods[i].Spec.NodeName
		}
	}
	return ""
}

func isReady(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue
		}
	}
	return false
}
