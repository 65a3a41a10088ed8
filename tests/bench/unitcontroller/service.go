package main

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
)

func serviceOf(unit *GPUUnit) *corev1ac.ServiceApplyConfiguration {
	spec := corev1ac.ServiceSpec().
		WithType(corev1.ServiceTypeClusterIP).
		WithSelector(selectorLabels(unit))
	for _, port := range unit.Spec.Template.Ports {
		spec.WithPorts(corev1ac.ServicePort().
			WithName(port.Name).
			WithPort(port.Port).
			WithTargetPort(intstr.FromInt32(port.Port)).
			WithProtocol(port.Protocol))
	}
	return corev1ac.Service(childName(unit), unit.Namespace).
		WithLabels(labels(unit)).
		WithOwnerReferences(owner(unit)).
		WithSpec(spec)
}
